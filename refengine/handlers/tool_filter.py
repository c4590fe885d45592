"""Choosing tools by name, strictly."""

from __future__ import annotations

from collections.abc import Iterable

from refengine.context import Context
from refengine.errors import HandlerArgumentError, UnknownToolNameError
from refengine.hooks import AgentConfig


class ToolFilterHandler:
    """Keeps the tools that ``allow`` names, or all but those that ``deny`` names.

    A name that no tool has raises UnknownToolNameError from ``before_agent``: a filter
    with a misspelt name lets the tool through. It sees the tools that the handlers
    before it left, so it stands after those that add some.
    """

    __slots__ = ("_deny", "_names", "name")

    def __init__(
        self, *, allow: Iterable[str] | None = None, deny: Iterable[str] | None = None
    ) -> None:
        given = [names for names in (allow, deny) if names is not None]
        if len(given) != 1:
            wanted = "either allow= or deny="
            raise HandlerArgumentError("ToolFilterHandler", (allow, deny), wanted)
        self.name: str = "tool_filter"
        self._names = tool_names("ToolFilterHandler", given[0])
        self._deny = deny is not None

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave only the tools that may stay."""
        present = [meta.name for meta in config.tools]
        unknown = sorted(self._names.difference(present))
        if unknown:
            raise UnknownToolNameError(self.name, unknown, present)
        config.tools = [
            meta
            for meta in config.tools
            if (meta.name in self._names) is not self._deny
        ]
        return ctx


def tool_names(owner: str, given: Iterable[object]) -> frozenset[str]:
    """Return the tools' names that ``owner`` was given.

    Raises HandlerArgumentError if there is none, or something that is not a name. A
    single text is refused: its letters would be taken for names.
    """
    names = () if isinstance(given, str) else tuple(given)
    if not names or not all(isinstance(each, str) for each in names):
        wanted = "a list of tools' names"
        raise HandlerArgumentError(owner, names or given, wanted)
    return frozenset(map(str, names))
