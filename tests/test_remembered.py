"""What came of small changes in an earlier check."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from compat.migration.remembered import MOVED_BY, ChangeMemory, ChangeOutcome
from compat.migration.replies import SideFault, SidePlayed
from compat.migration.reproducer import SideFiles
from compat.migration.sharpness import SharpnessMeter, SharpnessTerms
from compat.verdicts.sharpness import Sharpness
from refengine.testing.scenario import Scenario
from tests.test_sharpness import FakeSide, FakeSides, world

TEXT = """
LIMIT = 3
def f(a):
    return g(1, LIMIT)
def g(a, b):
    return h(a, 2)
def h(a, b):
    return k(a, 5)
"""
NOTICE = {0: 0, 1: 60}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(MOVED_BY, str(tmp_path / "kept"))
    return tmp_path / "kept"


class Hanging(FakeSide):
    """Does not end, as anything may on a machine that has no time for it."""

    def play_all(self, worlds: Sequence[Scenario], first: int = 0):
        self.alive = False
        raise SideFault("timeout", "new", "n.py", "did not end")


class Counted:
    """Another side, which puts down the changes that are loaded in it."""

    def __init__(
        self, kind: type[FakeSide], loading: Mapping[str, Any], opened: set[int]
    ) -> None:
        self._side = kind(loading["change"][1], NOTICE)
        self._opened = opened
        opened.add(loading["change"][1])

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> object:
        return getattr(self._side, name)

    def load_anew(self, loading: Mapping[str, Any]) -> None:
        if loading["change"] is not None:
            self._opened.add(loading["change"][1])
        self._side.load_anew(loading)


class OpenedSides(FakeSides):
    """Reaches all lines, and counts the changes that children are opened for."""

    def __init__(self, text: str, side: type[FakeSide]) -> None:
        super().__init__(NOTICE)
        self.files = SideFiles({"n.py": text.encode()}, "n.py", "f")
        self.opened: set[int] = set()
        self._side = side

    def usual(self, worlds: Sequence[Scenario]) -> list[SidePlayed]:
        lines = frozenset(("n.py", line) for line in range(20))
        return [replace(each, lines=lines) for each in super().usual(worlds)]

    def apart(self, loading: Mapping[str, Any]) -> FakeSide:
        return cast("FakeSide", Counted(self._side, loading, self.opened))


def measured(
    text: str = TEXT,
    about: str = "",
    worlds: int = 70,
    side: type[FakeSide] = FakeSide,
) -> tuple[Sharpness, int]:
    """Return what came of all changes, and how many of them were played."""
    sides = OpenedSides(text, side)
    given = [world(number) for number in range(worlds)]
    terms = SharpnessTerms(("answer",))
    memory = ChangeMemory.of("old.py new.py", about)
    found = SharpnessMeter(sides, given, terms, memory=memory).measure([], 5_000)
    return found, len(sides.opened)


def test_a_second_check_plays_nothing_and_says_the_same(kept: Path) -> None:
    first, played = measured()
    second, again = measured()

    assert (played, again) == (first.tried, 0)
    assert second == replace(first, remembered=first.tried)
    assert (first.noticed, first.remembered) == (2, 0)


def test_only_what_leads_to_changed_code_is_played_again(kept: Path) -> None:
    """A function's own changes, and those of functions that call it."""
    _, all_of_them = measured()
    _, same = measured("\n# a comment\n" + TEXT)
    _, called = measured(TEXT.replace("k(a, 5)", "k(a, 6)"))
    _, calling = measured(TEXT.replace("k(a, 5)", "k(a, 6)").replace("g(1,", "g(4,"))

    assert (same, called) == (0, all_of_them)
    assert 0 < calling < all_of_them


@pytest.mark.parametrize("other", [{"about": "langgraph 2"}, {"worlds": 69}])
def test_other_worlds_and_tools_have_all_played_again(
    kept: Path, other: dict[str, object]
) -> None:
    _, played = measured()
    found, again = measured(**other)

    assert (again, found.remembered) == (played, 0)


def test_what_a_busy_machine_may_have_done_is_not_remembered(kept: Path) -> None:
    found, played = measured(side=Hanging)
    again, anew = measured(side=Hanging)

    assert found.noticed == played == anew
    assert again == found


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 9, "outcomes": {}}'])
def test_a_file_that_is_none_of_ours_says_nothing(kept: Path, text: str) -> None:
    first, _ = measured()
    (file,) = kept.iterdir()
    file.write_text(text, "utf-8")

    assert measured()[0] == first


def test_off_keeps_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MOVED_BY, "off")
    first, _ = measured()

    assert measured()[0] == first
    assert not kept.exists()


def test_a_file_has_hashes_and_counts_alone(kept: Path) -> None:
    measured()
    (file,) = kept.iterdir()

    data = json.loads(file.read_text("utf-8"))
    assert all(len(key) == 64 and int(key, 16) for key in data["outcomes"])
    assert {type(n) for each in data["outcomes"].values() for n in each} <= {bool, int}
    assert (file.stem, data["format"]) == (file.stem[:16], 1)


def test_an_outcome_is_known_as_far_as_it_was_played() -> None:
    noticed, not_noticed = (
        ChangeOutcome(noticed=True, played=9),
        ChangeOutcome(noticed=False, played=8),
    )

    assert noticed.within(8) == ChangeOutcome(noticed=False, played=8)
    assert noticed.within(9) == noticed.within(64) == noticed
    assert not_noticed.within(8) == not_noticed
    assert not_noticed.within(9) is None
