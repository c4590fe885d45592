"""A step as one record of bytes, and back (contract SER, §5).

What was written is read back equal, or one of the documented errors says why not; there
is no half of a step. Nothing is written that could not be read.
"""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError

import refengine
from refengine.checkpoint import Step
from refengine.errors import Refused
from refengine.state.decoding import Decoding
from refengine.state.encoding import Encoding
from refengine.state.envelope import opened, sealed
from refengine.state.errors import UnknownTypeError
from refengine.state.limits import LIMITS, Limits, check_shape, check_size, parsed
from refengine.state.values import Types


def encode_step(
    step: Step, types: Types, *, limits: Limits = LIMITS, writer: str | None = None
) -> bytes:
    """Return the record of a step; ``writer`` is who writes, this version if not given.

    Raises NotKeepableError for what could not be read back as it is, and
    OversizedCheckpointError or TooDeepError for what would not be read.
    """
    try:
        tree = Encoding(types).step(step)
    except Refused as refused:
        raise refused.at(None, None) from refused
    text = json.dumps(tree, separators=(",", ":"), allow_nan=False)
    body = text.encode("ascii")
    check_size(len(body), limits)
    check_shape(body, limits)
    return sealed(body, types.fingerprint, _this() if writer is None else writer)


def decode_step(record: bytes, types: Types, limits: Limits = LIMITS) -> Step:
    """Return the step of one record.

    Raises what ``opened`` does, OversizedCheckpointError, TooDeepError,
    BadCheckpointError, and for the values in it UnknownTypeError, DecodeError and
    BadTreeError; see ``refengine.state.errors``.
    """
    found = opened(record, limits)
    body = parsed(found.body, limits, "the body")
    try:
        return Decoding(types).step(body)
    except UnknownTypeError as error:
        if found.header.types != types.fingerprint:
            raise _other_types(error, found.header.writer) from None
        raise


def _this() -> str:
    """Return who writes: no version where refengine is on the path, not installed."""
    try:
        return f"refengine {refengine.__version__}"
    except PackageNotFoundError:
        return "refengine"


def _other_types(error: UnknownTypeError, writer: str) -> UnknownTypeError:
    hint = f" (it was written by {writer!a} with other types registered)"
    return UnknownTypeError(error.name, error.version, error.path, error.known, hint)
