"""What a subject asks by ``interrupt`` is answered as its world says, and goes on."""

from dataclasses import dataclass
from typing import Any

import pytest

from refengine import (
    AgentMiddleware,
    Interrupt,
    ToolMiddleware,
    get_run_local,
    interrupt,
    is_reentry,
    set_run_local,
    with_after_model_rewrite_history,
    with_before_model_rewrite_history,
    with_invokable_tool_wrapper,
)
from refengine.state import Checkpoints, MemoryStore
from refengine.state.values import Types
from refengine.testing import Scenario, Trace, play_alone, play_subject, run
from refengine.testing.person import EndlessQuestionsError
from tests.players import CALLS, world


@dataclass(frozen=True)
class Point:
    """A value of a class of one's own."""

    x: int
    y: int


def played(where: Scenario, subject) -> Trace:
    return play_alone(where, subject).trace


def asking(world):
    """Ask before each tool runs; a refusal is an error."""

    async def wrap(ctx, input, next):
        if not is_reentry():
            world.effect("asked", input.name)
        if not interrupt({"tool": input.name}):
            raise PermissionError(input.name)
        return await next(ctx, input)

    return [with_invokable_tool_wrapper(wrap)]


def denying(*ids: str, where: Scenario = CALLS) -> Scenario:
    spec = where.runs[0].model_copy(update={"denies": ids})
    return where.model_copy(update={"runs": (spec, *where.runs[1:])})


def data(trace: Trace, *kinds) -> list[Any]:
    return [each.data for each in trace.of(*kinds)]


def test_a_run_that_asks_is_one_run_and_ends() -> None:
    trace = played(CALLS, asking)
    (end,) = trace.of("run_end")

    assert (end.run, end.data["status"]) == (1, "completed")
    assert [each.data["payload"] for each in trace.of("interrupt")] == [
        {"tool": "t"},
        {"tool": "u"},
    ]
    assert data(trace, "resume") == [{"answers": [True, True]}]
    assert [each.data["name"] for each in trace.of("tool_start")] == ["t", "u"]


def test_a_denied_call_is_answered_false() -> None:
    trace = played(denying("c2"), asking)

    assert data(trace, "resume") == [{"answers": [True, False]}]
    assert [each.data["name"] for each in trace.of("tool_start")] == ["t"]
    assert trace.of("run_end")[0].data["status"] == "error"


def test_what_is_done_before_the_question_is_done_once_with_is_reentry() -> None:
    names = [each.data["data"] for each in played(CALLS, asking).of("effect")]

    assert names == ["t", "u"]


def test_each_resume_goes_by_what_was_read() -> None:
    ops = [each["op"] for each in data(played(CALLS, asking), "checkpoint")]

    assert ops.count("read") == 1
    assert ops.index("read") == ops.index("write") + 3  # start, tools, interrupt


def test_a_session_in_which_nobody_asks_keeps_nothing() -> None:
    trace = played(world(model_script=["assistant:done"]), asking)

    assert not trace.of("checkpoint", "interrupt", "resume")


def test_a_session_that_asks_is_played_again_from_its_start() -> None:
    made = []

    def subject(world):
        made.append(world)
        world.effect("made", world.new_id())
        return asking(world)

    trace = played(CALLS, subject)

    assert len({*map(id, made)}) == 2
    assert trace.of("effect")[0].data["data"] == "id-1"


def test_hooks_are_counted_in_the_session_that_counts() -> None:
    hooks = play_alone(CALLS, asking).hooks

    assert [*hooks.values()] == [4]  # two calls, each entered again


def questions(world):
    def before(ctx, messages):
        first = interrupt("one?")
        set_run_local(ctx, "told", f"{first} {interrupt('two?')}")
        return ctx, messages

    def after(ctx, messages):
        world.effect("told", f"{get_run_local(ctx, 'told')} {interrupt('three?')}")
        return ctx, messages

    return [
        with_before_model_rewrite_history(before),
        with_after_model_rewrite_history(after),
    ]


