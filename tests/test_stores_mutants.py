"""Each clause about stores tells a store that is broken there, and no right one."""

from collections.abc import Iterator

import pytest

from property_tests.stores.clauses import store_contract
from property_tests.stores.explaining import check_of, refuted
from property_tests.stores.mutants import BrokenStore, broken_stores
from property_tests.stores.playing import StorePlayer, store_player
from property_tests.stores.shrinking import smaller, smallest
from property_tests.stores.worlds import checks

BROKEN = broken_stores()
HANGS = "HeldLockStore"


@pytest.fixture(scope="module", params=["stores.folder_store:FolderStore", "sqlite"])
def right(request) -> Iterator[StorePlayer]:
    """Yield what plays worlds on a right store."""
    own = f"property_tests.{request.param}"
    text = "refengine.state:SqliteStore" if request.param == "sqlite" else own
    with store_player(text, 30) as player:
        yield player


def test_each_clause_has_one_check_and_a_broken_store() -> None:
    ids = [each.id for each in store_contract().clauses]

    assert [each.clause for each in checks()] == ids
    assert sorted({each.clause for each in BROKEN}) == ids
    assert all(each.status == "checked" for each in store_contract().clauses)


def test_each_clause_rests_on_thirty_worlds_by_default() -> None:
    """Each has its share of 400 drawn ones beside its fixed ones."""
    counts = {each.clause: len(each.worlds(15, 0)) for each in checks()}

    assert {name: count for name, count in counts.items() if count < 30} == {}


def test_one_seed_always_draws_the_same_worlds_and_another_one_others() -> None:
    for each in checks():
        assert each.worlds(3, 1) == each.worlds(3, 1)
        assert each.worlds(3, 1) != each.worlds(3, 2), each.clause


@pytest.mark.parametrize("broken", BROKEN, ids=lambda each: f"{each.clause}-{each.id}")
def test_a_broken_store_is_told_by_its_clause(broken: BrokenStore) -> None:
    found = refuted(broken, 0.3 if broken.id == HANGS else 5)

    assert found is not None
    _, played = found
    assert played.fault is not None
    assert played.lost is (broken.id == HANGS)


@pytest.mark.parametrize("check", checks(), ids=lambda each: each.clause)
def test_a_right_store_passes(right: StorePlayer, check) -> None:
    """A few worlds of each clause; the command plays all of them."""
    worlds = check.worlds(1, 7)
    for world in [*worlds[2::11], worlds[-1]]:
        played = right.play(world, check.ignored)
        assert played.fault is None, "\n".join(played.lines)


def test_a_failing_world_is_made_smaller_as_long_as_it_fails_alike() -> None:
    check = check_of("STO-008")
    with store_player("property_tests.stores.mutants:GhostStore", 5) as player:
        worlds = check.worlds(9, 3)
        failing = [(w, p) for w in worlds if (p := player.play(w)).fault is not None]
        world, played = max(failing, key=lambda each: len(each[0].steps))
        small, again = smallest(world, played, player.play)

    assert len(small.steps) == 3
    assert again.lines == (
        f"1a: append({small.steps[0].key!r}, 0, b'r') → done",
        f"1a: delete({small.steps[0].key!r}) → done",
        f"1a: keys() → [{small.steps[0].key!r}]",
    )
    assert all(len(each.steps) <= len(small.steps) for each in smaller(small))
