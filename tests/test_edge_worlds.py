"""Edges of schemas: what a check plays of them first, and the ports that it tells."""

import json
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from compat.migration.check import corpus_of
from compat.migration.differences import TraceChannels, differences
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.verdicts.relations import DEFAULT_RELATION, channels_of
from refengine.testing import World, play_alone
from refengine.testing.subject_worlds.declared_schemas import DeclaredSchemas
from refengine.testing.subject_worlds.edge_worlds import FAMILY, edge_calls
from refengine.testing.subject_worlds.graph_worlds import BY_NAME
from refengine.testing.subject_worlds.schema_edges import fits

pytestmark = pytest.mark.filterwarnings("ignore:.*has been deprecated")


def told(folder: Path, old: str, new: str, family: str) -> list[str]:
    """Return where two texts of files differ in the worlds of a family.

    Each time in folders of their own: of a file that is as long as another was in the
    same second, Python takes the other's bytecode, and what stands beside a side's file
    in one process is its own.
    """
    number = sum(1 for _ in folder.iterdir())
    paths = [
        folder / f"{number + at}/{name}.py" for at, name in enumerate(("old", "new"))
    ]
    for path, text in zip(paths, (old, new), strict=True):
        path.parent.mkdir()
        path.write_text(text, "utf-8")
    corpus = corpus_of([parse_ref(str(each)) for each in paths], CheckOptions())
    sides = [subject_of(each) for each in paths]
    channels: list[str] = []
    for world in (e.scenario for e in corpus.worlds if e.family == family):
        ours, theirs = (play_alone(world, each) for each in sides)
        assert ours.refused is None
        both = [TraceChannels(each.trace.to_jsonl()) for each in (ours, theirs)]
        found = differences(*both, channels_of(DEFAULT_RELATION))
        channels += [each.channel for each in found]
    return channels


def subject_of(path: Path) -> Callable[[World], object]:
    """Return the subject of a file, whose module is known as a real one is."""
    name = f"{path.parent.parent.name}_{path.parent.name}_{path.stem}"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.subject


CHECKS = """
from enum import Enum
from typing import Annotated, Literal
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from refengine import AgentMiddleware

{more}
class Transfer(BaseModel):
    {field}

def look(world, message):
    for call in message.tool_calls:
        if call.name == "transfer":
            try:
                Transfer.model_validate_json(call.arguments)
            except ValidationError:
                world.effect("refused", call.arguments)
"""
STRUCT = """
def subject(world):
    def after(ctx, state):
        look(world, state.messages[-1])
    return [AgentMiddleware(after_chat_model=after)]
"""
HANDLER = """
class Looks:
    name = "looks"

    def __init__(self, world):
        self.world = world

    def before_agent(self, ctx, config):
        config.instruction += "\\n"
        return ctx

    def after_model_rewrite_history(self, ctx, messages):
        look(self.world, messages[-1])
        return ctx, messages

def subject(world):
    return [Looks(world)]
"""
LEVEL = "class Level(str, Enum):\n    LOW = 'low'\n    HIGH = 'high'\n"
CLOSED = "model_config = ConfigDict(extra='forbid')\n    v: int"
INNER = "class Inner(BaseModel):\n    n: int = Field(le={most})\n"


@pytest.mark.parametrize(
    ("field", "moved", "more"),
    [
        ("v: int = Field(ge=1)", "v: int = Field(ge=0)", ""),
        ("v: int = Field(gt=1)", "v: int = Field(ge=1)", ""),
        ("v: int = Field(le=50)", "v: int = Field(le=51)", ""),
        ("v: int = Field(lt=50)", "v: int = Field(le=50)", ""),
        ("v: int = Field(multiple_of=5)", "v: int", ""),
        ("v: str = Field(min_length=3)", "v: str = Field(min_length=2)", ""),
        ("v: str = Field(max_length=12)", "v: str = Field(max_length=13)", ""),
        (
            "v: str = Field(pattern=r'^[A-Z]{2}$')",
            "v: str = Field(pattern=r'^[A-Z]{2}')",
            "",
        ),
        ("v: Literal['low', 'high']", "v: Literal['low', 'high', 'mid']", ""),
        ("v: Level", "v: str", LEVEL),
        (
            "v: list[str] = Field(max_length=3)",
            "v: list[str] = Field(max_length=4)",
            "",
        ),
        ("v: int", "v: int = 3", ""),
        ("v: int", "v: float", ""),
        ("v: int | None", "v: int", ""),
        (CLOSED, "v: int", ""),
        ("v: Inner", "v: dict", INNER.format(most=9)),
    ],
)
def test_an_edge_that_moved_is_found_and_one_that_stayed_is_not(
    tmp_path: Path, field: str, moved: str, more: str
) -> None:
    same, other = (CHECKS.format(more=more, field=f) for f in (field, moved))

    old = same + STRUCT

    assert told(tmp_path, old, other + HANDLER, FAMILY)
    assert not told(tmp_path, old, same + HANDLER, FAMILY)


