"""What goes between a harness and a driver, held against docs/protocol.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from compat.drivers.connection import DriverProcess

By = Literal["harness", "driver"]
Frame = tuple[By, Mapping[str, Any]]
Methods = Mapping[str, Mapping[str, Any]]

PUBLISHED = Path(__file__).parents[1] / "docs" / "protocol.schema.json"
SCHEMA: Mapping[str, Any] = json.loads(PUBLISHED.read_text("utf-8"))
PARTS: Mapping[str, Mapping[str, Any]] = SCHEMA["$defs"]
METHODS: Methods = SCHEMA["methods"]
DIALECT_METHODS: Mapping[str, Methods] = {
    name: dialect["methods"] for name, dialect in SCHEMA["dialects"].items()
}
FAILURE = {"$ref": "#/$defs/FailureTold"}
NO_METHOD = "no_such_method"
"""What the self-test of drivers calls."""
OTHER: Mapping[By, By] = {"harness": "driver", "driver": "harness"}
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}


def is_of(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def broken(schema: Mapping[str, Any], value: Any, at: str) -> Iterator[str]:
    """Yield where a value is not what a schema says.

    Those words of JSON Schema are known that the published one has; another is a
    KeyError.
    """
    for word, said in schema.items():
        yield from WORDS[word](schema, said, value, at)


def of_type(_: object, said: Any, value: Any, at: str) -> Iterator[str]:
    names = [said] if isinstance(said, str) else said
    if not any(is_of(value, each) for each in names):
        yield f"{at}: {value!r} is of no type {said}"


def one_of(_: object, said: Any, value: Any, at: str) -> Iterator[str]:
    if value not in said:
        yield f"{at}: {value!r} is none of {said}"


def any_of(_: object, said: Any, value: Any, at: str) -> Iterator[str]:
    found = [[*broken(each, value, at)] for each in said]
    if all(found):
        yield from min(found, key=len)


def parts(schema: Mapping[str, Any], said: Any, value: Any, at: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{at}: there is no {name}"
        for name in said.keys() & value.keys():
            yield from broken(said[name], value[name], f"{at}.{name}")


def others(schema: Mapping[str, Any], said: Any, value: Any, at: str) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in value.keys() - known if isinstance(value, dict) else ():
        if said is False:
            yield f"{at}: nobody knows {name}"
        else:
            yield from broken(said, value[name], f"{at}.{name}")


WORDS: Mapping[str, Any] = {
    "type": of_type,
    "enum": one_of,
    "const": lambda schema, said, value, at: one_of(schema, [said], value, at),
    "anyOf": any_of,
    "properties": parts,
    "additionalProperties": others,
    "items": lambda _, said, value, at: (
        wrong
        for number, each in enumerate(value if isinstance(value, list) else ())
        for wrong in broken(said, each, f"{at}[{number}]")
    ),
    "$ref": lambda _, said, value, at: broken(
        PARTS[said.removeprefix("#/$defs/")], value, at
    ),
    **dict.fromkeys(("required", "description", "default"), lambda *_: ()),
}


class Traffic:
    """The frames of one connection, held against the methods of its dialect."""

    def __init__(self, methods: Methods = METHODS) -> None:
        self.methods = methods
        self.seen: set[tuple[str, str]] = set()
        """Who made which calls that were answered, or have no answer."""
        self.wrong: list[str] = []
        self.asked: dict[tuple[By, int], str] = {}

    def take(self, by: By, frame: Mapping[str, Any]) -> None:
        assert frame["jsonrpc"] == "2.0"
        if "method" not in frame:
            self._replied(OTHER[by], frame)
            return
        name = frame["method"]
        method = self.methods[name]
        assert by in method["by"], f"{by} calls {name}"
        self.hold(method["params"], frame["params"], name)
        if "id" in frame:
            self.asked[by, frame["id"]] = name
        else:
            assert method["result"] is None, f"{name} has a reply"
            self.seen.add((by, name))

    def _replied(self, by: By, frame: Mapping[str, Any]) -> None:
        name = self.asked.pop((by, frame["id"]))
        if "error" in frame:
            self.hold(FAILURE, frame["error"], f"the error of {name}")
        else:
            self.hold(self.methods[name]["result"], frame["result"], f"{name} gives")
            self.seen.add((by, name))

    def hold(self, schema: Mapping[str, Any], value: object, at: str) -> None:
        self.wrong += broken(schema, value, at)


def checked(
    frames: Iterable[Frame], methods: Methods = METHODS
) -> set[tuple[str, str]]:
    """Hold each frame against the schema; return which methods were replied to."""
    traffic = Traffic(methods)
    for by, frame in frames:
        traffic.take(by, frame)
    assert traffic.wrong == []
    assert traffic.asked == {}
    return traffic.seen


class Watch:
    """The traffic of every driver: who called what, and what was wrong with it.

    A driver that was there before is watched from its next call on.
    """

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()
        self.wrong: list[str] = []
        self._of: dict[DriverProcess, Traffic] = {}

    def take(self, driver: DriverProcess, by: By, frame: Mapping[str, Any]) -> None:
        if not hasattr(driver, "about") or frame.get("method") == NO_METHOD:
            return
        if driver not in self._of:
            self._of[driver] = self._traffic(driver)
        traffic = self._of[driver]
        if "method" in frame or (OTHER[by], frame["id"]) in traffic.asked:
            try:
                traffic.take(by, frame)
            except (AssertionError, KeyError) as error:
                self.wrong.append(f"{frame}: {error!r}")

    def _traffic(self, driver: DriverProcess) -> Traffic:
        methods = DIALECT_METHODS.get(driver.about["dialect"], METHODS)
        made = Traffic(methods)
        made.seen, made.wrong = self.seen, self.wrong
        said = METHODS["initialize"]["result"]
        made.hold(said, dict(driver.about), "initialize gives")
        self.seen.add(("harness", "initialize"))
        return made


@contextmanager
def watched() -> Iterator[set[tuple[str, str]]]:
    """Hold all that drivers are told and say against the schema, as it goes.

    Yields which methods were replied to.
    """
    watch = Watch()
    send, take = DriverProcess._send, DriverProcess._take

    def sending(driver: DriverProcess, frame: Mapping[str, Any]) -> None:
        told = json.loads(json.dumps({"jsonrpc": "2.0", **frame}))
        watch.take(driver, "harness", told)
        send(driver, frame)

    def taking(driver: DriverProcess, line: bytes) -> None:
        if driver.over is None:
            watch.take(driver, "driver", json.loads(line))
        take(driver, line)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DriverProcess, "_send", sending)
        patch.setattr(DriverProcess, "_take", taking)
        yield watch.seen
    assert watch.wrong == []
