"""Known failures: read, decided by their pinned world, written and kept fresh."""

import json
import re
from pathlib import Path

import pytest

from compat.models.errors import MissingSessionsError
from compat.verdicts.conformance import ClauseFailure, ClauseResult
from property_tests.check import Check, Decision
from property_tests.checks import CHECKS
from property_tests.failures import ReplayedWorld, here
from property_tests.known.baseline import (
    EditError,
    JudgedOnce,
    edited,
    fresh_baseline,
    new_baseline,
)
from property_tests.known.entries import (
    KnownFailures,
    KnownFailuresError,
    parse_known,
    read_known,
)
from property_tests.known.states import (
    KnownState,
    PinnedWorldError,
    applied,
    decide_known,
    known_of,
    state_of,
    unmatched,
)
from property_tests.playing import VariantPlayer
from property_tests.recorded import worlds
from property_tests.registry import Clause, Contract, OwnSource, Retired
from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine
from refengine.testing.scenario import Scenario
from tests.backwards import Backwards, placed
from tests.commands import refengine
from tests.few_worlds import judging_in

PATH = Path("known.toml")
TOML = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
TWO_HOOKS = {
    "agent": {"handlers": [{"before_model": []}, {"before_model": []}]},
    "runs": [{"input": ["user:a"]}],
}
NO_HOOKS = {"agent": {}, "runs": [{"input": ["user:a"]}]}
ORD = [each for each in CHECKS if each.clause == "ORD-001"]


REVERSED = Backwards(SEED_001)


def clause(id_, status="checked"):
    return Clause(
        id=id_,
        level="MUST",
        sentence="It is so.",
        intent="So it is.",
        source=OwnSource(decision="Here."),
        status=status,
        why="" if status == "checked" else "later",
    )


CONTRACT = Contract(
    version="0.1",
    clauses=(clause("ORD-001"), clause("ORD-002"), clause("INT-001", "planned")),
    retired=(Retired(id="ORD-003", why="said twice"),),
)


