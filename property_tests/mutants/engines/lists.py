"""Patches that turn, cut or double the lists in which an engine holds its hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from property_tests.mutants.patching import Given, Patch, Right, patch

Found: TypeAlias = "list[Given]"  # hooks or layers, with whose they are
Change: TypeAlias = Callable[[Found], Found]


def hooks(change: Change, *names: str) -> Patch:
    """Change the handlers' hooks of these names."""

    def replaced(right: Right) -> Right:
        def with_hook(self: Given, hook: str) -> Found:
            found: Found = right(self, hook)
            return change(found) if hook in names else found

        return with_hook

    return patch("extensions.with_hook", replaced)


def handlers_layers(change: Change) -> Patch:
    """Change the layers of handlers around calls of tools, adapted ones too."""

    def replaced(right: Right) -> Right:
        def tool_layers(self: Given, kind: str, config: Given) -> Found:
            found: Found = right(self, kind, config)
            names = {each.name for each in self.handlers}
            own = [each for each in found if each.name.owner in names]
            return [*found[: len(found) - len(own)], *change(own)]

        return tool_layers

    return patch("extensions.tool_layers", replaced)


def turned(found: Found) -> Found:
    """Turn the list round."""
    return found[::-1]


def but_last(found: Found) -> Found:
    """Leave out the last one, unless it is alone."""
    return found[: max(len(found) - 1, 1)]


def factories(found: Iterable[Given]) -> Found:
    """Return the layers that factories make, which are those of structs."""
    return [each for each in found if each.factory is not None]


def wrappers(found: Iterable[Given]) -> Found:
    """Return the layers that are wrappers, which are those of handlers."""
    return [each for each in found if each.factory is None]
