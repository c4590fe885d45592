"""Writing a cassette: scrubbed, checked, and then all of it or nothing.

The file is vcrpy's version 1, and vcrpy reads it. Texts of several lines stand as such
and letters as they are, so that a change of a cassette can be read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any, Final

from compat.wire.cassette_files import VERSION, parsed
from compat.wire.cassette_text import Anything, library, loaded
from compat.wire.errors import (
    LeakError,
    RecordingError,
    check_absent,
    nothing_recorded,
)
from compat.wire.exchanges import Exchange, Headers
from compat.wire.scrubbing import Scrubber, credentials_of
from refengine.testing.json_values import is_list, is_mapping

_TEXT: Final = "tag:yaml.org,2002:str"
_HEAD: Final = f"version: {VERSION}\ninteractions:\n".encode()
_END: Final = b"\n...\n"
"""What YAML writes behind a text that ends with an empty line, if nothing follows."""
_APPENDED: Final = (".yaml", ".yml")


def write_cassette(
    path: Path, exchanges: Sequence[Exchange], scrubber: Scrubber
) -> None:
    """Scrub the exchanges and write them; YAML, or JSON if the name ends so.

    Raises RecordingError, and LeakError if a secret is left; nothing is written
    then. The folder is made if it is not there.
    """
    if not exchanges:
        raise nothing_recorded(path.name)
    data = scrubbed_file(path.name, exchanges, scrubber)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def scrubbed_file(
    name: str, exchanges: Sequence[Exchange], scrubber: Scrubber
) -> bytes:
    """Return the bytes of the file; raises LeakError."""
    tree = {
        "version": VERSION,
        "interactions": [_interaction(scrubber.exchange(each)) for each in exchanges],
    }
    data = _json(tree) if name.endswith(".json") else _yaml(tree)
    check_clean(name, data, scrubber)
    return data


class AppendedCassette:
    """A cassette that is written exchange by exchange, so that none waits for the end.

    Each is scrubbed and looked through before a byte of it is written; what a request
    was authorized with is a secret from then on. ``written`` counts exchanges.
    """

    def __init__(
        self,
        path: Path,
        *,
        secrets: Iterable[str] = (),
        fields: Iterable[str] = (),
        overwrite: bool = False,
    ) -> None:
        """Make no file yet.

        Raises RecordingError and ScrubbingError.
        """
        if path.suffix not in _APPENDED:
            raise RecordingError(
                f"{path.name!r} cannot grow while it is recorded:"
                " give a name that ends in .yaml"
            )
        check_absent(path, overwrite=overwrite)
        self.path = path
        self.written = 0
        self._fields = tuple(fields)
        self._secrets = frozenset(secrets)
        self._scrubber = Scrubber(self._secrets, fields=self._fields)

    def add(self, exchange: Exchange) -> None:
        """Write one exchange behind the others; raises ScrubbingError or OSError."""
        found = credentials_of(exchange.request) - self._secrets
        if found:
            self._secrets |= found
            self._scrubber = Scrubber(self._secrets, fields=self._fields)
        data = scrubbed_file(self.path.name, [exchange], self._scrubber)
        if self.written:
            data = data.removeprefix(_HEAD)
        if data.endswith(_END):
            data = data[: 1 - len(_END)]
        with self.path.open("ab" if self.written else "wb") as file:
            file.write(data)
        self.written += 1


def check_clean(name: str, data: bytes, scrubber: Scrubber) -> None:
    """Raise LeakError if the bytes of a cassette hold a secret.

    Three times: in the bytes, in each text that reading them gives, and by scrubbing
    what was read, which must change nothing. The last also sees into packed bodies,
    and streams that tell a secret in pieces.
    """
    if scrubber.knows(data.decode("utf-8", "replace")):
        raise LeakError(name, "the file")
    if any(map(scrubber.knows, _texts(loaded(data, name)))):
        raise LeakError(name, "a text of it")
    for number, exchange in enumerate(parsed(data, name).exchanges, 1):
        if scrubber.exchange(exchange) != exchange:
            raise LeakError(name, f"interaction {number}")


def _texts(tree: Anything) -> Iterator[str]:
    if is_mapping(tree):
        for key, value in tree.items():
            yield str(key)
            yield from _texts(value)
    elif is_list(tree):
        for each in tree:
            yield from _texts(each)
    elif isinstance(tree, bytes):
        yield tree.decode("latin-1")
    else:
        yield str(tree)


def _interaction(exchange: Exchange) -> dict[str, Any]:
    request, response = exchange.request, exchange.response
    after = {} if exchange.after is None else {"after": exchange.after}
    answered: dict[str, Any] = {
        "status": {"code": response.status, "message": response.reason},
        "headers": _lists(response.headers),
        "body": {"string": _body(response.body)},
    }
    return {
        "request": {
            "method": request.method,
            "uri": request.url,
            "headers": _lists(request.headers),
            "body": _body(request.body),
        },
        "response": answered | ({"url": response.url} if response.url else {}),
        **after,
    }


def _lists(headers: Headers) -> dict[str, list[str]]:
    return {name: list(values) for name, values in headers.items()}


def _body(body: bytes) -> str | bytes:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def _json(tree: Anything) -> bytes:
    return (json.dumps(tree, indent=1, ensure_ascii=False) + "\n").encode()


def _yaml(tree: Anything) -> bytes:
    yaml = library("yaml")
    # Not the quicker one of C, which writes each emoji as digits.
    dumper: Anything = type("CassetteDumper", (yaml.SafeDumper,), {})
    dumper.add_representer(str, _text)
    text = yaml.dump(
        tree, Dumper=dumper, allow_unicode=True, sort_keys=False, width=inf
    )
    return str(text).encode()


def _text(dumper: Anything, text: str) -> Anything:
    """Write several lines as they stand, where YAML can; it says so itself if not."""
    return dumper.represent_scalar(_TEXT, text, style="|" if "\n" in text else None)
