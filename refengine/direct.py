"""How return-directly flags of handlers meet the configured ones (contract RD, §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from refengine.profile import Profile
from refengine.tools import ToolMeta


class DirectFlags:
    """The flags of one ``before_agent`` phase, by the profile's rule.

    Where flags are three-valued they stand on the tools. Other engines keep a map by
    name, which covers tools that are not there yet; flags on tools write into it.
    """

    def __init__(
        self, profile: Profile, configured: Mapping[str, bool], default: list[ToolMeta]
    ) -> None:
        self._rule = profile.return_directly
        self._by_name = self._rule in {"membership", "true_or_configured"}
        own = {
            m.name: m.return_directly for m in default if m.return_directly is not None
        }
        self._configured = {**configured, **own}

    def start(
        self, default: list[ToolMeta]
    ) -> tuple[list[ToolMeta], dict[str, bool] | None]:
        """Return tools and map as the first handler sees them; None for no map."""
        if not self._by_name:
            return list(default), None
        unset = [replace(meta, return_directly=None) for meta in default]
        return unset, dict(self._configured)

    def end(
        self, left: Sequence[ToolMeta], by_name: Mapping[str, bool] | None
    ) -> frozenset[str]:
        """Return the names that return directly, from what the handlers left."""
        if self._rule == "configured":
            return _true(self._configured)
        flags = {m.name: m.return_directly for m in left}
        if self._rule == "three_valued":
            return _true(
                {
                    name: self._configured.get(name, False) if flag is None else flag
                    for name, flag in flags.items()
                }
            )
        written = {name: flag for name, flag in flags.items() if flag is not None}
        final = {**(by_name or {}), **written}
        if self._rule == "membership":  # what stands in the map counts, true or false
            return frozenset(final or self._configured)
        return _true(final) or _true(self._configured)


def _true(flags: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(name for name, flag in flags.items() if flag)