AGENTS = """
from typing import Any
from pydantic import BaseModel, Field, ValidationError

class Transfer(BaseModel):
    v: int = Field(le={most})

def is_refused(name, args):
    try:
        return name == "transfer" and not Transfer.model_validate(args)
    except ValidationError:
        return True
"""
FLOW = """
from compat.dialects.flow import LlmAgent, Plugin, Runner
from compat.dialects.playing.flow_world import as_flow

def check(tool_context, tool, args):
    return {{"error": "refused"}} if is_refused(tool.name, args) else None

def subject(world):
    flow = as_flow(world)
    agent = LlmAgent(name="desk", model=flow.model, tools=[*flow.tools]{callback})
    return {returned}
"""
CALLBACK = {
    "callback": ", before_tool=check",
    "returned": 'Runner(agent, profile="adk-py-2")',
}
PLUGIN = {
    "callback": "",
    "returned": 'agent, [Plugin(name="check", before_tool=check)]',
}
HOOKS = """
from pydantic_ai import Agent
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import SkipToolExecution

def subject(world):
    face, hooks = world.as_pydantic_ai(), Hooks()

    @hooks.on.before_tool_execute
    async def guard(ctx, *, call, tool_def, args):
        if is_refused(call.tool_name, args):
            raise SkipToolExecution("refused")
        return args

    return Agent(face.model, tools=face.tools, capabilities=[hooks])
"""
CAPABILITY = """
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability

class Guard(AbstractCapability):
    async def wrap_tool_execute(self, ctx, *, call, tool_def, args, handler):
        refused = is_refused(call.tool_name, args)
        return "refused" if refused else await handler(args)

def subject(world):
    face = world.as_pydantic_ai()
    return Agent(face.model, tools=face.tools, capabilities=[Guard()])
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (FLOW.format(**CALLBACK), FLOW.format(**PLUGIN)),
        (HOOKS, CAPABILITY),
    ],
    ids=["flow", "pydantic-ai"],
)
def test_edges_are_played_whatever_the_framework(
    tmp_path: Path, old: str, new: str
) -> None:
    same, other = AGENTS.format(most=9), AGENTS.format(most=10)

    assert told(tmp_path, same + old, other + new, FAMILY)
    assert not told(tmp_path, same + old, same + new, FAMILY)


# Values by name, of graphs

GRAPHS = """
from dataclasses import dataclass
from typing import NotRequired
from pydantic import BaseModel, Field
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import before_agent, dynamic_prompt
from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState as OlderState
from langgraph.prebuilt.chat_agent_executor import AgentStatePydantic
from langgraph.runtime import get_runtime

"""
OLDER = """
def subject(world):
    face = world.as_langchain()
    def prompt(state, config: RunnableConfig):
        tenant = {read}
        return [SystemMessage(f"Tenant {{tenant}}."), *messages(state)]
    return create_react_agent(face.model, face.tools, prompt=prompt{more})

def messages(state):
    return state["messages"] if isinstance(state, dict) else state.messages
"""
NEWER = """
def subject(world):
    face = world.as_langchain()
    {first}
    @dynamic_prompt
    def prompt(request):
        tenant = {read}
        return f"Tenant {{tenant}}."
    return create_agent(face.model, face.tools, middleware=[{checks}prompt]{more})
"""
DATACLASS = "@dataclass\nclass Ctx:\n    tenant: str = 'public'\n"
BOUNDED = "class Ctx(BaseModel):\n    tenant: int = Field(3, ge=1, le={most})\n"
TYPED = "class State({of}State):\n    tenant: NotRequired[{kind}]\n"
STRICT = "class State(AgentStatePydantic):\n    tenant: int = Field(3, le=10)\n"
LIMITS = "class Limits(BaseModel):\n    tenant: int = Field(3, le={most})\n"
CHECK = """
    @before_agent
    def check(state, runtime):
        Limits(**{key: state[key] for key in state if key == "tenant"})
