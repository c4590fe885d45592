"""The judge: the strongest relation, noise, allowances, what was exercised."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.migration.check import code_of
from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.differences import GRAPHS, Mask, TraceChannels, differences
from compat.migration.judge import Allow, MigrationJudge, Terms
from compat.verdicts.migration import (
    Allowed,
    Broken,
    Exercise,
    FailedSide,
    Migration,
    Noise,
)
from compat.verdicts.relations import RELATIONS, channels_of, strongest
from refengine import (
    Message,
    with_after_model_rewrite_history,
    with_before_agent,
    with_before_model_rewrite_history,
    with_invokable_tool_wrapper,
    with_streamable_tool_wrapper,
)
from refengine.testing import Scenario
from refengine.testing.channels import CHANNELS
from refengine.testing.recorder import Recorder
from tests.players import CALLS, STREAMS, TURNS, Here, Subject, world

WORLDS = (CALLS, TURNS, STREAMS)
PLAIN = Terms()
QUICK = settings(deadline=None, derandomize=True, database=None)


def judge(
    old: Subject,
    new: Subject,
    terms: Terms = PLAIN,
    worlds: Sequence[Scenario] = WORLDS,
) -> Migration:
    corpus = Corpus(tuple(MigrationWorld(w, "here", fixed=True) for w in worlds), 0)
    here = Here(old)
    return MigrationJudge(here, corpus, nullcontext).judge(Here(new), terms)


def rewriting(edit):
    return lambda _: [with_before_model_rewrite_history(lambda c, m: (c, edit(m)))]


def same(_):
    return [with_before_model_rewrite_history(lambda ctx, messages: (ctx, messages))]


def telling(data):
    def subject(world):
        def before(ctx, messages):
            world.effect("told", data(world))
            return ctx, messages

        return [with_before_model_rewrite_history(before)]

    return subject


class Counted(Here):
    """Counts how often it is played, by itself and where it is opened once more."""

    def __init__(self, subject: Subject, played: list[str]) -> None:
        super().__init__(subject)
        self.seen = played

    def play_all(self, worlds):
        for each in super().play_all(worlds):
            self.seen.append("play")
            yield each


def test_worlds_that_join_are_played_again_and_no_others() -> None:
    """A corpus that grew by a search is not repeated from its beginning."""
    seen: list[str] = []
    opened: list[Counted] = []

    def anew(side):
        opened.append(Counted(same, seen))
        return nullcontext(opened[-1])

    worlds = [MigrationWorld(each, "here", fixed=True) for each in WORLDS]
    judging = MigrationJudge(Here(same), Corpus(tuple(worlds[:2]), 0), anew)
    new = Here(same)
    judging.judge(new, PLAIN)
    first = len(seen)
    judging.corpus = replace(judging.corpus, worlds=tuple(worlds))

    verdict = judging.judge(new, PLAIN)

    assert (first, len(seen) - first) == (4, 2)
    assert len(opened) == 2
    assert (verdict.holds, verdict.worlds) == ("identical", 3)


def test_same_subject_is_identical() -> None:
    verdict = judge(same, same)

    assert (verdict.holds, verdict.divergence) == ("identical", None)
    assert code_of(verdict) == 0


def test_neighbour_that_sees_something_else_breaks_only_what_masks_volatile() -> None:
    neighbour = {"id": "n", "before_model": [{"op": "ctx_get", "key": "k"}]}
    watched = world(agent={"handlers": [neighbour]})

    def setting(value):
        def before(ctx, messages):
            return ctx.with_value("k", value), messages

        return lambda _: [with_before_model_rewrite_history(before)]

    verdict = judge(setting(1), setting(2), worlds=[watched])

    assert verdict.holds == "same-effects"
    assert verdict.divergence is not None
    assert verdict.divergence.code == "OBSERVED"
    assert code_of(verdict) == 0


def test_request_that_differs_leaves_the_same_answer_and_state() -> None:
    def hiding(_):
        class Hides:
            name = "hides"

            async def wrap_model_call(self, ctx, request, next):
                return await next(ctx, replace(request, messages=request.messages[1:]))

        return [Hides()]

    verdict = judge(same, hiding)

    assert verdict.holds == "same-state"
    assert code_of(verdict) == 1


def test_state_that_differs_leaves_the_same_answer() -> None:
    kept = with_after_model_rewrite_history(lambda c, m: (c, m[1:]))

    verdict = judge(same, lambda _: [kept])

    assert verdict.holds == "same-answer"


def test_another_answer_leaves_nothing() -> None:
    def other(ctx, messages):
        return ctx, (*messages[:-1], Message("assistant", "no"))

    verdict = judge(same, lambda _: [with_after_model_rewrite_history(other)])

    assert verdict.holds is None
    assert not verdict.sufficient


def test_difference_of_a_later_turn_is_found_in_a_world_with_two() -> None:
    def forgetting(ctx, messages):
        return ctx, (messages[-2:] if len(messages) > 3 else messages)

    short = world(model_script=["assistant:x"])
    new = with_after_model_rewrite_history(forgetting)

    verdict = judge(same, lambda _: [new], worlds=[short, TURNS])

    assert verdict.world is not None
    assert len(verdict.world.runs) == 2
    assert verdict.diverging == 1


def test_less_is_required_where_less_is_asked_for() -> None:
    kept = with_after_model_rewrite_history(lambda c, m: (c, m[1:]))

    verdict = judge(same, lambda _: [kept], Terms("same-answer"))

    assert verdict.sufficient
    assert code_of(verdict) == 0


def test_subject_that_differs_from_itself_is_not_comparable() -> None:
    numbers = iter(range(1000))

    verdict = judge(telling(lambda _: {"n": next(numbers)}), same)

    assert [(n.side, n.channel, n.path) for n in verdict.noise][:1] == [
        ("old", "effects", "[*].data.n")
    ]
    assert code_of(verdict) == 6


def test_new_side_that_differs_from_itself_is_not_comparable_either() -> None:
    numbers = iter(range(10_000))

    verdict = judge(telling(lambda _: 0), telling(lambda _: next(numbers)))

    assert {(n.side, n.channel) for n in verdict.noise} >= {("new", "effects")}
    assert verdict.divergence is None
    assert code_of(verdict) == 6


def test_what_diverges_steadily_is_told_beside_what_is_noise() -> None:
    numbers = iter(range(10_000))

    def told(_, turn):
        return next(numbers) if turn == "noisy" else 1

    def changing(data):
        def subject(world):
            def before(ctx, messages):
                turn = messages[-1].content
                world.effect("told", data(world, turn))
                return ctx, messages

            return [with_before_model_rewrite_history(before)]

        return subject

    worlds = [world(runs=[{"input": [f"user:{each}"]}]) for each in ("noisy", "calm")]
    verdict = judge(changing(lambda *_: 0), changing(told), worlds=worlds)

    assert (verdict.noise, verdict.unsteady, verdict.diverging) == ((), 1, 1)
    assert verdict.divergence is not None
    assert (verdict.divergence.code, code_of(verdict)) == ("EFFECT_CHANGED", 1)
    assert verdict.world is not None
    assert verdict.world.runs[0].input != ("user:noisy",)


def test_what_does_the_same_only_by_luck_is_no_divergence() -> None:
    drawn = Random(7)  # noqa: S311  # of a test

    def coin(_):
        return drawn.choice("ab")

    worlds = [world(runs=[{"input": [f"user:{each}"]}]) for each in range(40)]
    verdict = judge(telling(coin), telling(coin), worlds=worlds)

    assert verdict.divergence is None
    assert code_of(verdict) == 6


def test_what_one_world_leaves_behind_for_another_is_noise() -> None:
    seen = []

    def counting(world):
        seen.append(world)
        world.effect("seen", len(seen))
        return same(world)

    assert judge(counting, counting).noise


def test_clock_ids_and_random_numbers_of_the_world_are_no_noise() -> None:
    drawn = telling(lambda w: [w.now(), w.new_id(), w.random.random()])

    assert judge(drawn, drawn).holds == "identical"


def test_volatile_field_is_masked_but_nothing_is_masked_for_identical() -> None:
    numbers = iter(range(1000))
    noisy = telling(lambda _: {"n": next(numbers), "a": 1})
    volatile = Terms(volatile=(Mask("effects", "[*].data.n"), Mask("observed", "[*]")))

    verdict = judge(noisy, noisy, volatile)

    assert verdict.noise == ()
    assert verdict.holds == "same-up-to-volatile"


def test_volatile_field_hides_no_other_one() -> None:
    numbers = iter(range(1000))
    volatile = Terms(volatile=(Mask("effects", "[*].data.n"), Mask("observed", "[*]")))
    sides = (telling(lambda _, a=a: {"n": next(numbers), "a": a}) for a in (1, 2))

    verdict = judge(*sides, volatile)

    assert verdict.divergence is not None
    assert verdict.divergence.code == "EFFECT_CHANGED"
    assert verdict.divergence.difference.path == "[0].data"


ADDED = Message("user", "please")
PLEASE = Mask("requests", "[*].messages[0].content")


def shouting(_):
    return rewriting(lambda m: (replace(m[0], content="A"), *m[1:]))(_)


def test_allowed_difference_is_used_if_its_own_world_needs_it() -> None:
    masks = [PLEASE, Mask("state", "[*].messages[0].content")]
    masks.append(Mask("second_turn", "[*].messages[0].content"))
    allowed = tuple(Allow([mask], "shouts", TURNS) for mask in masks)

    verdict = judge(same, shouting, Terms(allowed=allowed))

    assert verdict.holds == "same-up-to-volatile"
    assert [each.used for each in verdict.allowed] == [True, True, True]
    assert code_of(verdict) == 0


def test_unused_allowance_is_stale() -> None:
    verdict = judge(same, same, Terms(allowed=(Allow([PLEASE], "shouts", CALLS),)))

    assert [each.used for each in verdict.allowed] == [False]
    assert code_of(verdict) == 5


@pytest.mark.parametrize(
    ("mask", "path", "covers"),
    [
        ("[*].a", "[3].a", True),
        ("[*].a", "[3].a.b[0]", True),
        ("[*].a", "[3].ab", False),
        ("[3].a", "[4].a", False),
        ("[*]", "[12]", True),
        ("[*].a[0]", "[1].a[00]", False),
    ],
)
def test_mask_covers_its_place_and_what_lies_under_it(mask, path, covers) -> None:
    from compat.verdicts.migration import Difference

    assert Mask("effects", mask).covers(Difference("effects", path, 1, 2)) is covers
    assert not Mask("effects", mask).covers(Difference("state", path, 1, 2))


def test_hook_that_no_world_entered_is_never_a_pass() -> None:
    def streaming(_):
        async def wrap(ctx, input, next):
            return await next(ctx, input)

        return [with_streamable_tool_wrapper(wrap), *same(_)]

    verdict = judge(streaming, streaming, worlds=[CALLS, TURNS])

    assert verdict.holds == "identical"
    assert verdict.idle == (
        ("old", "handlers[0] with_streamable_tool_wrapper.wrap_streamable_tool_call"),
        ("new", "handlers[0] with_streamable_tool_wrapper.wrap_streamable_tool_call"),
    )
    assert code_of(verdict) == 4


def test_world_shrinks_to_what_the_divergence_needs() -> None:
    def dropping(ctx, messages):
        return ctx, (messages if len(messages) < 4 else messages[1:])

    long = world(
        agent={"instruction": "be brief", "tools": [{"name": "t", "result": "r"}]},
        model_script=["assistant:well[c1:t({})]", "assistant:done"],
        runs=[{"input": [f"user:{n}" for n in range(9)], "streaming": True}],
    )

    verdict = judge(
        same, lambda _: [with_before_model_rewrite_history(dropping)], worlds=[long]
    )

    assert verdict.world is not None
    assert verdict.world.model_dump(exclude_defaults=True) == {
        "agent": {"instruction": "Be brief."},  # it is a system message that is lost
        "model_script": ("assistant:Done.",),
        "runs": ({"input": ("user:Hello",) * 3},),
    }


@pytest.mark.parametrize(
    ("told", "instruction"),
    [(lambda messages: messages[0].content, "Be brief."), (lambda _: "\n", "")],
    ids=["of the instruction", "of its own"],
)
def test_text_in_which_nothing_is_read_is_shown_with_an_instruction(told, instruction):
    def ends_its_instruction(_):
        def before_agent(ctx, config):
            config.instruction += "\n"
            return ctx

        return [with_before_agent(before_agent)]

    def tells_once_more(_):
        def twice(messages):
            return [Message("system", told(messages)), *messages]

        return [*ends_its_instruction(_), *rewriting(twice)(_)]

    verdict = judge(ends_its_instruction, tells_once_more)

    assert verdict.world is not None
    assert verdict.world.agent is not None
    assert verdict.world.agent.instruction == instruction
    assert verdict.divergence is not None
    assert verdict.divergence.code == "INSTRUCTION"
    assert verdict.divergence.difference.new == {
        "role": "system",
        "content": f"{instruction}\n",
    }


@QUICK
@given(
    st.sets(st.sampled_from(sorted(CHANNELS))),
    st.sets(st.sampled_from(sorted(CHANNELS))),
)
def test_more_broken_channels_never_make_more_hold(
    some: set[str], more: set[str]
) -> None:
    ranks = [None, *RELATIONS]

    assert ranks.index(strongest(some | more)) <= ranks.index(strongest(some))


@QUICK
@given(st.sets(st.sampled_from(sorted(CHANNELS))))
def test_what_holds_needs_none_of_the_broken_channels(broken: set[str]) -> None:
    holds = strongest(broken)
    above = RELATIONS[0 if holds is None else RELATIONS.index(holds) + 1 :]

    assert holds is None or broken.isdisjoint(channels_of(holds))
    assert all(broken.intersection(channels_of(name)) for name in above)


def test_strongest_relation_is_made_of_all_channels() -> None:
    assert set(channels_of(RELATIONS[-1])) == set(CHANNELS)


FINE = Migration("same-effects", 1, "", holds="identical")
IDLE = Exercise("x", {"hook": 0})
NOISY = Noise("old", "effects", "[*]", (1, 2))


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (FINE, 0),
        (replace(FINE, holds="same-state"), 1),
        (replace(FINE, holds=None), 1),
        (replace(FINE, broken=(Broken("new", "x", CALLS),)), 1),
        (replace(FINE, fault=FailedSide("old", "import", "x", usage=True)), 2),
        (replace(FINE, fault=FailedSide("old", "timeout", "x", usage=False)), 3),
        (replace(FINE, exercise={"old": IDLE}), 4),
        (replace(FINE, exercise={"old": IDLE}, holds=None), 4),
        (replace(FINE, allowed=(Allowed("state", "[*]", "why", used=False),)), 5),
        (replace(FINE, holds=None, allowed=(Allowed("state", "", "", used=False),)), 1),
        (replace(FINE, noise=(NOISY,)), 6),
        (replace(FINE, noise=(NOISY,), holds=None), 6),
        (replace(FINE, noise=(NOISY,), exercise={"new": IDLE}), 4),
    ],
)
def test_exit_code_is_the_one_that_wins(verdict: Migration, code: int) -> None:
    assert code_of(verdict) == code


def test_before_agent_hook_counts_as_a_hook() -> None:
    def subject(_):
        return [with_before_agent(lambda ctx, config: ctx)]

    verdict = judge(subject, subject)

    assert dict(verdict.exercise["new"].hooks) == {
        "handlers[0] with_before_agent.before_agent": 3
    }


def test_mask_of_a_key_does_not_cover_one_that_begins_like_it() -> None:
    masks = Terms(volatile=(Mask("effects", "[*].data.http"),))
    sides = (telling(lambda _, url=url: {"http": url, "http.url": url}) for url in "ab")

    verdict = judge(*sides, masks)

    assert verdict.divergence is not None
    assert verdict.divergence.difference.channel == "effects"


def test_text_that_says_nothing_is_not_a_missing_value() -> None:
    with_it = telling(lambda _: {"z": "(nothing)"})
    masks = Terms(volatile=(Mask("effects", "[*].data.t"),))

    verdict = judge(telling(lambda _: {}), with_it, masks)

    assert verdict.divergence is not None
    assert verdict.divergence.code == "EFFECT_CHANGED"


def test_volatile_field_that_differs_nowhere_is_stale() -> None:
    verdict = judge(same, same, Terms(volatile=(Mask("effects", "[*].dta"),)))

    assert verdict.unused == ("effects [*].dta",)
    assert code_of(verdict) == 5


def test_difference_that_is_gone_when_looked_at_again_is_noise() -> None:
    numbers = iter([*[0] * 5, 1, *[0] * 10_000])

    verdict = judge(telling(lambda _: 0), telling(lambda _: next(numbers)))

    assert verdict.divergence is None
    assert code_of(verdict) == 6


def effect_of(call: str | None, executions: int = 0) -> TraceChannels:
    """Return a trace of one effect, after so many executions of its call."""
    recorder = Recorder()
    start = {"name": "t", "arguments": "", "implementation": "", "options": {}}
    for _ in range(executions):
        recorder.add("tool_start", {**start, "ctx": "-", "mode": "invoke"}, call)
    recorder.add("effect", {"name": "told", "data": None}, call)
    return TraceChannels(recorder.trace().to_jsonl())


@pytest.mark.parametrize(
    ("old", "new", "equal"),
    [
        (effect_of(None), effect_of("c1"), True),
        (effect_of(None), effect_of("c1", 1), True),
        (effect_of("c1"), effect_of(None), False),
        (effect_of("c1"), effect_of("c2"), False),
        (effect_of("c1"), effect_of("c1", 1), False),
    ],
)
def test_a_graph_that_does_not_say_in_which_call_is_not_held_to_one(old, new, equal):
    assert differences(old, new, ("effects",))
    assert (not differences(old, new, ("effects",), GRAPHS)) == equal


def paying(times: int, *told: str):
    """Return a subject that runs each tool so often, and says these things before."""

    def subject(world):
        def before_agent(ctx, config):
            for each in told:
                world.effect(each, 1)
            return ctx

        async def wrap(ctx, call, next):
            for _ in range(times - 1):
                await next(ctx, call)
            return await next(ctx, call)

        return [with_before_agent(before_agent), with_invokable_tool_wrapper(wrap)]

    return subject


def test_a_tool_that_runs_twice_is_never_told_as_another_order() -> None:
    verdict = judge(paying(1, "a", "b"), paying(2, "b", "a"), worlds=[CALLS])

    assert [each.code for each in verdict.groups] == ["EXTRA_CALL"]
    assert verdict.divergence is not None
    assert verdict.divergence.code == "EXTRA_CALL"


def test_the_worst_is_shown_though_most_worlds_show_something_else() -> None:
    def forgets(_):
        async def wrap(ctx, call, next):
            await next(ctx, call)
            return await next(ctx, call)

        def cut(ctx, messages):
            return ctx, messages[1:] if messages[-1].content == "b" else messages

        return [
            with_before_model_rewrite_history(cut),
            with_invokable_tool_wrapper(wrap),
        ]

    turns = [world(runs=[{"input": [f"user:{n}", "user:b"]}]) for n in range(5)]
    verdict = judge(same, forgets, worlds=[*turns, CALLS])
    found = [(each.code, each.worlds) for each in verdict.groups]

    assert found == [("EXTRA_CALL", 1), ("MESSAGE_LOST", 5)]
    assert verdict.divergence is not None
    assert verdict.divergence.code == "EXTRA_CALL"


def saying(mark: str, logged: str) -> Subject:
    """Return a subject that marks what a user says, and logs each call of a tool."""

    def subject(world):
        def marked(ctx, messages):
            first, *rest = messages
            return ctx, [replace(first, content=f"{first.content}{mark}"), *rest]

        async def logs(ctx, call, next):
            world.effect("log", {"said": logged})
            return await next(ctx, call)

        return [
            with_before_model_rewrite_history(marked),
            with_invokable_tool_wrapper(logs),
        ]

    return subject


@pytest.mark.parametrize(
    ("mark", "logged", "behind"),
    [("", "k", None), ("", "secret", "EFFECT_CHANGED"), ("!", "k", None)],
)
def test_what_is_behind_a_change_of_a_text_is_told(
    mark: str, logged: str, behind: str | None
) -> None:
    """A newline that is in each request, and may be meant, hides nothing."""
    turns = [world(runs=[{"input": [f"user:{n}"]}]) for n in range(3)]
    verdict = judge(saying("\n\n", "k"), saying(mark, logged), worlds=[*turns, CALLS])

    assert verdict.divergence is not None
    assert verdict.divergence.difference.channel == "requests"
    assert len(verdict.groups) == 1
    hidden = verdict.hidden and (
        verdict.hidden.diverging,
        verdict.hidden.divergence.code,
    )
    assert hidden == (behind and (1, behind))
