"""Hooks of a row around one model call or one tool call, played in a whole run.

The model asks for the tool once and then answers; what was called is noted as rows have
it: ``p0.before`` for the hook of the first plugin, ``a1.after`` for the second callback
of the agent's list. Below is what a row expects of hooks, and when two tool calls came
to the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from compat.dialects.flow import (
    Content,
    Event,
    FlowProfile,
    FunctionCall,
    InMemorySessionService,
    LlmAgent,
    LlmRequest,
    LlmResponse,
    Part,
    Plugin,
    Runner,
    Tool,
    ToolContext,
    text_content,
)
from compat.dialects.flow.values import plain
from compat.observe.flow.notation import RowCallbacks, RowHook, RowPlugin
from refengine.testing.clock import run
from refengine.testing.json_values import is_list, is_mapping

Object: TypeAlias = Mapping[str, Any]
Made: TypeAlias = Callable[[Any], object]
"""Makes of what a row has what a hook of its kind gives."""

USER: Final = "u"
SESSION: Final = "s"
CALL: Final = "1"

_MODEL: Final[Mapping[str, str]] = MappingProxyType(
    {"before": "before_model", "after": "after_model", "on_error": "on_model_error"}
)
_TOOL: Final[Mapping[str, str]] = MappingProxyType(
    {"before": "before_tool", "after": "after_tool", "on_error": "on_tool_error"}
)


MISSING: Final = frozenset(("missing", "unknown"))


class RowHookError(Exception):
    """What a row makes a hook, a tool or a model raise."""


def is_missing(tool: object) -> bool:
    """Tell whether a row's model calls a tool that is not there."""
    if not is_mapping(tool):
        return tool is None
    return set(tool) <= MISSING and any(tool.values())


def _unless_missing(raw: object) -> object:
    return None if is_missing(raw) else raw


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Hooked(_Strict):
    plugins: list[RowPlugin] = Field(default_factory=list[RowPlugin])
    agent: RowCallbacks = Field(default_factory=RowCallbacks)


class _ModelCall(_Hooked):
    model: RowHook


class _ToolCall(_Hooked):
    """A call of a tool; null, or one that is ``missing``, is not there."""

    tool: Annotated[RowHook | None, BeforeValidator(_unless_missing)] = None
    name: str = "t"
    tools: list[str] = Field(default_factory=list[str])


class _Chain(_Strict):
    hook: Literal[
        "before_agent",
        "after_agent",
        "before_model",
        "after_model",
        "on_model_error",
    ]
    rets: list[str | None]


@dataclass(frozen=True, slots=True)
class _Played:
    """What came of a run: its events, who was called, and what it raised."""

    events: list[Event] = field(default_factory=list[Event])
    trace: list[str] = field(default_factory=list[str])
    errors: list[Exception] = field(default_factory=list[Exception])

    @property
    def error_text(self) -> str:
        """The text of what a hook, tool or model raised, whoever wrapped it."""
        error: BaseException = self.errors[0]
        while error.__cause__ is not None:
            error = error.__cause__
        return str(error)


class _Model:
    """Answers as the row says, having asked for the tool first where there is one."""

    name = "row"

    def __init__(self, says: Callable[[], LlmResponse], call: str = "") -> None:
        self._says, self._call = says, call

    async def generate(
        self, request: LlmRequest, *, stream: bool
    ) -> AsyncIterator[LlmResponse]:
        del request, stream
        asked, self._call = self._call, ""
        if asked:
            part = Part(call=FunctionCall(asked, id=CALL))
            yield LlmResponse(content=Content("model", (part,)))
        else:
            yield self._says()


def decided_model_call(given: Object, profile: FlowProfile) -> Any:  # noqa: ANN401  # any JSON value
    """Return the text or the error that a model call comes to, and who was called."""
    row, played = _ModelCall.model_validate(given), _Played()
    model = _Model(lambda: _told(row.model, played, "model", _response))
    agent = _agent(model, row, _MODEL, played, _response)
    _play(agent, _plugins(row, _MODEL, played, _response), profile, played)
    result = (
        {"error": played.error_text}
        if played.errors
        else {"text": _texts(played)[0] if played.events else None}
    )
    return {"result": result, "trace": played.trace}


def decided_tool_call(given: Object, profile: FlowProfile) -> Any:  # noqa: ANN401  # any JSON value
    """Return the response to a tool call, who was called, and whether the run failed.

    The response of a run that failed is its error, as rows have it.
    """
    row, played = _ToolCall.model_validate(given), _Played()
    tools = [_other_tool(each) for each in row.tools]
    if row.tool is not None:
        tools.append(_tool(row.name, row.tool, played))
    agent = _agent(_Model(_done, row.name), row, _TOOL, played, _as_it_is, tools)
    _play(agent, _plugins(row, _TOOL, played, _as_it_is), profile, played)
    if played.errors:
        response: Any = {"error": played.error_text}
        return {"response": response, "trace": played.trace, "raised": True}
    found = [each for event in played.events for each in event.responses]
    response = plain(found[0].response) if found else None
    return {"response": response, "trace": played.trace}


def decided_chain(given: Object, profile: FlowProfile) -> Any:  # noqa: ANN401  # any JSON value
    """Return the texts of a run's events, and how often each callback was called."""
    row, played = _Chain.model_validate(given), _Played()
    made = _content if row.hook.endswith("agent") else _response
    failing = row.hook == "on_model_error"
    says = RowHook(err="model") if failing else RowHook(ret="m")
    counts: Counter[int] = Counter()

    def callback(at: int, told: str | None) -> Callable[..., object]:
        def sync(*_: object) -> object:
            counts[at] += 1
            text = "" if told is None else told.removeprefix("async:")
            return made(text) if text else None

        async def waiting(*_: object) -> object:
            return sync()

        return waiting if told is not None and told.startswith("async:") else sync

    own: dict[str, Any] = {
        row.hook: [callback(at, told) for at, told in enumerate(row.rets)]
    }
    model = _Model(lambda: _told(says, played, "model", _response))
    _play(LlmAgent(name="cur", model=model, **own), [], profile, played)
    texts = [text for text in _texts(played) if text]
    return {"texts": texts, "calls": [counts[at] for at, _ in enumerate(row.rets)]}