@pytest.mark.parametrize("streaming", [False, True])
def test_hooks_of_the_model_are_answered_true_one_after_the_other(streaming) -> None:
    runs = [{"input": ["user:a"], "denies": ["c1"], "streaming": streaming}]
    trace = played(world(model_script=["assistant:x"], runs=runs), questions)

    assert data(trace, "resume") == [{"answers": [True]}] * 3
    assert trace.of("effect")[0].data["data"] == "True True True"
    assert len(trace.of("model_request")) == 1


def test_a_struct_is_answered_as_a_handler_is() -> None:
    def struct(world):
        def wrap(inner):
            async def call(ctx, input):
                if not is_reentry():
                    world.effect("asked", input.name)
                if not interrupt({"tool": input.name}):
                    raise PermissionError(input.name)
                return await inner(ctx, input)

            return call

        return [AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable=wrap))]

    kinds = ("event", "effect", "resume", "tool_start")
    sides = [played(denying("c1"), each) for each in (struct, asking)]
    errors = [data(each, "event")[-1]["error"] for each in sides]

    assert len(sides[0]) == len(sides[1])
    assert [each["hook"] for each in errors] == ["wrap_tool_call", "wrap_invokable"]
    assert data(sides[0].of(*kinds)[:-1], *kinds) == data(
        sides[1].of(*kinds)[:-1], *kinds
    )


def endless(_):
    async def wrap(ctx, input, next):
        raise Interrupt("and now?")

    return [with_invokable_tool_wrapper(wrap)]


def test_a_subject_that_goes_on_asking_is_told_so() -> None:
    with pytest.raises(EndlessQuestionsError, match="more than 50 times, and asks"):
        played(CALLS, endless)


def test_a_configuration_may_bring_types_of_its_own() -> None:
    types = Types()
    types.register_dataclass("point", Point)
    store = MemoryStore()

    def subject(world):
        def before(ctx, messages):
            if not is_reentry():
                set_run_local(ctx, "at", Point(1, 2))
            interrupt("go on?")
            point = get_run_local(ctx, "at")
            world.effect("at", isinstance(point, Point) and point.x)
            return ctx, messages

        handlers = [with_before_model_rewrite_history(before)]
        return world.config(handlers=handlers, checkpoints=Checkpoints(store, types))

    trace = played(world(model_script=["assistant:x"]), subject)

    assert [each.data["data"] for each in trace.of("effect")] == [1]
    assert run(store.keys()) == []  # a session's runs are its own


def test_an_event_loop_that_runs_already_plays_questions_too() -> None:
    trace = run(play_subject(CALLS, asking)).trace

    assert trace.to_jsonl() == played(CALLS, asking).to_jsonl()


def test_runs_that_a_scenario_keeps_are_answered_by_it_alone() -> None:
    kept = world(
        agent={"tools": [{"name": "t"}]},
        model_script=["assistant:[c1:t({})]", "assistant:done"],
        runs=[
            {"input": ["user:a"], "checkpoint": "k"},
            {"resume": "k", "answers": {"*": False}},
        ],
    )
    trace = played(kept, asking)

    ends = [each.data["status"] for each in trace.of("run_end")]
    assert ends == ["interrupted", "error"]


def test_a_run_that_a_scenario_resumes_has_a_subject_of_its_own() -> None:
    kept = world(
        agent={"tools": [{"name": "t", "body": [{"op": "ask"}]}]},
        model_script=["assistant:[c1:t({})]", "assistant:done"],
        runs=[{"input": ["user:a"], "checkpoint": "k"}, {"resume": "k"}],
    )

    def subject(world):
        calls = []

        def before(ctx, messages):
            calls.append(len(messages))
            world.effect("calls", calls[:])
            return ctx, messages

        return [with_before_model_rewrite_history(before)]

    told = [each.data["data"] for each in played(kept, subject).of("effect")]

    assert told[0] == [1]
    assert told[-1] == [3]
