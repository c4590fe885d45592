"""The tool set between two handlers: normalised again only where it changed.

10,000 handlers that each add a tool would make normalising quadratic. Most handlers
leave what they got and append, so the part they left is compared (identical objects,
no names looked up) and only the rest is folded in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import is_

from refengine.tools import Tool, ToolMeta, as_meta, normalise


class ToolFold:
    """The normalised set so far.

    ``nulled`` tells that a handler put null in the place of the list and that nobody
    has put anything into it since.
    """

    __slots__ = ("_index", "_metas", "_one_entry", "nulled")

    def __init__(self, metas: Sequence[ToolMeta], *, one_entry: bool) -> None:
        self._metas = list(metas)
        self._one_entry = one_entry
        self.nulled = False
        self._index = {meta.name: at for at, meta in enumerate(metas)}

    def null(self) -> list[ToolMeta]:
        """Take null for the list; return the empty one that comes in its place."""
        self._metas, self._index, self.nulled = [], {}, True
        return []

    def update(
        self, left: Sequence[Tool | ToolMeta]
    ) -> tuple[list[ToolMeta], list[str]]:
        """Take what a handler left; return the new set and the names it removed.

        The list is a fresh one: a handler that kept the old list changes nothing.
        """
        self.nulled = self.nulled and not left
        known = len(self._metas)
        if len(left) >= known and all(map(is_, left, self._metas)):
            self._append([as_meta(each) for each in left[known:]])
            return list(self._metas), []
        metas = [as_meta(each) for each in left]
        self._metas = normalise(metas) if self._one_entry else metas
        before, self._index = (
            self._index,
            {meta.name: at for at, meta in enumerate(self._metas)},
        )
        return list(self._metas), sorted(before.keys() - self._index.keys())

    def _append(self, metas: Sequence[ToolMeta]) -> None:
        for meta in metas:
            at = self._index.get(meta.name)
            if at is None or not self._one_entry:
                self._index[meta.name] = len(self._metas)
                self._metas.append(meta)
            elif meta.return_directly is None:
                flag = self._metas[at].return_directly
                self._metas[at] = replace(meta, return_directly=flag)
            else:
                self._metas[at] = meta
