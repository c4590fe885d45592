"""Engines that are wrong about where errors go (ERR)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Right,
    broken,
    patch,
)
from refengine.chain import INNERMOST


def _of_the_tool(right: Right) -> Right:
    async def drain(self: Given) -> Given:
        try:
            return await right(self)
        except Exception as error:
            self.scope.faults = {id(error): (error, INNERMOST)}
            raise

    return drain


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "broken-stream-is-the-tools",
        "What a wrapper raised in a stream is told as an error of the tool.",
        "ERR-023",
        patch("stream.drain", _of_the_tool),
    ),
)
