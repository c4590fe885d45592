"""What a right store answers, step by step; and in what an answer is another one.

A call that was cut off, by a kill or by its cancellation, is done or not: what is read
next says which, and from then on it is so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from pydantic import JsonValue

from property_tests.stores.calls import StoreStep, record_of, shown

Outcome: TypeAlias = Mapping[str, Any]
FaultKind: TypeAlias = Literal[
    "answer", "row", "keys", "missing", "fields", "sorted", "type"
]
"""What is wrong: how a call ended, a row, a set of keys; how a key without records is
told, what a conflict tells, the order of keys, the type of what came back. The last
four are each one clause's."""

DONE: Final = {"done": None}
_BAD_KEYS: Final = {"bytes", "int", "no key"}
_BAD_RECORDS: Final = {"bytearray", "memoryview", "str", "None"}


@dataclass(frozen=True, slots=True)
class StoreFault:
    """An answer that no right store gives."""

    kind: FaultKind
    asked: str
    expected: JsonValue
    got: JsonValue


@dataclass(frozen=True, slots=True)
class CutOff:
    """A call that may have been done; ``later``: or may still be."""

    record: str | None
    """What it was to append; None for a delete."""
    later: bool = False


@dataclass(slots=True)
class ExpectedStore:
    """The rows that are kept, by key, and the calls that were cut off."""

    rows: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    cut: dict[str, CutOff] = field(default_factory=dict[str, CutOff])

    def have(self, key: str) -> int:
        """Return how many records are kept under a key."""
        return len(self.rows.get(key, ()))

    def take(self, step: StoreStep, outcome: Outcome) -> Iterator[StoreFault]:
        """Yield in what an outcome is wrong; know from here on what it did."""
        if "lost" in outcome:
            asked = "it comes back"
            yield StoreFault("answer", asked, "an answer", outcome["lost"])
            return
        match step.do:
            case "append" | "cancel":
                yield from self._append(step, outcome)
            case "read" | "spoil":
                yield from self._read(step, outcome)
            case "delete":
                yield from self._delete(step, outcome)
            case "keys":
                yield from self._keys(outcome)
            case "race":
                yield from self._race(step, outcome)
            case "doom":
                yield from self._doom(step, outcome)
            case _:
                if outcome != DONE:
                    yield _wrong("it is closed", DONE, outcome)

    def _append(self, step: StoreStep, outcome: Outcome) -> Iterator[StoreFault]:
        refusal = refused(step)
        if refusal:
            yield from _raised(f"it is refused with {refusal}", refusal, outcome)
            return
        record = shown(record_of(step.record, step.times))
        if outcome.get("cancelled"):
            self.cut[step.key] = CutOff(record, later=True)
            return
        have = self.have(step.key)
        cut = self.cut.get(step.key)
        if cut is not None and cut.record is not None:
            if outcome.get("error") == "CheckpointConflictError":
                self.rows.setdefault(step.key, []).append(cut.record)
                have += 1
            del self.cut[step.key]
        if step.seq == have:
            if outcome == DONE:
                self.rows.setdefault(step.key, []).append(record)
            else:
                yield _wrong("the number that follows is taken", DONE, outcome)
            return
        asked = f"number {step.seq} is refused: {have} records are kept there"
        yield from _raised(asked, "CheckpointConflictError", outcome)
        fields = outcome.get("fields", [])
        if fields and fields != [step.key, step.seq, have]:
            asked = "the error tells key, seq and have"
            yield StoreFault("fields", asked, [step.key, step.seq, have], fields)

    def _read(self, step: StoreStep, outcome: Outcome) -> Iterator[StoreFault]:
        if refused(step):
            yield from _raised("the key is refused", "StoreKeyError", outcome)
            return
        if "type" in outcome:
            asked = "what read returns is a sequence"
            yield StoreFault("type", asked, "a list, say", outcome["type"])
            return
        choices = [*self._choices(step.key)]
        found: list[str] | None = None
        if outcome.get("error") != "CheckpointNotFoundError":
            if step.do == "spoil" and outcome == DONE and choices[0]:
                return
            empty = not outcome.get("rows") and "lost" not in outcome
            if choices[0] is None and empty:
                asked = "a key without records is told"
                yield _missing(asked, outcome)
                return
            if "rows" not in outcome:
                asked = "the records of the key, or CheckpointNotFoundError"
                yield _wrong(asked, _row_of(choices[0]), outcome)
                return
            found = list(outcome["rows"])
        if found not in choices:
            yield self._wrong_row(choices, found)
            return
        self._settle(step.key, found)

    def _choices(self, key: str) -> Iterator[list[str] | None]:
        """Yield what a row may be: the row as it is kept, and with what was cut off."""
        row = self.rows.get(key) or None
        yield row
        cut = self.cut.get(key)
        if cut is not None:
            yield None if cut.record is None else [*(row or ()), cut.record]

    def _settle(self, key: str, found: list[str] | None) -> None:
        cut = self.cut.get(key)
        if cut is not None and not cut.later:
            del self.cut[key]
            self.rows.pop(key, None)
            if found:
                self.rows[key] = found

    def _wrong_row(
        self, choices: Sequence[list[str] | None], found: list[str] | None
    ) -> StoreFault:
        if found and any(each.endswith(", no bytes") for each in found):
            asked = "each record is bytes"
            return StoreFault("type", asked, _row_of(choices[0]), _row_of(found))
        asked = "all records of the key, in order, as they were given"
        if len(choices) > 1:
            asked += "; the call that was cut off, wholly done or not at all"
        return StoreFault("row", asked, _row_of(choices[0]), _row_of(found))

    def _delete(self, step: StoreStep, outcome: Outcome) -> Iterator[StoreFault]:
        if refused(step):
            yield from _raised("the key is refused", "StoreKeyError", outcome)
            return
        there = [each is not None for each in self._choices(step.key)]
        self.cut.pop(step.key, None)
        self.rows.pop(step.key, None)
        if outcome == DONE and True in there:
            return
        missing = "CheckpointNotFoundError"
        if outcome.get("error") == missing and False in there:
            return
        if there[0]:
            yield _wrong("the records are deleted", DONE, outcome)
        else:
            yield _missing("there is nothing to delete under that key", outcome)

    def _keys(self, outcome: Outcome) -> Iterator[StoreFault]:
        if "type" in outcome:
            asked = "what keys returns is a sequence"
            yield StoreFault("type", asked, "a list, say", outcome["type"])
            return
        sure = {key for key, row in self.rows.items() if row and key not in self.cut}
        perhaps = {*self.cut}
        if "keys" not in outcome:
            yield _wrong("the keys", sorted(sure), outcome)
            return
        found: list[str] = list(outcome["keys"])
        if not sure <= {*found} <= sure | perhaps or len({*found}) != len(found):
            asked = "each key that has records, once"
            yield StoreFault("keys", asked, _listed(sure), _listed(found))
        elif found != sorted(found):
            asked = "the keys by their code points"
            yield StoreFault("sorted", asked, _listed({*found}), _listed(found))

    def _race(self, step: StoreStep, outcome: Outcome) -> Iterator[StoreFault]:
        for (by, _), racer in zip(step.racers, outcome["racers"], strict=True):
            if racer.get("error"):
                asked = f"each append of {by} is taken once it has the number"
                yield StoreFault("answer", asked, "no error", _text(racer))
                return
        for key in dict.fromkeys(key for _, key in step.racers):
            yield from self._raced(key, step, outcome["racers"])

    def _raced(
        self, key: str, step: StoreStep, racers: Sequence[Outcome]
    ) -> Iterator[StoreFault]:
        mine = [
            each
            for (_, where), each in zip(step.racers, racers, strict=True)
            if where == key
        ]
        base = self.have(key)
        safe = sorted((seq, record) for each in mine for seq, record in each["safe"])
        numbers = [seq for seq, _ in safe]
        wanted = list(range(base, base + step.many * len(mine)))
        if numbers != wanted:
            asked = f"each number under {key!r} is taken once"
            yield StoreFault("row", asked, list(wanted), list(numbers))
            return
        row = [*self.rows.get(key, ()), *(record for _, record in safe)]
        self.rows[key] = row
        for each in mine:
            for read in each["reads"]:
                rows = read.get("rows")
                if rows is None or rows != row[: len(rows)]:
                    asked = "who reads meanwhile sees the first records, whole"
                    begin: JsonValue = [*row[: len(rows or ())]]
                    yield StoreFault("row", asked, begin, _row_of(rows))
                    return

    def _doom(self, step: StoreStep, outcome: Outcome) -> Iterator[StoreFault]:
        if "not grown" in outcome:
            asked = "an append makes one of its files() longer"
            yield StoreFault("answer", asked, "a longer file", outcome["not grown"])
            return
        if step.call == "delete":
            if self.have(step.key):
                self.cut[step.key] = CutOff(None)
            return
        row = self.rows.setdefault(step.key, [])
        row.extend(each["record"] for each in outcome["safe"])
        begun = outcome["begun"]
        if begun is not None:
            self.cut[step.key] = CutOff(begun["record"])


