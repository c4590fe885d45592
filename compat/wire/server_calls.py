"""Tool calls as a stream brings them: opened with id and name, then in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from refengine.messages import Json, ToolCallChunk

PIECE: Final = 5
"""Arguments of a whole call are streamed in pieces of so many characters."""


class StreamedCalls:
    """Counts the calls of one stream.

    A whole call of a script is cut as OpenAI cuts it. Pieces that a script itself has,
    with an index, are sent as they are; their index is only counted anew.
    """

    def __init__(self) -> None:
        self._opened = 0
        self._places: dict[int, int] = {}

    def shown(self, piece: ToolCallChunk) -> Iterator[dict[str, Json]]:
        """Yield what is sent for one piece."""
        if piece.index is None:
            yield from self._whole(piece)
        elif piece.index in self._places:
            yield _piece(self._places[piece.index], piece)
        else:
            place = self._places[piece.index] = self._next()
            yield _piece(place, piece) | {"type": "function"}

    def _whole(self, call: ToolCallChunk) -> Iterator[dict[str, Json]]:
        place = self._next()
        function: Json = {"name": call.name, "arguments": ""}
        opening: dict[str, Json] = {"index": place, "id": call.id}
        yield opening | {"type": "function", "function": function}
        for at in range(0, len(call.arguments), PIECE):
            yield _piece(
                place, ToolCallChunk(arguments=call.arguments[at : at + PIECE])
            )

    def _next(self) -> int:
        self._opened += 1
        return self._opened - 1


def _piece(place: int, piece: ToolCallChunk) -> dict[str, Json]:
    """Return a piece without what it does not bring."""
    named: dict[str, Json] = {"name": piece.name} if piece.name else {}
    shown: dict[str, Json] = {"index": place}
    shown |= {"id": piece.id} if piece.id else {}
    return shown | {"function": {**named, "arguments": piece.arguments}}
