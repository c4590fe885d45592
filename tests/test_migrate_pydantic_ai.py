"""Migrations of agents of pydantic-ai, judged on the installed package."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from threading import current_thread
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.toolsets import FunctionToolset, WrapperToolset

from compat.migration.check import check_all
from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from refengine.messages import Message
from refengine.testing.pydantic_ai import messages
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subject_worlds.graph_worlds import fits_a_graph
from refengine.testing.subject_worlds.named_values import is_graph_source
from refengine.testing.subjects import SubjectError, play_alone
from refengine.testing.world import World

ORDERS = {"tools": [{"name": "look", "result": "a secret"}, {"name": "delete"}]}
SCRIPT = [
    'assistant:[c1:look({"q": "a"})][c2:delete({})]',
    "assistant:found",
    "assistant:[c3:delete({})]",
    "assistant:more",
]
WORLDS = (
    {
        "agent": ORDERS,
        "model_script": SCRIPT,
        "runs": [
            {"input": ["user:hello"]},
            {"input": ["user:more"], "continues": True, "streaming": True},
        ],
    },
    {"agent": {}, "model_script": [{"error": "boom"}], "runs": [{"input": ["user:a"]}]},
)

OLD = """
from pydantic_ai import Agent
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import SkipToolExecution

def agent(world, *capabilities, **more):
    face = world.as_pydantic_ai()
    more.setdefault("tools", face.tools)
    more.setdefault("instructions", face.instructions)
    return Agent(face.model, capabilities=capabilities, **more)

def guards(world):
    hooks = Hooks()

    @hooks.on.before_tool_execute
    async def guard(ctx, *, call, tool_def, args):
        if call.tool_name == "delete":
            world.effect("blocked", {"call": call.tool_call_id})
            raise SkipToolExecution("not without a person")
        return args

    @hooks.on.after_tool_execute
    async def redact(ctx, *, call, tool_def, args, result):
        return result.replace("secret", "[redacted]")

    return agent(world, hooks)
"""
NEW = """
from pydantic_ai.capabilities import AbstractCapability
from old import agent

class Guard(AbstractCapability):
    def __init__(self, world):
        self.world = world

    async def wrap_tool_execute(self, ctx, *, call, tool_def, args, handler):
        if call.tool_name == "delete":
            self.world.effect("blocked", {"call": call.tool_call_id})
            return "not without a person"
        return (await handler(args)).replace("secret", "[redacted]")

class Late(Guard):
    async def wrap_tool_execute(self, ctx, *, call, tool_def, args, handler):
        result = await handler(args)
        return await super().wrap_tool_execute(
            ctx, call=call, tool_def=tool_def, args=args, handler=lambda _: told(result)
        )

async def told(result):
    return result

def guards(world):
    return agent(world, Guard(world))

def late(world):
    return agent(world, Late(world))