def refused(step: StoreStep) -> str:
    """Return the error by which what is given is refused, "" if it is not."""
    surrogate = any("\ud800" <= each <= "\udfff" for each in step.key)
    if step.kind in _BAD_KEYS or not step.key or surrogate:
        return "StoreKeyError"
    return "StoreRecordError" if step.kind in _BAD_RECORDS else ""


def _raised(asked: str, error: str, outcome: Outcome) -> Iterator[StoreFault]:
    if outcome.get("error") != error:
        yield StoreFault("answer", asked, error, _text(outcome))


def _missing(asked: str, outcome: Outcome) -> StoreFault:
    return StoreFault("missing", asked, "CheckpointNotFoundError", _text(outcome))


def _wrong(asked: str, expected: object, outcome: Outcome) -> StoreFault:
    return StoreFault("answer", asked, _text(expected), _text(outcome))


def _text(outcome: Any) -> JsonValue:  # noqa: ANN401  # outcome or expectation
    """Return what came of a call in words."""
    if outcome == DONE:
        return "it comes back"
    found: JsonValue = outcome if outcome is not None else "nothing"
    if isinstance(found, dict) and "error" in found:
        said = str(found.get("text", ""))
        return f"{found['error']}: {said}" if said else str(found["error"])
    return found


def _row_of(row: Sequence[str] | None) -> JsonValue:
    return "CheckpointNotFoundError" if row is None else list(row)


def _listed(keys: set[str] | list[str]) -> JsonValue:
    found: list[JsonValue] = [*(sorted(keys) if isinstance(keys, set) else keys)]
    return found
