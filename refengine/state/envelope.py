"""One record: a header line, a line of JSON. A file may hold many, one after another.

    refengine-checkpoint 1 {"writer":"refengine 0.1.0","codec":"json",
     "types":"0123456789abcdef","length":42,"sha256":"…"}     (one line)
    {"seq":0,…}

The digest is of all that stands before it in the header, and of the body. It finds what
was changed by accident; it is not a signature.

How large a record may be is asked of its bytes before anything is made of them. Texts
are taken out first, in one pass; what is left is brackets, commas and numbers, and
counting those takes time in proportion and little memory.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Final, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from refengine.state.errors import (
    BadCheckpointError,
    DamagedCheckpointError,
    ForeignFileError,
    NewerFormatError,
    OversizedCheckpointError,
    TooDeepError,
    TruncatedCheckpointError,
    UnknownCodecError,
)

_TEXT: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MANY_DIGITS: Final = re.compile(rb"[0-9]{32}")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_UP_AND_DOWN: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one record may have at most: bytes, levels of nesting, values.

    Depth leaves room for values of ``refengine.state.packing.MAX_DEPTH`` levels.
    """

    max_bytes: int = 64 * 2**20
    max_depth: int = 128
    max_items: int = 2_000_000


LIMITS: Final = Limits()
"""What is asked of a record if nothing else is said."""


def check_size(length: int, limits: Limits) -> None:
    """Raise OversizedCheckpointError if there are more bytes than allowed."""
    if length > limits.max_bytes:
        raise OversizedCheckpointError("bytes", length, limits.max_bytes)


def check_shape(body: bytes, limits: Limits) -> None:
    """Raise OversizedCheckpointError or TooDeepError if it is more than allowed."""
    bare = _TEXT.sub(b"", body)
    # Each value but the first stands after a comma or an opening bracket.
    items = 1 + bare.count(b",") + bare.count(b"[") + bare.count(b"{")
    if items > limits.max_items:
        raise OversizedCheckpointError("values", items, limits.max_items)
    if _MANY_DIGITS.search(bare):
        raise OversizedCheckpointError("or more digits in a number", 32, 31)
    steps = array("b", bare.translate(_UP_AND_DOWN, _NO_BRACKETS))
    depth = max(accumulate(steps), default=0)
    if depth > limits.max_depth:
        raise TooDeepError(limits.max_depth, depth)


def parsed(body: bytes, limits: Limits, where: str) -> object:
    """Return the JSON value of ASCII bytes, once they are within the limits.

    ``where`` is what an error calls it. Raises OversizedCheckpointError, TooDeepError,
    and BadCheckpointError for what is not JSON, or JSON that readers disagree about.
    """
    check_shape(body, limits)
    try:
        return _READER.decode(body.decode("ascii"))
    except RecursionError:
        raise TooDeepError(limits.max_depth) from None
    except ValueError as error:  # not ASCII and not JSON, too
        raise BadCheckpointError(where, f"is not JSON: {error}") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} stands in it")


_READER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_no_constant
)


MAGIC: Final = b"refengine-checkpoint "
FORMAT: Final = 1
"""The format that is written; this and all before it are read."""
CODEC: Final = "json"
MAX_HEADER: Final = 4096
_FORMAT: Final = re.compile(rb"[1-9][0-9]{0,8} ")
_DIGEST: Final = re.compile(rb',"sha256":"([0-9a-f]{64})"}\Z')


