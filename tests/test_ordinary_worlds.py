"""What a verdict rests on: ordinary worlds in which OLD works, and what they show."""

import time
from collections.abc import Sequence
from contextlib import nullcontext

import pytest

from compat.migration.check import code_of
from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.judge import MigrationJudge, Terms
from compat.migration.sessions import SAMPLE
from compat.report.conform_text import counted, does
from compat.report.migration import lines
from compat.verdicts.migration import DivergenceGroup, Migration
from refengine import (
    Message,
    with_after_model_rewrite_history,
    with_before_model_rewrite_history,
)
from refengine.testing import Scenario, World, play_alone
from tests.players import Here, PlayedHere, Subject, world

FIRST = world(model_script=["assistant:x"])
LONG = world(model_script=["assistant:x"], runs=[{"input": ["user:a", "user:b"]}])
CALLED = world(
    agent={"tools": [{"name": "t", "result": "r"}]},
    model_script=["assistant:[c1:t({})]", "assistant:done"],
)
ORPHAN = world(model_script=["assistant:x"], runs=[{"input": ["assistant:a"]}])


def keeping(_: World) -> list[object]:
    return [with_before_model_rewrite_history(lambda ctx, messages: (ctx, messages))]


def changing(when, to):
    """Return a subject that changes what the model is shown ``when`` it sees that."""

    def before(ctx, messages):
        return ctx, (to(messages) if when(messages) else messages)

    return lambda _: [with_before_model_rewrite_history(before)]


def judge(
    old: Subject | Here,
    new: Subject | Here,
    worlds: Sequence[tuple[Scenario, str | None]],
    terms: Terms | None = None,
) -> Migration:
    """Judge in these worlds, each with the reason why it is unusual, or None."""
    entries = [MigrationWorld(w, "here", fixed=True, unusual=why) for w, why in worlds]
    corpus = Corpus(tuple(entries), 0)
    sides = [each if isinstance(each, Here) else Here(each) for each in (old, new)]
    judging = MigrationJudge(sides[0], corpus, nullcontext)
    return judging.judge(sides[1], terms or Terms())


class Refusing(Here):
    """Plays a subject, and says that some worlds were refused."""

    def __init__(self, subject: Subject, *refused: Scenario) -> None:
        super().__init__(subject)
        self.refused = refused

    def play(self, world: Scenario) -> PlayedHere:
        played = super().play(world)
        why = "its framework said no" if world in self.refused else None
        return PlayedHere(played.jsonl, why)


def starts_with(role):
    return lambda messages: messages[0].role == role


LOSING = changing(starts_with("assistant"), lambda messages: messages[1:])


def test_what_differs_only_where_no_application_comes_is_a_second_line() -> None:
    verdict = judge(keeping, LOSING, [(FIRST, None), (ORPHAN, "no user")])
    told = [str(each) for each in lines(verdict)]
    second = next(each for each in told if each.startswith("DIVERGES ELSEWHERE"))

    assert code_of(verdict) == 0
    assert told[0].startswith("HOLDS WEAKLY  same-up-to-volatile in ordinary worlds: ")
    assert second.startswith("DIVERGES ELSEWHERE  ")
    assert "1 world that no application meets (no user: 1)" in second


def test_unusual_worlds_count_if_all_are_asked_for() -> None:
    terms = Terms(everywhere=True)

    verdict = judge(keeping, LOSING, [(FIRST, None), (ORPHAN, "no user")], terms)

    assert code_of(verdict) == 1
    assert verdict.divergence is not None
    assert verdict.unusual is None


def test_world_that_old_is_refused_in_is_left_out_and_counted() -> None:
    verdict = judge(Refusing(keeping, ORPHAN), LOSING, [(FIRST, None), (ORPHAN, None)])

    assert verdict.holds == "identical"
    assert verdict.outside == {"its framework said no": 1}
    assert ", where OLD can be run (1 of 2 worlds)" in str(next(lines(verdict)))


def test_world_that_only_new_is_refused_in_is_a_divergence() -> None:
    def failing(_: World) -> list[object]:
        def before(ctx, messages):
            raise ValueError("no")

        return [with_before_model_rewrite_history(before)]

    verdict = judge(keeping, Refusing(failing, FIRST), [(FIRST, None)])

    assert verdict.divergence is not None
    assert verdict.divergence.code in {"ERROR_NEW", "MISSING_CALL"}
    assert ("new", "ValueError: no") in verdict.divergence.causes