def entry(world=TWO_HOOKS, **changed):
    fields = {
        "clause": "ORD-001",
        "engine": "mine",
        "versions": ">=1,<2",
        "kind": "bug",
        "reason": "The list is read backwards.",
        "issue": "https://example.org/issues/1",
        **changed,
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
    return "\n".join(["[[failure]]", *lines, f"world = '''{json.dumps(world)}'''\n"])


def known(*entries, drafts=False):
    return parse_known("\n".join(entries).encode(), PATH, drafts=drafts)


def refused(text):
    with pytest.raises(KnownFailuresError) as caught:
        parse_known(text.encode(), PATH)
    return str(caught.value)


def result(verdict="fail", id_="ORD-001", **more):
    return ClauseResult(
        engine="mine", clause=id_, level="MUST", verdict=verdict, **more
    )


def failing(id_="ORD-001", world=TWO_HOOKS, variant="played"):
    failure = ClauseFailure(
        variant=variant, asked="", expected=1, got=2, scenario=world
    )
    return result(id_=id_, worlds=3, failing=2, failure=failure)


def player(engine=REVERSED):
    return VariantPlayer(engine, SEED_001)


# --- the file


def test_an_entry_says_all_that_a_reader_asks(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(entry(), "utf-8")

    [found] = read_known(path).entries

    assert found.reason == "The list is read backwards."
    assert found.where == f"{path}: entry 1 (ORD-001, mine)"
    assert isinstance(found.world, Scenario)
    assert found.world.runs[0].input == ("user:a",)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"reason": " "}, "reason: say something here: it is empty"),
        ({"reason": "TODO: say why it fails"}, "reason: 'TODO: say why it fails' is"),
        ({"issue": "#12"}, "issue: '#12' is not a link: give the issue's, as 'https://…'"),
        ({"issue": "TODO: a link"}, "issue: 'TODO: a link' is not a link"),
        ({"versions": "1.4"}, "versions: '1.4' is not a range of versions: write"),
        ({"versions": ""}, "versions: say something here"),
        ({"kind": "flaky"}, "kind: Input should be 'bug', 'unsupported' or"),
        ({"variant": "twice"}, "variant: 'twice' is not a variant; there are played"),
        ({"until": "1.5"}, "until: there is no such key; there are clause, engine"),
        ({"number": 7}, "number: there is no such key"),
        ({"world": []}, "world: it is not a scenario: agent = []"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_file_entry_and_what_is_right(changed, said) -> None:
    world = {"agent": changed.pop("world")} if "world" in changed else TWO_HOOKS

    text = refused(entry() + entry(world, clause="ORD-002", **changed))

    assert text.startswith("known.toml:\n  entry 2 (ORD-002, mine): ")
    assert said in text


def test_a_missing_key_is_told() -> None:
    text = refused(entry().replace('reason = "The list is read backwards."\n', ""))

    assert "entry 1 (ORD-001, mine): reason: is missing" in text


def test_what_is_no_toml_or_has_other_tables_is_told() -> None:
    assert "is not TOML" in refused("[[failure]\n")
    assert "failures: there is no such key; write [[failure]]" in refused("failures=1")
    assert "write [[failure]], in two brackets" in refused("[failure]")


@pytest.mark.parametrize(
    ("versions", "other"),
    [
        (">=1,<2", ">=1,<2"),
        (">=1,<2", "<1.5"),
        (">=1,<2", "*"),
        (">1,<2", ">1,<3"),
        ("==1.*", ">=1.9"),
        ("<1", "<0.5"),
        ("~=1.4", "==1.4.7"),
        ("!=1", "!=2"),
    ],
)
def test_two_entries_for_one_version_are_refused(versions, other) -> None:
    both = entry(versions=versions) + entry(versions=other, kind="disagrees")

    text = refused(both)

    assert "entry 2 (ORD-001, mine): entry 1 is about it" in text
    assert "contradicts it" in text


def test_an_entry_that_is_there_twice_is_refused() -> None:
    assert "this is there twice" in refused(entry() + entry())


@pytest.mark.parametrize("other", ["<1", ">=2", "==2.*", "==0.9.1", ">2", "~=2.1"])
def test_two_entries_for_different_versions_stand_side_by_side(other) -> None:
    assert len(known(entry(), entry(versions=other, kind="disagrees")).entries) == 2


@pytest.mark.parametrize(
    ("versions", "version", "covered"),
    [
        (">=1.4,<2", "1.4", True),
        (">=1.4,<2", "2.0", False),
        (">=1.4,<2", "1.5rc1", True),
        ("*", "", True),
        ("*", "HEAD", True),
        (">=1", "", False),
        (">=1", "HEAD", False),
    ],
)
def test_an_entry_is_about_the_versions_of_its_range(versions, version, covered):
    found = known(entry(versions=versions)).for_engine("mine", version)

    assert bool(found) is covered


def test_an_entry_is_about_its_engine_only() -> None:
    assert known(entry()).for_engine("other", "1.0") == ()


def test_a_file_of_ours_is_read_if_none_is_given(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("property_tests.known.states.FOLDER", tmp_path)
    (tmp_path / "mine.toml").write_text(entry(), "utf-8")
    other = tmp_path / "other.toml"
    other.write_text("", "utf-8")

    (tmp_path / "mine@1.2.toml").write_text(entry(engine="mine@1.2"), "utf-8")

    assert len(known_of("mine").entries) == 1
    assert len(known_of("mine@1.2").entries) == 1
    assert known_of("mine", other) == KnownFailures()
    assert known_of("yours") == KnownFailures()
    assert known_of("../mine") == KnownFailures()


def test_the_page_about_it_shows_a_sound_entry() -> None:
    page = Path(__file__).parent.parent / "docs" / "known-failures.md"
    [shown] = TOML.findall(page.read_text("utf-8"))

    [found] = parse_known(shown.encode(), page).entries
    assert decide_known(found, player(), ORD) == "known"


def test_the_files_of_our_own_doors_are_sound() -> None:
    from property_tests.known.states import FOLDER

    for path in FOLDER.glob("*.toml"):
        assert {each.engine for each in read_known(path).entries} <= {path.stem}


def test_a_pinned_world_may_say_how_often_a_handler_stands_there() -> None:
    text = entry(NO_HOOKS | {"agent": {"handlers": [{"before_model": []}]}})

    [found] = known(
        text.replace("world =", "repeat = { handlers = 3 }\nworld =")
    ).entries

    assert isinstance(found.world, Scenario)
    assert found.world.agent is not None
    assert len(found.world.agent.handlers) == 3


def test_what_cannot_be_repeated_is_told() -> None:
    text = entry().replace("world =", "repeat = { handlers = 0 }\nworld =")

    assert "repeat.handlers=0: give a whole number of at least 1" in refused(text)


# --- the pinned world decides


def test_what_still_fails_in_its_world_is_known() -> None:
    [found] = known(entry()).entries

    assert decide_known(found, player(), ORD) == "known"


def test_what_no_longer_fails_in_its_world_is_stale() -> None:
    [found] = known(entry()).entries

    assert decide_known(found, player(ReferenceEngine(SEED_001)), ORD) == "stale"


def test_a_world_in_which_nothing_is_decided_makes_the_entry_stale_and_says_so() -> (
    None
):
    [found] = known(entry(NO_HOOKS)).entries

    state = state_of(found, here(player(), ORD))

    assert (state.state, state.why) == (
        "stale",
        "this world no longer lets the check of ORD-001 decide",
    )


def test_trap_3_an_engine_that_breaks_down_makes_no_failure_known_or_stale() -> None:
    [found] = known(entry()).entries

    with pytest.raises(PinnedWorldError, match=r"entry 1 .* cannot be judged: boom"):
        state_of(found, lambda *_: ReplayedWorld(broken="boom"))


def test_trap_10_a_generated_world_that_fails_or_passes_changes_nothing() -> None:
    [found] = known(entry()).entries
    state = state_of(found, here(player(), ORD))

    corpora = (result("fail", worlds=9, failing=4), result("pass", worlds=9))
    marked = [applied([each], [state])[0] for each in corpora]

    assert [(each.verdict, each.known) for each in marked] == [("fail", "known")] * 2


def test_another_clause_that_fails_stays_red() -> None:
    state = KnownState(known(entry()).entries[0], "known")

    mine, other = applied([result(), result(id_="ORD-002")], [state])

    assert (mine.known, other.known) == ("known", "")
    assert mine.known_issue == "https://example.org/issues/1"
    assert mine.known_reason == "The list is read backwards."


def test_another_engine_that_fails_stays_red() -> None:
    state = KnownState(known(entry()).entries[0], "known")
    other = result().model_copy(update={"engine": "other"})

    assert applied([other], [state]) == (other,)


def test_a_stale_entry_marks_the_result_and_says_why() -> None:
    state = KnownState(known(entry()).entries[0], "stale", "its world passes")

    [marked] = applied([result("pass", worlds=3)], [state])

    assert (marked.verdict, marked.known, marked.known_reason) == (
        "pass",
        "stale",
        "its world passes",
    )


def test_a_fault_of_the_harness_is_never_a_known_failure() -> None:
    state = KnownState(known(entry()).entries[0], "known")

    assert applied([result("error")], [state]) == (result("error"),)


def test_trap_5_an_entry_that_matches_nothing_is_told_and_never_ignored() -> None:
    found = known(
        entry(),
        entry(clause="ORD-009"),
        entry(clause="ORD-003"),
        entry(clause="INT-001"),
        entry(engine="yours"),
        entry(clause="ORD-002", versions=">=2"),
    )

    told = unmatched(found, {"mine": "1.4"}, CONTRACT)

    where = "known.toml: entry {} ({}, {}) matches nothing: "
    assert [each.partition("nothing: ")[0] + "nothing: " for each in told] == [
        where.format(2, "ORD-009", "mine"),
        where.format(3, "ORD-003", "mine"),
        where.format(4, "INT-001", "mine"),
        where.format(5, "ORD-001", "yours"),
        where.format(6, "ORD-002", "mine"),
    ]
    for text, part in zip(
        told,
        (
            "no clause matches 'ORD-009'; did you mean",
            "ORD-003 is retired: said twice",
            "INT-001 is planned, so no check decides it",
            "engines judged are mine; judge it, or take it out",
            "'>=2' does not cover version '1.4' that was judged",
        ),
        strict=True,
    ):
        assert part in text


def test_trap_6_an_entry_holds_whatever_the_check_calls_what_it_asks_for() -> None:
    [found] = known(entry()).entries

    def decide(_):
        yield Decision("asked for in quite other words", 1, 2)

    assert decide_known(found, player(), [Check(clause="ORD-001", decide=decide)]) == (
        "known"
    )
    assert "asked" not in type(found).model_fields


# --- the text of the file

WRITTEN = f"""\
# Failures of mine, and why.

# told upstream
{entry()}
# this one we cannot change
{entry(clause="ORD-002", reason="It has no place for it. [[failure]]")}
# --- others ---

{entry(engine="yours")}
# the end
"""


def judged(*results, version="1.4"):
    return JudgedOnce("mine", version, results)


def fresh(text, found, engine=REVERSED):
    replay = here(player(engine), [*ORD, Check(clause="ORD-002", decide=lambda _: ())])
    return fresh_baseline(text.encode(), PATH, found, CONTRACT, replay)


def test_a_new_baseline_has_an_entry_for_each_failing_clause() -> None:
    made = new_baseline(judged(failing(), result("pass", "ORD-002", worlds=2)))

    [found] = known(made.text, drafts=True).entries
    assert (made.added, made.unpinned) == (("ORD-001",), ())
    assert (found.engine, found.versions) == ("mine", ">=1.4")
    assert decide_known(found, player(), ORD) == "known"


def test_a_new_baseline_is_refused_until_a_person_says_why() -> None:
    text = refused(new_baseline(judged(failing())).text)

    assert "reason: 'TODO: say why it fails' is still to be written" in text
    assert "issue: 'TODO: a link to the issue' is not a link" in text


def test_a_filled_in_baseline_is_read() -> None:
    text = new_baseline(judged(failing(variant="streamed"))).text
    text = text.replace("TODO: say why it fails", "It is so.")
    text = text.replace("TODO: a link to the issue", "https://example.org/1")

    [found] = known(text).entries
    assert found.variant == "streamed"


def test_a_failing_clause_without_a_world_is_told_and_not_written() -> None:
    made = new_baseline(judged(result("blocked"), result("error", "ORD-002")))

    assert (made.text, made.added, made.unpinned) == ("", (), ("ORD-001",))


@pytest.mark.parametrize("version", ["", "HEAD"])
def test_an_engine_without_a_version_is_listed_for_every_one(version) -> None:
    made = new_baseline(judged(failing(), version=version))

    assert 'versions = "*"' in made.text


@pytest.mark.parametrize(
    "text", ["it'''s", "a\x7f\x00b", 'q"\\', "é\u2028\n[[failure]]"]
)
def test_any_world_can_be_pinned(text) -> None:
    world = {**TWO_HOOKS, "agent": {"instruction": text}}

    made = new_baseline(judged(failing(world=world)))

    [found] = known(made.text, drafts=True).entries
    assert isinstance(found.world, Scenario)
    assert found.world.all_agents[0].instruction == text


def test_update_of_a_fresh_file_changes_no_letter() -> None:
    text = WRITTEN.replace("ORD-002", "INT-001")

    made = fresh(text, judged(failing()))

    assert made.text == text
    assert (made.added, made.dropped) == ((), ())


def test_update_drops_what_is_stale_with_its_comment_and_keeps_all_else() -> None:
    made = fresh(WRITTEN, judged(failing(), result("pass", "ORD-002")))

    assert made.dropped == ("ORD-002",)
    assert made.text == (
        f"# Failures of mine, and why.\n\n# told upstream\n{entry()}\n"
        f"# --- others ---\n\n{entry(engine='yours')}\n# the end\n"
    )


def test_update_adds_what_is_new_at_the_end() -> None:
    made = fresh(entry(engine="yours"), judged(failing()))

    assert made.added == ("ORD-001",)
    assert made.text.startswith(f"{entry(engine='yours')}\n[[failure]]\n")
    assert [e.engine for e in known(made.text, drafts=True).entries] == [
        "yours",
        "mine",
    ]


def test_update_leaves_alone_what_was_not_judged() -> None:
    text = entry(clause="ORD-002") + entry(versions="<1")

    assert fresh(text, judged(result("pass"))).text == text


def test_update_beside_an_entry_for_other_versions_names_its_own_version() -> None:
    made = fresh(entry(versions=">=1.5"), judged(failing()))

    assert 'versions = "==1.4"' in made.text
    assert len(known(made.text, drafts=True).entries) == 2


def test_update_keeps_entries_that_are_still_to_be_filled_in() -> None:
    text = new_baseline(judged(failing())).text

    assert fresh(text, judged(failing())).text == text


def test_update_tells_entries_of_the_engine_that_match_nothing() -> None:
    made = fresh(entry(clause="ORD-009"), judged(result("pass")))

    assert len(made.lost) == 1
    assert "entry 1 (ORD-009, mine) matches nothing" in made.lost[0]


def test_update_keeps_line_ends() -> None:
    text = entry(engine="yours").replace("\n", "\r\n")

    made = fresh(text, judged(failing()))

    assert made.text.startswith(text)
    assert "\n" not in made.text.replace("\r\n", "")


def test_a_line_of_a_longer_text_is_no_entry() -> None:
    reason = "reason = '''\n[[failure]]\n'''"
    text = entry().replace('reason = "The list is read backwards."', reason)

    assert edited(text + entry(clause="ORD-002"), {2}, ()) == text


def test_a_text_whose_entries_cannot_be_told_apart_is_left_alone() -> None:
    with pytest.raises(EditError, match=r"write each under a line \[\[failure\]\]"):
        edited("failure = [{a = 1}]", {1}, ())
    with pytest.raises(EditError):
        edited("[[failure]]\na = '''\n# x'''\n[[failure]]\nb = 1\n", {2}, ())


# --- the command


def baseline(folder: Path, *arguments: str):
    placed(folder)
    options = ["--known", "known.toml", "--examples", "0", "-k", "ORD-001"]
    with judging_in("ORD"):
        return refengine("baseline", *arguments, *options, at=folder)


def test_baseline_is_written_once_and_then_updated(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"

    first = baseline(tmp_path, "write", "engines.py:broken")
    again = baseline(tmp_path, "write", "engines.py:broken")
    same = baseline(tmp_path, "update", "engines.py:broken")
    text = path.read_text("utf-8")
    gone = baseline(tmp_path, "update", "engines.py:mended")

    assert first.returncode == 0, first.stderr
    assert "known.toml: added: ORD-001\n" in first.stdout
    assert "now put reason and issue where each new entry says 'TODO'" in first.stdout
    assert again.returncode == 2
    assert "known.toml is there already" in again.stderr
    assert same.returncode == 0, same.stderr
    assert "nothing to write: mine fails nothing that is not listed" in same.stdout
    assert "[[failure]]" in text
    assert gone.returncode == 0, gone.stderr
    assert "dropped as stale: ORD-001" in gone.stdout
    assert path.read_text("utf-8").strip() == ""


def test_baseline_of_an_engine_that_keeps_all_is_not_written(tmp_path: Path) -> None:
    done = baseline(tmp_path, "write", "engines.py:mended")

    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "known.toml").exists()


def test_baseline_of_no_engine_is_told(tmp_path: Path) -> None:
    done = baseline(tmp_path, "write", "engines.py:absent")

    assert done.returncode == 2
    assert done.stderr.startswith("refengine baseline write: 'engines.py:absent'")


@pytest.mark.parametrize(
    "words", [("baseline", "write"), ("baseline", "update"), ("conform",)]
)
def test_an_installation_without_its_sessions_is_at_fault(
    words, tmp_path: Path, monkeypatch
) -> None:
    def none_ship() -> None:
        raise MissingSessionsError("index.json")

    monkeypatch.setattr(worlds, "shipped_files", none_ship)
    (tmp_path / "known.toml").write_text("", "utf-8")
    known = () if words[-1] == "write" else ("--known", "known.toml")

    done = refengine(*words, "reference", "--examples", "1", *known, at=tmp_path)

    assert done.returncode == 3
    assert done.stderr.startswith(f"refengine {' '.join(words)}: ")
    assert "index.json" in done.stderr
