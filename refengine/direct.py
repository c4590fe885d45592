"""How return-directly flags of handlers meet the configured ones (contract RD, §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from refengine.profile import Profile
from refengine.tools import ToolMeta


class DirectFlags:
    """The flags of one ``before_agent`` phase, by the profile's rule."""

    def __init__(
        self, profile: Profile, configured: Mapping[str, bool], default: list[ToolMeta]
    ) -> None:
        self._rule = profile.return_directly
        own = {
            m.name: m.return_directly for m in default if m.return_directly is not None
        }
        self._configured = {**configured, **own}
        self._known = {meta.name for meta in default}

    def start(self, default: list[ToolMeta]) -> list[ToolMeta]:
        """Return the entries as the first handler sees them."""
        if self._rule not in {"membership", "true_or_configured"}:
            return list(default)
        return [
            replace(meta, return_directly=self._configured.get(meta.name))
            for meta in default
        ]

    def end(self, left: Sequence[ToolMeta]) -> frozenset[str]:
        """Return the names that return directly."""
        configured = frozenset(n for n, value in self._configured.items() if value)
        if self._rule == "configured":
            return configured
        flags = {meta.name: self._flag(meta) for meta in left}
        if self._rule == "three_valued":
            return frozenset(name for name, flag in flags.items() if flag)
        if self._rule == "true_or_configured":
            return frozenset(n for n, flag in flags.items() if flag) or configured
        members = frozenset(n for n, flag in flags.items() if flag is not None)
        return members or frozenset(self._configured)

    def _flag(self, meta: ToolMeta) -> bool | None:
        unset = meta.return_directly is None
        three_valued = self._rule == "three_valued"
        if unset and (three_valued or meta.name not in self._known):
            return self._configured.get(meta.name)
        return meta.return_directly
