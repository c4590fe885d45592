"""What many failures likely come from, and what stops an engine before a check."""

from dataclasses import replace

from compat.verdicts.conformance import FirstDivergence
from property_tests.blocking import blocker, divergence, right_player, stopped
from property_tests.checks import CHECKS
from property_tests.failures import here
from property_tests.judging.causes import likely_causes, with_blockers
from property_tests.known.states import KnownState, applied, state_of
from property_tests.playing import VariantPlayer
from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine
from refengine.testing.scenario_files import read_scenario
from tests.backwards import Backwards
from tests.conform_sample import failure, result

TWO_HOOKS = read_scenario(
    {
        "agent": {"handlers": [{"before_model": []}, {"before_model": []}]},
        "runs": [{"input": ["user:a"]}],
    }
)
FAILING_TOOL = read_scenario(
    {
        "agent": {"tools": [{"name": "t", "error": "no"}]},
        "model_script": ["assistant:[c1:t({})]"],
        "runs": [{"input": ["user:a"]}],
    }
)


class Deaf(ReferenceEngine):
    """Has no tools, whatever it is given."""

    async def build(self, config, on_notice):
        config = replace(config, tools_config=type(config.tools_config)())
        return await super().build(config, on_notice)


def player(engine):
    return VariantPlayer(engine, SEED_001)


def check(id_):
    return next(each for each in CHECKS if each.clause == id_)


def with_sign(id_, sign, verdict="fail", **given):
    found = FirstDivergence(sign=sign, expected=1, got=2)
    told = failure(divergence=found)
    return result(id_, verdict, failure=told, **given)


def test_failure_tells_where_its_world_first_differs() -> None:
    mine = player(Backwards(SEED_001))

    found = divergence(right_player(mine), mine.case(TWO_HOOKS), "played")

    assert found is not None
    assert found.sign == "extension of hook_enter before_model"
    assert found.expected == {
        "in": "hook_enter before_model",
        "extension": "handler-0",
    }


def test_engine_that_does_the_same_differs_nowhere() -> None:
    mine = player(ReferenceEngine(SEED_001))

    assert divergence(right_player(mine), mine.case(TWO_HOOKS), "played") is None


def test_missing_part_is_named_by_what_came_in_its_place() -> None:
    mine = player(Deaf(SEED_001))

    found = divergence(right_player(mine), mine.case(FAILING_TOOL), "played")

    assert found is not None
    assert found.sign == "tools of model_request"


def test_engine_that_stops_before_a_check_can_decide_is_told_where() -> None:
    mine, of = player(Deaf(SEED_001)), check("ERR-007")

    found = stopped(of, mine.case(FAILING_TOOL), right_player(mine))

    assert found is not None
    assert found.divergence is not None
    assert found.divergence.sign == "tools of model_request"
    assert found.asked == "to come so far that its check has something to decide"
    assert read_scenario(found.scenario) == FAILING_TOOL


def test_engine_is_not_stopped_where_the_reference_engine_has_nothing_either() -> None:
    mine, of = player(Deaf(SEED_001)), check("ERR-007")

    assert stopped(of, mine.case(TWO_HOOKS), right_player(mine)) is None


def test_blocked_clause_is_known_by_its_pinned_world_and_stale_once_it_decides() -> (
    None
):
    from property_tests.known.entries import Known

    entry = Known(
        file="known.toml",
        number=1,
        clause="ERR-007",
        engine="swift",
        versions="*",
        kind="bug",
        reason="It has no tools.",
        issue="https://example.org/1",
        world=FAILING_TOOL.model_dump_json(exclude_defaults=True),
    )
    blocked = state_of(entry, here(player(Deaf(SEED_001)), CHECKS))
    mended = state_of(entry, here(player(ReferenceEngine(SEED_001)), CHECKS))
    [marked] = applied([result("ERR-007", "blocked")], [blocked])
    [elsewhere] = applied([result("ERR-007", worlds=3)], [blocked])

    assert blocked == KnownState(entry, "known", blocked=True)
    assert (mended.state, mended.why) == ("stale", "its world no longer fails")
    assert (marked.verdict, marked.known) == ("blocked", "known")
    assert (elsewhere.verdict, elsewhere.known, elsewhere.worlds) == (
        "blocked",
        "known",
        3,
    )


def test_failures_that_begin_alike_are_put_under_the_one_of_most_worlds() -> None:
    [cause] = likely_causes(
        [
            with_sign("ERR-001", "a", failing=3),
            with_sign("ERR-002", "a", failing=9),
            with_sign("ERR-003", "a", "blocked"),
            with_sign("ERR-004", "a", failing=20, level="SHOULD"),
            with_sign("ERR-005", "b", failing=30),
            with_sign("ERR-006", "a", failing=40, known="known"),
            result("ERR-007"),
        ]
    )

    assert (cause.clause, cause.sign) == ("ERR-002", "a")
    assert cause.behind == ("ERR-001", "ERR-003", "ERR-004")


def test_largest_cause_comes_first() -> None:
    found = likely_causes(
        [with_sign(f"ERR-{at:03}", "b" if at < 3 else "a") for at in range(1, 6)]
    )

    assert [(each.sign, len(each.behind)) for each in found] == [("a", 2), ("b", 1)]


def test_blocked_clause_names_the_failure_that_it_is_behind() -> None:
    results = [
        with_sign("ERR-001", "a"),
        with_sign("ERR-002", "a", "blocked", blocked_by="RUN-001"),
        with_sign("ERR-003", "b", "blocked", blocked_by="RUN-001"),
    ]

    found = list(with_blockers(results, likely_causes(results)))

    assert [each.blocked_by for each in found] == ["", "ERR-001", "RUN-001"]


def test_blocker_fails_in_most_of_the_worlds_and_in_few_others() -> None:
    failing = {"A": [1, 2, 3, 4, 9, 10], "B": [1, 2, 3, 4], "C": [1]}

    assert blocker([1, 2, 3, 4, 5], failing) == "B"
    assert blocker([1, 7, 8], failing) == ""
    assert blocker([1], {}) == ""
