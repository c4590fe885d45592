"""Plugins: one set of hooks for every agent of a runner, called before any callback.

A plugin is a struct of functions, as the seed's are. A name that is not a hook is
refused when it is made, as a method that is never called is a common fault of plugins
written as classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, final

from compat.dialects.flow.hooks import (
    AfterModel,
    AfterTool,
    AgentHook,
    BeforeModel,
    BeforeTool,
    EventHook,
    OnModelError,
    OnToolError,
    RunHook,
    UserMessageHook,
)
from compat.dialects.flow.run_errors import (
    AgentFieldError,
    PluginCallbackError,
    PluginNameError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """Hooks under a name; those that are None do nothing."""

    name: str
    on_user_message: UserMessageHook | None = None
    before_run: RunHook | None = None
    after_run: RunHook | None = None
    on_event: EventHook | None = None
    before_agent: AgentHook | None = None
    after_agent: AgentHook | None = None
    before_model: BeforeModel | None = None
    after_model: AfterModel | None = None
    on_model_error: OnModelError | None = None
    before_tool: BeforeTool | None = None
    after_tool: AfterTool | None = None
    on_tool_error: OnToolError | None = None
    close: Callable[[], object] | None = None
    """is called by ``Runner.close()``"""

    def __post_init__(self) -> None:
        for each in fields(self)[1:]:
            given = getattr(self, each.name)
            if given is not None and not callable(given):
                owner = f"plugin {self.name}"
                raise AgentFieldError(owner, each.name, given, "a function or None")


@final
class Plugins:
    """The plugins of a runner, in the order in which they were registered."""

    __slots__ = ("_plugins", "_wraps")

    def __init__(self, plugins: Sequence[Plugin], *, wraps: bool = False) -> None:
        self._plugins = tuple(plugins)
        self._wraps = wraps
        seen: set[str] = set()
        for each in self._plugins:
            if each.name in seen:
                raise PluginNameError(each.name)
            seen.add(each.name)

    def __iter__(self) -> Iterator[Plugin]:
        return iter(self._plugins)

    def having(self, hook: str) -> Iterator[tuple[str, Any]]:
        """Yield name and function of each plugin that has this hook."""
        for each in self._plugins:
            function = getattr(each, hook)
            if function is not None:
                yield each.name, function

    def blamed(self, name: str, hook: str, error: Exception) -> Exception:
        """Return what leaves the run for an exception of a plugin's hook."""
        return PluginCallbackError(name, hook, error) if self._wraps else error