def test_nothing_is_compared_where_old_works_nowhere() -> None:
    verdict = judge(Refusing(keeping, FIRST), keeping, [(FIRST, None)])

    assert code_of(verdict) == 4
    assert str(next(lines(verdict))).startswith("NOTHING COMPARED")


def test_divergences_are_grouped_and_the_largest_group_is_shown() -> None:
    def twice(_: World) -> list[object]:
        def before(ctx, messages):
            return ctx, (messages[1:] if len(messages) > 1 else messages)

        def after(ctx, messages):
            last = messages[-1]
            told = Message("assistant", "y") if not last.tool_calls else last
            return ctx, (*messages[:-1], told)

        return [
            with_before_model_rewrite_history(before),
            with_after_model_rewrite_history(after),
        ]

    verdict = judge(keeping, twice, [(LONG, None), *[(FIRST, None)] * 3])

    assert verdict.groups[0].worlds == 3
    assert [each.worlds for each in verdict.groups] == [3, 1]
    assert verdict.divergence is not None
    shown = verdict.groups[0]
    assert verdict.divergence.code == shown.code
    assert "  4 of 4 worlds show a divergence" in "\n".join(map(str, lines(verdict)))


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (0, "0 worlds show, are, were, have and pass"),
        (1, "1 world shows, is, was, has and passes"),
        (1000, "1,000 worlds show, are, were, have and pass"),
    ],
)
def test_a_verb_agrees_with_the_number_before_it(number: int, told: str) -> None:
    verbs = [does(number, each) for each in ("show", "are", "were", "have", "pass")]
    said = f"{', '.join(verbs[:-1])} and {verbs[-1]}"

    assert f"{counted(number, 'world')} {said}" == told
    assert counted(number, "branch") == told.partition(" ")[0] + (
        " branch" if number == 1 else " branches"
    )


def test_smallest_world_shows_what_is_typical_and_not_whatever_else_differs() -> None:
    def worse(_: World) -> list[object]:
        def before(ctx, messages):
            roles = [each.role for each in messages]
            if "tool" in roles:
                return ctx, [each for each in messages if each.role != "tool"]
            return ctx, (messages if len(messages) < 3 else messages[:-1])

        return [with_before_model_rewrite_history(before)]

    verdict = judge(keeping, worse, [(CALLED, None)] * 2)

    assert verdict.world is not None
    assert verdict.world.model_script  # the call, without which no result is lost
    assert verdict.groups == (
        DivergenceGroup(verdict.groups[0].code, verdict.groups[0].channel, 2),
    )


def test_each_world_is_played_once_where_sides_do_the_same() -> None:
    class Counting(Here):
        plays = 0

        def play(self, world: Scenario) -> PlayedHere:
            self.plays += 1
            return super().play(world)

    old, new = Counting(keeping), Counting(keeping)
    many = 10 * SAMPLE

    assert judge(old, new, [(FIRST, None)] * many).holds == "identical"
    assert old.plays == many + 2 * SAMPLE
    assert new.plays == many + SAMPLE


def test_lost_guard_is_told_as_the_error_that_is_no_longer_raised() -> None:
    def guarded(_: World) -> list[object]:
        def before(ctx, messages):
            if len(messages) > 1:
                raise ValueError("too long")
            return ctx, messages

        return [with_before_model_rewrite_history(before)]

    verdict = judge(guarded, keeping, [(LONG, None), (FIRST, None)])

    assert verdict.divergence is not None
    assert verdict.divergence.code == "ERROR_LOST"
    assert ("old", "ValueError: too long") in verdict.divergence.causes
    assert verdict.outside == {}


def test_subject_that_sleeps_costs_no_time() -> None:
    def sleeping(world: World) -> list[object]:
        def before(ctx, messages):
            begun = world.now()
            time.sleep(3600)
            world.effect("slept", world.now() - begun)
            return ctx, messages

        return [with_before_model_rewrite_history(before)]

    played = play_alone(FIRST, sleeping)

    (slept,) = [each for each in played.trace if each.kind == "effect"]
    assert slept.data["data"] == 3600