"""


def older(read: str, schema: str = "", how: str = "") -> str:
    more = f", {how}" if how else ""
    return GRAPHS + schema + OLDER.format(read=read, more=more)


def newer(read: str, schema: str = "", how: str = "", check: str = "") -> str:
    more, checks = f", {how}" if how else "", "check, " if check == CHECK else ""
    first = check or "pass"
    return (
        GRAPHS + schema + NEWER.format(read=read, more=more, first=first, checks=checks)
    )


CONTEXT, STATE = "context_schema=Ctx", "state_schema=State"
OF_CONFIG = 'config["configurable"].get("tenant", "public")'
OF_CONFIG_NOW = 'get_config()["configurable"].get("tenant", "public")'
OF_CONTEXT = "get_runtime(Ctx).context.tenant"
OF_CONTEXT_NOW = "request.runtime.context.tenant"
OF_MAPPING = '(request.runtime.context or {}).get("tenant", "public")'
OF_STATE = 'state.get("tenant", "public")'
OF_STATE_NOW = 'request.state.get("tenant", "public")'
TEXT = {"of": "Older", "kind": "str"}
TEXT_NOW = {"of": "Agent", "kind": "str"}
BOTH = f"{OF_CONFIG} if state.get('tenant') is None else state['tenant']"
BOTH_NOW = (
    f"request.state['tenant'] if request.state.get('tenant') else {OF_CONFIG_NOW}"
)
SWAPPED = f'get_config()["configurable"].get("tenant") or {OF_STATE_NOW}'
TAKES = 'world.as_langchain().takes(tenant="context")'

PORTS = {
    "configurable, read from a context that nobody gives": (
        older(OF_CONFIG),
        newer(OF_MAPPING),
        newer(OF_CONFIG_NOW),
    ),
    "configurable, which NEW declares as its context": (
        older(OF_CONFIG),
        newer(OF_STATE_NOW, TYPED.format(**TEXT_NOW), STATE),
        newer(OF_CONTEXT_NOW, DATACLASS, CONTEXT),
    ),
    "configurable, which the application now gives as a context": (
        older(OF_CONFIG),
        newer(OF_CONFIG_NOW, "", "", TAKES),
        newer(OF_MAPPING, "", "", TAKES),
    ),
    "context": (
        older(OF_CONTEXT, DATACLASS, CONTEXT),
        newer(OF_CONFIG_NOW),
        newer(OF_MAPPING),
    ),
    "state": (
        older(OF_STATE, TYPED.format(**TEXT), STATE),
        newer(OF_CONFIG_NOW, TYPED.format(**TEXT_NOW), STATE),
        newer(OF_STATE_NOW, TYPED.format(**TEXT_NOW), STATE),
    ),
    "two doors, of which one comes first": (
        older(BOTH, TYPED.format(**TEXT), STATE),
        newer(SWAPPED, TYPED.format(**TEXT_NOW), STATE),
        newer(BOTH_NOW, TYPED.format(**TEXT_NOW), STATE),
    ),
    "a value that may be missing": (
        older(OF_CONFIG),
        newer('get_config()["configurable"]["tenant"]'),
        newer(OF_CONFIG_NOW),
    ),
    "a bound of a context": (
        older(OF_CONTEXT, BOUNDED.format(most=10), CONTEXT),
        newer(OF_CONTEXT_NOW, BOUNDED.format(most=11), CONTEXT),
        newer(OF_CONTEXT_NOW, BOUNDED.format(most=10), CONTEXT),
    ),
    "a bound of a state": (
        older("state.tenant", STRICT, STATE),
        newer(
            'request.state.get("tenant", 3)',
            TYPED.format(of="Agent", kind="int"),
            STATE,
        ),
        newer(
            'int(request.state.get("tenant", 3))',
            TYPED.format(of="Agent", kind="int") + LIMITS.format(most=10),
            STATE,
            CHECK,
        ),
    ),
}


@pytest.mark.parametrize(("old", "wrong", "right"), PORTS.values(), ids=PORTS)
def test_each_value_comes_by_its_own_door_and_at_its_edges(
    tmp_path: Path, old: str, wrong: str, right: str
) -> None:
    assert told(tmp_path, old, wrong, BY_NAME)
    assert not told(tmp_path, old, right, BY_NAME)


def test_calls_at_edges_are_within_them_where_two_frameworks_refuse_otherwise() -> None:
    fields = {
        "n": {"type": "integer", "minimum": 1, "maximum": 9},
        "unit": {"type": "string", "enum": ["a", "b"]},
        "open": {"type": "string", "default": "x"},
    }
    schema = {"type": "object", "properties": fields, "required": ["n"]}
    schemas = DeclaredSchemas(tools={"t": (schema,)})

    every, taken = (
        {given for _, given in edge_calls(schemas, (), refused=refused)}
        for refused in (True, False)
    )

    assert taken < every
    assert {json.loads(each).get("n") for each in taken} == {1, 2, 8, 9}
    assert {json.loads(each).get("unit") for each in taken} == {"a", "b", None}
    assert all(fits(json.loads(each), schema) for each in taken)
    assert all(json.loads(each).keys() <= fields.keys() for each in taken)
