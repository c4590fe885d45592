"""Tools, what is known about them, and how sets of them merge (contract TOOL, RD)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias, runtime_checkable

from refengine.awaiting import is_async
from refengine.context import Context
from refengine.errors import NotAsyncError, NotAToolError, ToolKindError
from refengine.messages import NOTHING, Json, frozen_json
from refengine.stream import StreamReader

Options: TypeAlias = "Mapping[str, object]"
NO_OPTIONS: Final[Options] = MappingProxyType({})


def no_options() -> Options:
    """Return the one empty set of options."""
    return NO_OPTIONS


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """What the model is told about a tool; ``parameters`` is a JSON schema."""

    name: str
    description: str = ""
    parameters: Mapping[str, Json] = field(default=NOTHING, hash=False)

    def __post_init__(self) -> None:
        if self.parameters is not NOTHING:
            object.__setattr__(self, "parameters", frozen_json(self.parameters))


@runtime_checkable
class Tool(Protocol):
    """A tool has ``info`` and one or both of ``invoke`` and ``stream``.

    ``async invoke(ctx, arguments, options) -> str`` gives the whole result,
    ``async stream(ctx, arguments, options) -> StreamReader[str]`` gives it in pieces.
    """

    @property
    def info(self) -> ToolInfo:
        """What the model is told about it."""
        ...


@dataclass(frozen=True, slots=True)
class ToolMeta:
    """A tool in a set; ``return_directly`` unset leaves what the configuration says."""

    tool: Tool
    return_directly: bool | None = None

    @property
    def name(self) -> str:
        """The tool's name, by which sets merge."""
        return self.tool.info.name


@dataclass(slots=True)
class ToolCallInput:
    """What a tool wrapper is given and hands on; mutable, as in seed 001 §3.5.

    Arguments and options may be changed. Name and call id may be changed too, but
    redirect nothing (contract WRAP).
    """

    name: str
    arguments: str
    call_id: str
    call_options: Options = field(default_factory=no_options)


@dataclass(slots=True)
class ToolCallResult:
    """What an invoked tool call gave."""

    result: str


@dataclass(slots=True)
class StreamToolCallResult:
    """What a streamed tool call gives."""

    result: StreamReader[str]


Endpoint: TypeAlias = Callable[[Context, ToolCallInput], Awaitable[ToolCallResult]]
StreamEndpoint: TypeAlias = Callable[
    [Context, ToolCallInput], Awaitable[StreamToolCallResult]
]


@dataclass(frozen=True, slots=True)
class ToolMiddleware:
    """A pair of factories: each is given the inner endpoint and returns an outer one.

    A kind left None is not wrapped. How often a factory is called is a posture.
    """

    invokable: Callable[[Endpoint], Endpoint] | None = None
    streamable: Callable[[StreamEndpoint], StreamEndpoint] | None = None


@dataclass(frozen=True, slots=True)
class ToolsConfig:
    """The tools of an agent before any extension, and how calls are run.

    ``return_directly`` is by name and covers tools that extensions add.
    ``unknown_tools_handler(name, arguments)`` gives the result of a call to a tool that
    is not there; without it such a call ends the run. ``sequential`` runs the calls of
    one message one after the other.
    """

    tools: Sequence[Tool | ToolMeta] = ()
    return_directly: Mapping[str, bool] = field(default_factory=dict[str, bool])
    tool_call_middlewares: Sequence[ToolMiddleware] = ()
    unknown_tools_handler: Callable[[str, str], str] | None = None
    sequential: bool = False


def as_meta(tool: Tool | ToolMeta) -> ToolMeta:
    """Return the tool as an entry of a set.

    Raises NotAToolError; ToolKindError or NotAsyncError if it cannot be called.
    """
    meta = tool if isinstance(tool, ToolMeta) else ToolMeta(tool)
    if isinstance(meta.tool, type) or not isinstance(
        getattr(meta.tool, "info", None), ToolInfo
    ):
        raise NotAToolError(meta.tool)
    methods = {name: getattr(meta.tool, name, None) for name in ("invoke", "stream")}
    if not any(map(callable, methods.values())):
        raise ToolKindError(f"tool {meta.name!r}")
    for name, method in methods.items():
        if method is not None and not is_async(method):
            raise NotAsyncError(f"tool {meta.name}", name)
    return meta


def normalise(metas: Iterable[ToolMeta]) -> list[ToolMeta]:
    """Fold equal names: the last tool, the last *set* flag, at the first one's place.

    With ``merge`` this is the rule "last write wins" of seed 000 §3.1 made an algebra
    (contract TOOL): idempotent, with identity and associative.
    """
    folded: dict[str, ToolMeta] = {}
    for meta in metas:
        name = meta.name
        earlier = folded.get(name)
        if earlier is not None and meta.return_directly is None:
            folded[name] = replace(meta, return_directly=earlier.return_directly)
        else:
            folded[name] = meta
    return list(folded.values())


def merge(first: Sequence[ToolMeta], then: Sequence[ToolMeta]) -> list[ToolMeta]:
    """Merge two normalised sets, the second one writing last."""
    return normalise([*first, *then])