class Header(BaseModel):
    """What a record says of itself; ``types`` is the fingerprint of its registry."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        strict=True, extra="forbid", frozen=True
    )

    writer: str
    codec: str
    types: str
    length: int = Field(ge=0)


@dataclass(frozen=True, slots=True)
class Record:
    """One record that was opened: it is whole, and its body is as it was written."""

    format: int
    header: Header
    body: bytes


def sealed(body: bytes, fingerprint: str, writer: str) -> bytes:
    """Return the record of a body, which is one line of ASCII."""
    about = {
        "writer": writer,
        "codec": CODEC,
        "types": fingerprint,
        "length": len(body),
    }
    text = json.dumps(about, separators=(",", ":"))
    start = b"%s%d %s" % (MAGIC, FORMAT, text.removesuffix("}").encode("ascii"))
    digest = _digest(start, body).encode("ascii")
    return b'%s,"sha256":"%s"}\n%s\n' % (start, digest, body)


def opened(record: bytes, limits: Limits = LIMITS) -> Record:
    """Return what stands in one record.

    Raises ForeignFileError, NewerFormatError, TruncatedCheckpointError,
    OversizedCheckpointError, DamagedCheckpointError, UnknownCodecError, and
    BadCheckpointError if something stands after it.
    """
    found, end = _at(record, 0, limits)
    if end != len(record):
        why = f"has {len(record) - end} bytes after its end"
        raise BadCheckpointError("the record", why)
    return found


def read_records(data: bytes, limits: Limits = LIMITS) -> Iterator[bytes]:
    """Yield the records of a file one by one, each as ``opened`` takes it.

    Raises what ``opened`` does where it comes to a record that is not whole.
    """
    at = 0
    while at < len(data) or not at:
        _, end = _at(data, at, limits)
        yield data[at:end]
        at = end


def _at(data: bytes, at: int, limits: Limits) -> tuple[Record, int]:
    """Return the record that begins there, and where it ends."""
    line_end = data.find(b"\n", at, at + MAX_HEADER)
    line = data[at : at + MAX_HEADER if line_end < 0 else line_end]
    number = _format_of(line)
    if line_end < 0:
        if len(line) == MAX_HEADER:
            raise BadCheckpointError("the header", "does not end")
        raise TruncatedCheckpointError(len(data) - at)
    header, start, told = _header(line)
    check_size(header.length, limits)
    end = line_end + 1 + header.length
    if len(data) <= end:
        raise TruncatedCheckpointError(len(data) - at, end + 1 - at)
    body = data[line_end + 1 : end]
    digest = _digest(start, body)
    if digest != told or data[end : end + 1] != b"\n":
        raise DamagedCheckpointError(told, digest)
    if header.codec != CODEC:
        raise UnknownCodecError(header.codec)
    return Record(number, header, body), end + 1


def _format_of(line: bytes) -> int:
    """Return the format number, which is asked before anything else is read."""
    if not line.startswith(MAGIC):
        if MAGIC.startswith(line):
            raise TruncatedCheckpointError(len(line))
        raise ForeignFileError(line[: len(MAGIC)])
    rest = line[len(MAGIC) :]
    found = _FORMAT.match(rest)
    if found is None:
        if re.fullmatch(rb"(?:[1-9][0-9]{0,8})?", rest):
            raise TruncatedCheckpointError(len(line))
        raise BadCheckpointError("the header", "has no format number")
    number = int(found[0])
    if number > FORMAT:
        raise NewerFormatError(number, FORMAT)
    return number


def _header(line: bytes) -> tuple[Header, bytes, str]:
    """Return the header, the bytes of it that the digest is of, and the digest."""
    found = _DIGEST.search(line)
    if found is None:
        raise BadCheckpointError("the header", "has no digest at its end")
    start = line[: found.start()]
    about = start[len(MAGIC) :].partition(b" ")[2] + b"}"
    try:
        header = Header.model_validate(parsed(about, LIMITS, "the header"))
    except ValidationError as error:
        raise BadCheckpointError("the header", first_of(error)) from None
    return header, start, found[1].decode("ascii")


def first_of(error: ValidationError) -> str:
    """Return the first of what pydantic found, in one line of ASCII."""
    [*_, first] = error.errors(
        include_url=False, include_context=False, include_input=False
    )[:1]
    place = ".".join(map(str, first["loc"]))
    return ascii(f"{place}: {first['msg']}" if place else first["msg"])[1:-1]


def _digest(start: bytes, body: bytes) -> str:
    found = hashlib.sha256(start)
    found.update(b"\n")
    found.update(body)
    return found.hexdigest()