"""


def test_hooks_as_a_capability_are_identical_and_a_late_guard_is_told(tmp_path: Path):
    (tmp_path / "old.py").write_text(OLD)
    (tmp_path / "new.py").write_text(NEW)
    old, right, late = (
        parse_ref(f"{tmp_path}/{name}")
        for name in ("old.py:guards", "new.py:guards", "new.py:late")
    )
    worlds = [read_scenario(each, "a world") for each in WORLDS]
    made = tuple(MigrationWorld(each, "by hand", fixed=True) for each in worlds)
    how = CheckOptions(sharpness_plays=0, search_plays=0)
    news = {"right": (right, Terms()), "late": (late, Terms())}
    found = check_all(old, news, Corpus(made, 0, fits_a_graph), how, explain=True)
    verdicts: dict[str, Any] = {name: each.verdict for name, each in found.items()}

    assert {name: each.fault for name, each in verdicts.items()} == dict.fromkeys(news)
    assert verdicts["right"].holds == "identical"
    used = verdicts["right"].exercise
    assert set(used["old"].hooks) == {
        "Hooks.before_tool_execute",
        "Hooks.after_tool_execute",
    }
    assert set(used["new"].hooks) == {"Guard.wrap_tool_execute"}
    assert set(used["new"].frameworks) == {"pydantic-ai-slim"}
    assert verdicts["late"].divergence.code == "EXTRA_CALL"


def agent_of(world, **more) -> Agent[Any, Any]:
    face = world.as_pydantic_ai()
    return Agent(face.model, tools=more.pop("tools", face.tools), **more)


def played(subject, script, *runs: dict[str, Any], **agent):
    given = [{"input": ["user:hi"], **each} for each in runs or ({},)]
    made = {"agent": agent, "model_script": script, "runs": given}
    return play_alone(read_scenario(made), subject).trace


def test_a_subject_s_own_tool_is_called_as_it_declares_and_observed() -> None:
    def add(number: int) -> int:
        return number + 1

    script = ['assistant:[c1:<own 0>({"integer": 3})]', "assistant:ok"]
    trace = played(lambda world: agent_of(world, tools=[add]), script)
    [started] = trace.of("tool_start")
    [ended] = trace.of("tool_end")

    assert (started.data["name"], started.data["arguments"]) == ("add", '{"number": 3}')
    assert (started.call_id, ended.data["result"]) == ("c1", 4)
    assert trace.of("run_end")[0].data["answer"] == Message("assistant", "ok")


class Answering(WrapperToolset[Any]):
    """Answers for tools that fail, as an application wraps its toolset."""

    def __init__(self, wrapped: FunctionToolset[Any], world: World) -> None:
        super().__init__(wrapped)
        self.told = world.effect

    async def call_tool(self, name: str, *more: Any) -> Any:
        try:
            return await super().call_tool(name, *more)
        except LookupError:
            self.told("answered", name)
            return "not there"


def test_a_wrapped_toolset_answers_behind_what_its_tools_did_as_a_hook_does() -> None:
    """Each effect is of its call, and each tool is put down inside of the wrapper."""

    def find(q: str) -> str:
        raise LookupError(q)

    def subject(world: World) -> object:
        face = world.as_pydantic_ai()
        toolset = Answering(FunctionToolset([*face.tools, find]), world)
        return Agent(face.model, toolsets=[toolset])

    tools = [{"name": "look", "error": "LookupError"}]
    asked = 'assistant:[c1:find({"q": "a"})][c2:look({})]'
    trace = played(subject, [asked, "assistant:ok"], tools=tools)

    failed = [each.call_id for each in trace.of("tool_error")]
    effects = [each.call_id for each in trace.of("effect")]
    assert sorted(failed) == sorted(effects) == ["c1", "c2"]
    for call in ("c1", "c2"):
        kinds = [each.kind for each in trace if each.call_id == call]
        assert kinds.index("tool_error") < kinds.index("effect")


def test_plain_functions_run_in_threads_of_the_loop_which_has_them_in_one_order():
    """Those of anyio come as they please, so that a side differs from itself."""

    def where() -> str:
        return current_thread().name

    script = ["assistant:[c1:where({})][c2:where({})]", "assistant:ok"]
    trace = played(lambda world: agent_of(world, tools=[where]), script)
    names = [str(each.data["result"]) for each in trace.of("tool_end")]

    assert len(names) == 2
    assert not [each for each in names if "AnyIO" in each]


@pytest.mark.parametrize("denied", [False, True])
def test_a_person_answers_what_a_tool_waits_for_and_the_run_goes_on(denied) -> None:
    def waits(world):
        [tool] = world.as_pydantic_ai().tools
        tool.requires_approval = True
        kinds: Any = [str, DeferredToolRequests]
        return agent_of(world, tools=[tool], output_type=kinds)

    script = ["assistant:[c1:t({})]", "assistant:ok"]
    spec = {"denies": ["c1"]} if denied else {}
    trace = played(waits, script, spec, tools=[{"name": "t", "result": "r"}])
    [asked] = trace.of("effect")

    assert asked.data["data"] == {"name": "t", "args": {}, "approved": not denied}
    assert len(trace.of("tool_start")) == (not denied)
    assert trace.of("run_end")[0].data["status"] == "completed"


def test_a_stream_comes_in_one_event_and_a_turn_goes_on_from_the_last() -> None:
    turns = {"streaming": True}, {"continues": True}
    trace = played(agent_of, ["assistant:one two", "assistant:more"], *turns)
    [event] = trace.of("event")
    asked: Any = trace.of("model_request")[-1]

    assert event.data["stream"] == ["one ", "two"]
    assert [each["content"] for each in asked.data["messages"]] == [
        "hi",
        "one two",
        "hi",
    ]


def test_a_run_has_no_more_requests_than_its_caller_gives_it() -> None:
    tools = [{"name": "t", "result": "r"}]
    trace = played(agent_of, ["assistant:[c1:t({})]"], {"steps": 1}, tools=tools)

    assert len(trace.of("model_request")) == 1
    assert trace.of("run_end")[0].data["status"] == "max_iterations"


@pytest.mark.parametrize("model", [None, "test"])
def test_an_agent_of_another_model_is_refused(model) -> None:
    def strange(world):
        world.as_pydantic_ai()
        return Agent(model)

    with pytest.raises(SubjectError, match=r"as_pydantic_ai\(\).model, so nobody"):
        played(strange, ["assistant:ok"])


def test_a_model_that_an_observer_wraps_is_asked_through_what_wraps_it() -> None:
    asked = []

    class Watched(WrapperModel):
        async def request(self, messages, *more):
            asked.append(messages)
            return await self.wrapped.request(messages, *more)

    def observed(world):
        return Agent(Watched(Watched(world.as_pydantic_ai().model)))

    trace = played(observed, ["assistant:ok"])

    assert len(trace.of("model_request")) == 1
    assert len(asked) == 2


def test_a_source_that_asks_for_the_face_is_given_worlds_of_agents_alone() -> None:
    assert is_graph_source(OLD)
    assert not is_graph_source(NEW)


class RetryPromptPart:
    """As releases before the installed one have it: for calls, and for answers."""

    def __init__(self, tool_name: str | None) -> None:
        self.tool_name, self.tool_call_id = tool_name, "c1"

    def model_response(self) -> str:
        return "Try again."


def test_retry_of_an_older_release_answers_its_call_or_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(messages, "_RETRY", RetryPromptPart)
    parts: list[Any] = [RetryPromptPart("charge"), RetryPromptPart(None)]

    of_a_call, of_an_answer = messages.ours([ModelRequest(parts)])

    assert of_a_call == messages.our_result(parts[0])
    assert (of_a_call.role, of_a_call.tool_call_id) == ("tool", "c1")
    assert (of_an_answer.role, of_an_answer.content) == ("user", "Try again.")


@dataclass
class Counting(AbstractCapability[Any]):
    """Counts the calls of a run; how it begins anew is ``again``'s."""

    world: World
    again: Callable[["Counting"], "Counting"]
    calls: int = 0

    async def for_run(self, ctx):
        return self.again(self)

    async def wrap_tool_execute(self, ctx, *, call, tool_def, args, handler):
        self.calls += 1
        self.world.effect("counted", self.calls)
        return await handler(args)


def begun_anew(counting: Counting) -> Counting:
    counting.calls = 0
    return counting


@pytest.mark.parametrize(
    "again",
    [
        lambda counting: Counting(counting.world, counting.again),
        replace,
        copy,
        begun_anew,
    ],
    ids=["made", "replaced", "copied", "the same"],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_capability_of_one_run_is_watched_and_keeps_its_own_state(again, *, dynamic):
    def subject(world):
        counting = Counting(world, again)
        given = (lambda _: again(counting)) if dynamic else counting
        return agent_of(world, capabilities=[given])

    script = ["assistant:[c1:t({})]", "assistant:a", "assistant:[c2:t({})]"]
    runs: list[dict[str, Any]] = [{"input": ["user:hi"]}] * 2
    world = {"agent": {"tools": [{"name": "t"}]}, "model_script": script, "runs": runs}

    seen = play_alone(read_scenario(world), subject)

    effects = [(each.call_id, each.data["data"]) for each in seen.trace.of("effect")]
    assert effects == [("c1", 1), ("c2", 1)]
    assert seen.hooks == {"Counting.wrap_tool_execute": 2}
