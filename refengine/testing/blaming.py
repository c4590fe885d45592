"""Whose an error is: what an engine has to tell of it, and need not keep itself.

Inside a chain an exception travels as it is, so that ``except X`` of a wrapper further
out matches; what ends the run says whose it was (contract ERR). So it is noted where it
was raised, and named where it comes out:

    handlers = named_hooks(config.handlers)      # hooks, and who raised what
    wraps = named_wraps(config)                  # the same of tool wrappers of structs
    ...
    except Exception as error:
        blame(error, ToolError(call.name, call.id, error))
        raise

A run of ``door_agent`` ends with the error that was noted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from refengine.agent import ChatModelAgentConfig
from refengine.awaiting import settled
from refengine.errors import HookError, RefengineError, error
from refengine.extensions import as_hooks
from refengine.hooks import AnyHook, hooks_of
from refengine.tools import ToolMiddleware

AsyncHook: TypeAlias = Callable[..., Awaitable[Any]]
Wrap: TypeAlias = Callable[[AsyncHook], AsyncHook]
"""Returns what calls an endpoint of a tool, and acts around it."""

_NOTE: Final = "_refengine_blamed"


@error
class FrameworkError(RefengineError):
    """The framework itself raised: no hook, no model and no tool did."""

    cause: Exception
    says = "the framework raised {cause!t}: {cause}"


def blame(error: BaseException, named: Exception) -> None:
    """Note what a run ends with if this error ends it; the first note counts."""
    if not hasattr(error, _NOTE):
        setattr(error, _NOTE, named)


def blamed(error: Exception) -> Exception:
    """Return what was noted about an error, or the error itself.

    A group of errors, such as that of a TaskGroup, counts for its first one.
    """
    found: object = getattr(error, _NOTE, None)
    if isinstance(found, Exception):
        return found
    if isinstance(error, ExceptionGroup):
        group = cast("ExceptionGroup[Exception]", error)
        return blamed(group.exceptions[0])
    return error


def named_hooks(handlers: Sequence[object]) -> list[Mapping[str, AsyncHook]]:
    """Return the hooks of each handler by name, all async; what they raise is noted.

    Handlers of one name are told apart as ``name[i]``. Raises ConfigurationError for a
    handler that is none.
    """
    found = [hooks_of(each, set()) for each in handlers]
    often = Counter(name for name, _ in found)
    seen: Counter[str] = Counter()
    named: list[Mapping[str, AsyncHook]] = []
    for at, (name, hooks) in enumerate(found):
        shown = f"{name}[{seen[name]}]" if often[name] > 1 else name
        seen[name] += 1
        own = as_hooks(hooks)
        named.append({hook: _noting(shown, at, hook, own[hook]) for hook in own})
    return named


def named_wraps(config: ChatModelAgentConfig) -> list[Wrap]:
    """Return the wrappers of invokable tools that a configuration has, outermost first.

    Those of the tools configuration and then those of struct middlewares; they stand
    around what handlers wrap. Each is to be called once for every tool. What one raises
    is noted, also where it is called.
    """
    own = config.tools_config.tool_call_middlewares
    structs = [each.wrap_tool_call for each in config.middlewares]
    return [
        *_factories("tool_call_middlewares", "tool_call_middlewares", own),
        *_factories("middleware", "wrap_tool_call", structs),
    ]


def _factories(name: str, hook: str, wraps: Sequence[ToolMiddleware]) -> Iterator[Wrap]:
    for at, each in enumerate(wraps):
        make = each.invokable
        if make is not None:
            yield _noting_factory(f"{name}[{at}]", at, hook, make)


def _noting_factory(name: str, at: int, hook: str, make: Wrap) -> Wrap:
    def wrap(endpoint: AsyncHook) -> AsyncHook:
        try:
            return _noting(name, at, hook, make(endpoint))
        except Exception as error:
            blame(error, HookError(name, at, hook, error))
            raise

    return wrap


def as_async(hook: AnyHook) -> AsyncHook:
    """Return a hook as a coroutine function."""

    async def call(*arguments: object) -> Any:  # noqa: ANN401  # what that hook returns
        return await settled(hook(*arguments))

    return call


def _noting(name: str, at: int, hook: str, own: AnyHook) -> AsyncHook:
    call = as_async(own)

    async def noting(*arguments: Any) -> Any:  # noqa: ANN401  # of any hook
        try:
            return await call(*arguments)
        except Exception as error:
            of_call = getattr(arguments[1], "call_id", None) if arguments[1:] else None
            tool = arguments[1].name if of_call is not None else None
            where = {"tool": tool, "call_id": of_call}
            blame(error, HookError(name, at, hook, error, **where))
            raise

    return noting