def _agent(  # all that one agent of a row is made of
    model: _Model,
    row: _Hooked,
    names: Mapping[str, str],
    played: _Played,
    made: Made,
    tools: list[Tool] | None = None,
) -> LlmAgent:
    own: dict[str, Any] = {
        name: [
            _hook(each, played, f"a{at}.{short}", made)
            for at, each in enumerate(getattr(row.agent, short))
        ]
        for short, name in names.items()
    }
    return LlmAgent(name="cur", model=model, tools=tools or (), **own)


def _plugins(
    row: _Hooked, names: Mapping[str, str], played: _Played, made: Made
) -> list[Plugin]:
    found: list[Plugin] = []
    for at, each in enumerate(row.plugins):
        hooks: dict[str, Any] = {
            name: _hook(getattr(each, short), played, f"p{at}.{short}", made)
            for short, name in names.items()
            if getattr(each, short) is not None
        }
        found.append(Plugin(name=f"p{at}", **hooks))
    return found


def _hook(
    hook: RowHook, played: _Played, label: str, made: Made
) -> Callable[..., object]:
    """Return a hook; an error that it is given is the last of its arguments."""

    def call(*args: object) -> object:
        error = args[-1] if args and isinstance(args[-1], Exception) else None
        return _told(hook.given(error), played, label, made)

    return call


def _told(hook: RowHook, played: _Played, label: str, made: Made) -> Any:  # noqa: ANN401  # as the hook gives
    played.trace.append(label)
    if hook.err is not None:
        raise RowHookError(hook.err)
    return None if hook.ret is None else made(hook.ret)


def _tool(name: str, body: RowHook, played: _Played) -> Tool:
    def body_of_row(ctx: ToolContext, args: dict[str, Any]) -> object:
        del ctx, args
        return _told(body, played, "tool", _as_it_is)

    return Tool(name=name, run=body_of_row)


def _other_tool(name: str) -> Tool:
    return _tool(name, RowHook(ret={}), _Played())


def _play(
    agent: LlmAgent, plugins: list[Plugin], profile: FlowProfile, played: _Played
) -> None:
    try:
        run(_run(agent, plugins, profile, played))
    except Exception as error:  # noqa: BLE001  # whatever a hook of the row raised
        played.errors.append(error)


async def _run(
    agent: LlmAgent, plugins: list[Plugin], profile: FlowProfile, played: _Played
) -> None:
    sessions = InMemorySessionService()
    runner = Runner(agent, session_service=sessions, plugins=plugins, profile=profile)
    await sessions.create(runner.app, USER, SESSION)
    async for event in runner.run(USER, SESSION, "hi"):
        played.events.append(event)


def _texts(played: _Played) -> list[str]:
    return [each.content.text if each.content else "" for each in played.events]


def _content(told: object) -> Content:
    return text_content("model", str(told))


def _response(told: object) -> LlmResponse:
    return LlmResponse(content=_content(told))


def _done() -> LlmResponse:
    return _response("done")


def _as_it_is(told: object) -> object:
    return told


def same_tool_call(given: Object, seen: Any, wanted: Any) -> bool:  # noqa: ANN401  # any JSON value
    """Tell whether two tool calls came to the same.

    What a version says of a tool that is not there, in its own words, is not compared.
    """
    texts = _error_text(seen), _error_text(wanted)
    scripted = set(_errors(given))
    named = not is_missing(given.get("tool"))
    if named or None in texts or scripted.intersection(texts):
        return bool(seen == wanted)
    return bool({**seen, "response": None} == {**wanted, "response": None})


def _error_text(told: Object) -> str | None:
    """Return the text of a response that is an error, or of a piece of one."""
    response = told["response"]
    if not is_mapping(response) or len(response) != 1:
        return None
    text: object = response.get("error", response.get("error_contains"))
    return text if isinstance(text, str) else None


def _errors(raw: object) -> Iterator[str]:
    """Yield the texts of all errors that a row scripts."""
    if is_mapping(raw):
        yield from (str(each) for key, each in raw.items() if key == "err")
    for each in _inside(raw):
        yield from _errors(each)


def _inside(raw: object) -> Iterable[object]:
    if is_mapping(raw):
        return raw.values()
    return raw if is_list(raw) else ()


class _ExpectedTool(_Strict):
    response: Any
    trace: list[str]
    raised: bool = False


def expected_tool_call(expected: object) -> Any:  # noqa: ANN401  # any JSON value
    """Return what a row expects of a tool call, as it is decided."""
    row = _ExpectedTool.model_validate(expected)
    found = {"response": row.response, "trace": row.trace}
    return {**found, "raised": True} if row.raised else found


class _ExpectedModel(_Strict):
    result: dict[str, Any]
    trace: list[str]


def expected_model_call(expected: object) -> Any:  # noqa: ANN401  # any JSON value
    """Return what a row expects of a model call, as it is decided."""
    return _ExpectedModel.model_validate(expected).model_dump()


class _ExpectedChain(_Strict):
    texts: list[str]
    calls: list[int]


def expected_chain(expected: object) -> Any:  # noqa: ANN401  # any JSON value
    """Return what a row expects of a list of callbacks, as it is decided."""
    return _ExpectedChain.model_validate(expected).model_dump()
