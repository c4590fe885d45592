"""A step as one record of bytes, and back (contract SER, §5).

What was written is read back equal, or one of the documented errors says why not; there
is no half of a step. Nothing is written that could not be read: a content that is None,
say, or a number where a text belongs, is refused here. What is a default is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError
from typing import Final, TypeVar, get_args

import refengine
from refengine.errors import Refused
from refengine.events import AgentAction
from refengine.interrupts import Address, Pending
from refengine.messages import (
    NOTHING,
    Message,
    MessageChunk,
    Role,
    ToolCall,
    ToolCallChunk,
)
from refengine.resume.checkpoint import (
    GONE,
    Changes,
    Entry,
    Failure,
    Phase,
    Point,
    Splice,
    Start,
    Step,
)
from refengine.state.decoding import MOST, Decoding
from refengine.state.envelope import (
    LIMITS,
    Limits,
    check_shape,
    check_size,
    opened,
    parsed,
    sealed,
)
from refengine.state.errors import UnknownTypeError
from refengine.state.kinds import Tree, pieces, splits
from refengine.state.values import Types

Object = dict[str, Tree]
T = TypeVar("T")
ROLES: Final = frozenset(get_args(Role))
PHASES: Final = frozenset(get_args(Phase))


class Encoding:
    """Makes the body of one step; raises Refused with the path in it."""

    __slots__ = ("_types",)

    def __init__(self, types: Types) -> None:
        self._types = types

    def step(self, step: Step) -> Object:
        """Return the body of a record, as ``StepShape`` has it."""
        found: Object = {
            "seq": _whole(step.seq, "seq"),
            "iteration": _whole(step.iteration, "iteration"),
        }
        splice = self._splice(step.splice, "")
        _put(found, "splice", splice)
        found["point"] = self._point(step.point)
        kept = {key: each for key, each in step.locals.items() if each is not GONE}
        _put(found, "locals", self._values(kept, "locals"))
        gone = [key for key, each in step.locals.items() if each is GONE]
        _put(found, "gone", _each(gone, "gone", _text))
        _put(found, "pending", _each(step.pending, "pending", self._pending))
        if step.start is not None:
            found["start"] = _start(step.start)
        return found

    def _splice(self, splice: Splice, at: str) -> Object:
        found: Object = {}
        _put(found, "keep", _whole(splice.keep, f"{at}keep"))
        messages = _each(splice.messages, f"{at}messages", self._message)
        _put(found, "messages", messages)
        return found

    def _point(self, point: Point) -> Object:
        found: Object = {"phase": _one_of(PHASES, point.phase, "phase")}
        _put(found, "at", _whole(point.at, "at"))
        _put(found, "ctx", self._values(point.ctx, "ctx"))
        if point.sent is not None:
            found["sent"] = self._splice(point.sent, "sent.")
        _put(found, "entries", self._entries(point.entries))
        if point.attempt != 1:
            found["attempt"] = _whole(point.attempt, "attempt")
        if point.shown is not None:
            found["shown"] = _each(point.shown, "shown", _text)
        _put(found, "told", _each(point.told, "told", _whole))
        if point.answer is not None:
            found["answer"] = self._message(point.answer, "answer")
        _put_text(found, "status", point.status, "")
        _put(found, "used", _each(point.used, "used", _address))
        return found

    def _entries(self, roots: Iterable[Entry | None]) -> list[Tree]:
        """Return a tree of entries as a list, each after the one it is within.

        With a stack of its own, since an onion is deeper than Python's.
        """
        found: list[Tree] = []
        waiting: list[tuple[Entry | None, int | None]] = [
            (root, None) for root in reversed(tuple(roots))
        ]
        while waiting:
            entry, up = waiting.pop()
            place = len(found)
            if entry is None:
                found.append(None)
                continue
            found.append(self._entry(entry, up, f"entries[{place}]"))
            waiting += [(each, place) for each in reversed(entry.inner)]
        return found

    def _entry(self, entry: Entry, up: int | None, at: str) -> Object:
        found: Object = {} if up is None else {"up": up}
        found["hook"] = _text(entry.hook, f"{at}.hook")
        found["owner"] = _text(entry.owner, f"{at}.owner")
        _put(found, "done", _truth(entry.done, f"{at}.done"))
        _put_text(found, "text", entry.text, at)
        if entry.message is not None:
            found["message"] = self._message(entry.message, f"{at}.message")
        if entry.chunks is not None:
            found["chunks"] = _each(entry.chunks, f"{at}.chunks", self._chunk)
        if entry.failure is not None:
            found["failure"] = _failure(entry.failure, at)
        _put(found, "answers", _each(entry.answers, f"{at}.answers", self._value))
        _put(found, "asked", _each(entry.asked, f"{at}.asked", self._value))
        if entry.waiting is not None:
            found["waiting"] = self._pending(entry.waiting, f"{at}.waiting")
        if entry.action is not None:
            found["action"] = self._action(entry.action, f"{at}.action")
        if entry.changes is not None:
            found["changes"] = self._changes(entry.changes, f"{at}.changes")
        return found

    def _changes(self, changes: Changes, at: str) -> Object:
        found: Object = {}
        for key in ("name", "arguments", "call_id", "taken"):
            _put_text(found, key, getattr(changes, key), at)
        if changes.ignored is not None:
            found["ignored"] = _each(changes.ignored, f"{at}.ignored", _text)
        if changes.action is not None:
            found["action"] = self._action(changes.action, f"{at}.action")
        return found

    def _action(self, action: AgentAction, at: str) -> Object:
        found: Object = {}
        _put(found, "exit", _truth(action.exit, f"{at}.exit"))
        _put_text(found, "transfer_to", action.transfer_to, at)
        _put(found, "break_loop", _truth(action.break_loop, f"{at}.break_loop"))
        delta = self._values(action.state_delta, f"{at}.state_delta")
        _put(found, "state_delta", delta)
        return found

    def _message(self, message: Message, at: str) -> Object:
        found: Object = {"role": _one_of(ROLES, message.role, f"{at}.role")}
        if message.content != "":
            found["content"] = _text(message.content, f"{at}.content")
        if message.tool_calls:
            found["calls"] = _each(message.tool_calls, f"{at}.tool_calls", _call)
        _put_text(found, "call_id", message.tool_call_id, at)
        self._rest(found, message, at)
        return found

    def _chunk(self, chunk: str | MessageChunk, at: str) -> Tree:
        if not isinstance(chunk, MessageChunk):
            return _text(chunk, at)
        found: Object = {}
        if chunk.content != "":
            found["content"] = _text(chunk.content, f"{at}.content")
        if chunk.tool_calls:
            found["calls"] = _each(chunk.tool_calls, f"{at}.tool_calls", _piece)
        self._rest(found, chunk, at)
        return found

    def _rest(self, found: Object, message: Message | MessageChunk, at: str) -> None:
        _put_text(found, "name", message.name, at)
        _put_text(found, "id", message.id, at)
        if message.extra is not NOTHING:
            extra = self._types.pack_extra(message.extra, at=f"{at}.extra")
            _put(found, "extra", extra)

    def _pending(self, pending: Pending, at: str) -> Object:
        found: Object = {"address": _address(pending.address, f"{at}.address")}
        if pending.payload is not None:
            found["payload"] = self._value(pending.payload, f"{at}.payload")
        return found

    def _value(self, value: object, at: str) -> Tree:
        return self._types.pack(value, at=at)

    def _values(self, values: Mapping[str, object], at: str) -> Object:
        found: Object = {}
        for key, each in values.items():
            if type(key) is not str or splits(key):
                advice = "keys are exactly str, with no character cut in halves"
                raise Refused(f"{at}[{key!r}]", type(key).__name__, advice)
            found[key] = self._value(each, f"{at}[{key!r}]")
        return found


def _put(found: Object, key: str, value: Tree) -> None:
    if value:
        found[key] = value


def _put_text(found: Object, key: str, value: str | None, at: str) -> None:
    if value is not None:
        found[key] = _text(value, f"{at}.{key}")


def _each(values: Iterable[T], at: str, form: Callable[[T, str], Tree]) -> list[Tree]:
    return [form(each, f"{at}[{place}]") for place, each in enumerate(values)]


def _text(value: object, at: str) -> Tree:
    if type(value) is not str:
        raise Refused(at, type(value).__name__, "a text stands there: give a str")
    return [*pieces(value)] if splits(value) else value


def _whole(value: object, at: str) -> int:
    if type(value) is not int or not 0 <= value <= MOST:
        advice = "a whole number of 64 bit stands there, from 0"
        raise Refused(at, type(value).__name__, advice)
    return value


def _truth(value: object, at: str) -> bool:
    if type(value) is not bool:
        raise Refused(at, type(value).__name__, "True or False stands there")
    return value


def _one_of(known: frozenset[str], value: str, at: str) -> str:
    if type(value) is not str or value not in known:
        raise Refused(at, type(value).__name__, f"give one of {sorted(known)}")
    return value


def _call(call: ToolCall, at: str) -> Object:
    parts = {"id": call.id, "name": call.name, "arguments": call.arguments}
    return {
        key: _text(each, f"{at}.{key}") for key, each in parts.items() if each != ""
    }


def _piece(piece: ToolCallChunk, at: str) -> Object:
    found: Object = {}
    if piece.index is not None:
        if type(piece.index) is not int or not -MOST <= piece.index <= MOST:
            kind = type(piece.index).__name__
            raise Refused(f"{at}.index", kind, "a whole number stands there")
        found["index"] = piece.index
    call = ToolCall(piece.id, piece.name, piece.arguments)
    return found | _call(call, at)


def _address(address: Address, at: str) -> Object:
    found: Object = {
        "path": _each(address.run_path, f"{at}.run_path", _text),
        "iteration": _whole(address.iteration, f"{at}.iteration"),
        "hook": _text(address.hook, f"{at}.hook"),
        "owner": _text(address.owner, f"{at}.owner"),
    }
    _put_text(found, "tool", address.tool, at)
    _put_text(found, "call_id", address.call_id, at)
    if address.ordinal != 1:
        found["ordinal"] = _whole(address.ordinal, f"{at}.ordinal")
    return found


def _failure(failure: Failure, at: str) -> Object:
    # The tool or model itself is layer -1.
    layer = _whole(failure.layer + 1, f"{at}.failure.layer") - 1
    kind = _text(failure.kind, f"{at}.failure.kind")
    found: Object = {
        "kind": kind,
        "text": _text(failure.text, f"{at}.failure.text"),
        "layer": layer,
    }
    _put_text(found, "base", failure.base, f"{at}.failure")
    return found


def _start(start: Start) -> Object:
    return {
        "agent": _text(start.agent, "start.agent"),
        "profile": _text(start.profile, "start.profile"),
        "streaming": _truth(start.streaming, "start.streaming"),
        "given": _whole(start.given, "start.given"),
        "has_first": _truth(start.has_first, "start.has_first"),
    }


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
