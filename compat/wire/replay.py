"""Replaying a cassette by itself: its own requests, through our own transport.

It shows that the file can be played from its first exchange to its last, and what is in
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from compat.wire.errors import ChangedFileError, NoManifestError
from compat.wire.exchanges import pairs_of
from compat.wire.manifest import NAME, hash_of, read_manifest
from compat.wire.matching import recording_of
from compat.wire.transport import ReplayTransport
from refengine.testing.json_values import is_list, is_mapping

SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Replayed:
    """One exchange: what was asked, and in short what was answered."""

    method: str
    path: str
    status: int
    answer: str

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{self.method} {self.path}  {self.status}  {self.answer}"


def replay(path: Path) -> Iterator[Replayed]:
    """Send each request of a cassette through the transport that replays it.

    Raises a CassetteError if the file cannot be played, a PlayingError if it does not
    play as it stands, and ChangedFileError if a manifest beside it tells another file.
    """
    recording = recording_of(path)
    _check_manifest(path)
    transport = ReplayTransport(recording)
    with httpx2.Client(transport=transport, trust_env=False) as client:
        for exchange in recording.exchanges:
            request = exchange.request
            answer = client.request(
                request.method,
                request.url,
                content=request.body,
                headers=pairs_of(request.headers),
            )
            shown = _short(answer.headers.get("content-type", ""), answer.text)
            address = urlsplit(request.url).path
            yield Replayed(request.method, address, answer.status_code, shown)


def _check_manifest(path: Path) -> None:
    """Compare a file with its entry, if it has one: not each folder has a manifest."""
    try:
        entries = read_manifest(path.parent).cassette
    except NoManifestError:
        return
    for entry in entries:
        if entry.file == path.name and entry.sha256 != hash_of(path):
            raise ChangedFileError(NAME, path.name, "the hash differs")


def _short(kind: str, text: str) -> str:
    """Return what an answer says: its text, calls or error, else how long it is."""
    streamed = kind.startswith("text/event-stream")
    trees = list(_events(text)) if streamed else [_tree(text)]
    words = "".join(word for tree in trees for word in _words(tree))
    said = " ".join(words.split()) or f"{len(text)} characters of {kind or 'no type'}"
    said = said if len(said) <= SHOWN else f"{said[: SHOWN - 1]}…"
    return f"{len(trees)} events: {said}" if streamed else said


def _events(text: str) -> Iterator[Any]:
    for line in text.splitlines():
        field, _, data = line.partition(":")
        if field == "data" and data.strip() != "[DONE]":
            yield _tree(data)


def _tree(text: str) -> Any:  # noqa: ANN401  # what a file holds
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _words(tree: Any) -> Iterator[str]:  # noqa: ANN401  # what a file holds
    """Yield what an object or event of chat completions says."""
    if not is_mapping(tree):
        return
    error = tree.get("error")
    if is_mapping(error):
        yield str(error.get("message", ""))
    choices = tree.get("choices")
    for choice in choices if is_list(choices) else ():
        part = choice.get("message") or choice.get("delta")
        yield from _part(part) if is_mapping(part) else ()


def _part(part: Mapping[str, Any]) -> Iterator[str]:
    for key in ("content", "refusal"):
        if isinstance(part.get(key), str):
            yield part[key]
    for call in part.get("tool_calls") or ():
        # Arguments of parallel calls may come in turns, so a line could not hold them.
        function: Mapping[str, Any] = call.get("function") or {}
        if function.get("name"):
            yield f" [calls {function['name']}]"
