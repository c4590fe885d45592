"""Checkpoints that nobody wrote: changed bytes, forged bodies, bombs.

A body that is changed is sealed again, with a digest that fits: what is asked is what
the decoder does with data of somebody who knows the format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final, TypeAlias, cast

from refengine.state.envelope import opened, sealed
from refengine.state.kinds import BUILT_IN

Made: TypeAlias = Callable[[Random, Sequence[bytes]], bytes]
FORGED: Final = (
    "null",
    "true",
    "0",
    "-1",
    "9223372036854775808",
    "10000000000000000000000000",
    "1.0",
    "1e+308",
    '""',
    '"\\ud800"',
    "\"__import__('antigravity')\"",
    "[]",
    "{}",
    "[[]]",
    '["\\ud83d", "\\ude00"]',
    "[1, true, 1.0]",
    '{"$": 1}',
    '{"$$type": "set"}',
    '{"$type": "set"}',
    '{"$type": "antigravity", "$version": 1, "$data": null}',
    '{"$type": "this:s", "$version": 1, "$data": []}',
    '{"$type": "note", "$version": 2, "$data": {}}',
    '{"$type": "note", "$version": 0, "$data": {}}',
    '{"$type": "note", "$version": true, "$data": {}}',
    '{"$type": "note", "$version": 1, "$data": {"text": 1}}',
    '{"$type": "set", "$version": 1, "$data": [[]]}',
    '{"$type": "set", "$version": 1, "$data": [1, true]}',
    '{"$type": "decimal", "$version": 1, "$data": "sNaN"}',
    '{"$type": "decimal", "$version": 1, "$data": "1e99999999999999999999"}',
    '{"$type": "datetime", "$version": 1, "$data": ["0001-01-01", [[-9, 0, 0]], 0]}',
    '{"$type": "timedelta", "$version": 1, "$data": [1000000000000000000, 0, 0]}',
    '{"$type": "time", "$version": 1, "$data": ["25:00", null, 7]}',
    '{"$type": "set", "$version": 1, "$data": [], "more": 1}',
    '{"$type": ["set"], "$version": 1, "$data": []}',
)
"""What is put in the place of a value, as JSON."""
_KEYS: Final = ("$type", "$version", "$data", "$", "up", "seq", "extra", "role", "x")
_EDITS: Final = (
    (b":", b":NaN,"),
    (b":0", b":-Infinity"),
    (b":1", b":1e999"),
    (b":1", b":" + b"9" * 31),
    (b":1", b":" + b"9" * 5000),
    (b'{"', b'{"seq":0,"seq":0,"'),
    (b'"', b'"\\ud83d'),
    (b'"', b"\xff"),
    (b",", b",,"),
    (b"[", b"[" * 300),
    (b"}", b""),
)


def flipped(random: Random, records: Sequence[bytes]) -> bytes:
    """Return a record with one to eight other bytes."""
    data = bytearray(random.choice(records))
    for _ in range(random.randint(1, 8)):
        data[random.randrange(len(data))] = random.randrange(256)
    return bytes(data)


def cut(random: Random, records: Sequence[bytes]) -> bytes:
    """Return the beginning of a record."""
    data = random.choice(records)
    return data[: random.randrange(len(data))]


def moved(random: Random, records: Sequence[bytes]) -> bytes:
    """Return a record of which a part was taken out, or stands elsewhere."""
    data = random.choice(records)
    start, end = sorted(random.choices(range(len(data)), k=2))
    rest = data[:start] + data[end:]
    if random.random() < 0.5:
        return rest
    at = random.randint(0, len(rest))
    return rest[:at] + data[start:end] + rest[at:]


def swapped(random: Random, records: Sequence[bytes]) -> bytes:
    """Return the header of one record with the body of another, or both together."""
    one, other = random.choice(records), random.choice(records)
    header = one.partition(b"\n")[0]
    body = other.partition(b"\n")[2]
    return random.choice((header + b"\n" + body, one + other, header + one))


def headed(random: Random, records: Sequence[bytes]) -> bytes:
    """Return a record that says something else of itself."""
    header, line, body = random.choice(records).partition(b"\n")
    edits = (
        (b"checkpoint 1", b"checkpoint %d" % random.choice((0, 2, 99, 10**9))),
        (b'"json"', random.choice((b'"pickle"', b'"\\ud800"', b"null", b"[]"))),
        (b'"length":', b'"length":%d' % random.choice((0, 1, 10**6, 10**18))),
        (b'"writer"', b'"writer":"x","writer"'),
        (b'"types"', b'"kinds"'),
        (b"refengine", b"refEngine"),
        (b"{", b"[" * random.choice((1, 200))),
    )
    old, new = random.choice(edits)
    return header.replace(old, new, 1) + line + body


def edited(random: Random, records: Sequence[bytes]) -> bytes:
    """Return a record whose text was edited, with a digest that fits."""
    body = opened(random.choice(records)).body
    old, new = random.choice(_EDITS)
    offsets = [at for at in range(len(body)) if body.startswith(old, at)]
    if offsets:
        at = random.choice(offsets)
        body = body[:at] + new + body[at + len(old) :]
    return sealed(body, "0" * 16, "fuzz")


def forged(random: Random, records: Sequence[bytes]) -> bytes:
    """Return a record whose values were replaced, with a digest that fits."""
    tree: object = json.loads(opened(random.choice(records)).body)
    for _ in range(random.randint(1, 3)):
        _forged_in(random, tree)
    return resealed(tree)


def crossed(random: Random, records: Sequence[bytes]) -> bytes:
    """Return a record with a part of another one in it, and a digest that fits."""
    one: object = json.loads(opened(random.choice(records)).body)
    other: object = json.loads(opened(random.choice(records)).body)
    offset, key = random.choice(_offsets(one))
    part, inner = random.choice(_offsets(other))
    offset[key] = part[inner]
    return resealed(one)


def bomb(random: Random, _: Sequence[bytes]) -> bytes:
    """Return a record that is small to write and large to read."""
    n = random.choice((200, 20_000, 300_000))
    tag = json.dumps({"$type": random.choice(BUILT_IN).name, "$version": 1})[:-1]
    within = random.choice(
        (
            "[" * n + "]" * n,
            '{"a":' * n + "1" + "}" * n,
            f'{tag},"$data":' * n + "1" + "}" * n,
            "[" + "[]," * n + "[]]",
            "[" + "1," * n + "1]",
            "{" + ",".join(f'"{at}":0' for at in range(n)) + "}",
            '"' + "\\ud83d" * n + '"',
            '"' + "x" * n + '"',
            f'{tag},"$data":[' + ",".join(map(str, range(n))) + "]}",
            f'{tag},"$data":"' + "9" * n + '"}',
            "9" * n,
            "[" * n,
            '"' * n,
            "\\" * n,
        )
    )
    key = random.choice(("locals", "gone", "pending", "start", "seq", "x", "splice"))
    inside = f'{{"k":{within}}}' if random.random() < 0.5 else within
    point = '"point":{"phase":"end"}'
    body = f'{{"seq":0,"iteration":0,{point},"{key}":{inside}}}'
    return sealed(body.encode("ascii"), "0" * 16, "fuzz")


def chained(random: Random, _: Sequence[bytes]) -> bytes:
    """Return a record of many entries, each within one before it or one that is not."""
    n = random.choice((3, 100, 10_000))
    odd = random.choice((None, -1, 0, n, 2**63 - 1))
    entries: list[dict[str, object]] = [
        {"up": max(at - random.choice((1, 1, 1, 3)), 0), "hook": "h", "owner": "o"}
        for at in range(n)
    ]
    del entries[0]["up"]
    if odd is not None:
        entries[random.randrange(n)]["up"] = odd
    point = {"phase": "model", "entries": entries}
    return resealed({"seq": 0, "iteration": 0, "point": point})


WAYS: Final[Mapping[str, tuple[Made, int]]] = {
    "flipped": (flipped, 200),
    "cut": (cut, 50),
    "moved": (moved, 100),
    "swapped": (swapped, 30),
    "headed": (headed, 60),
    "edited": (edited, 130),
    "forged": (forged, 330),
    "crossed": (crossed, 95),
    "chained": (chained, 2),
    "bomb": (bomb, 3),
}
"""How an input is made, and how many of a thousand are made so."""


def resealed(tree: object) -> bytes:
    """Return the record of a body, whoever made it, with a digest that fits."""
    body = json.dumps(tree, separators=(",", ":")).encode("ascii")
    return sealed(body, "0" * 16, "fuzz")


def _forged_in(random: Random, tree: object) -> None:
    offset, key = random.choice(_offsets(tree))
    way = random.randrange(4)
    if way == 0 and type(key) is str:
        offset[random.choice(_KEYS)] = offset.pop(key)
    elif way == 1:
        del offset[key]
    elif way == 2:
        offset[key] = [offset[key]] * random.choice((2, 40))
    else:
        offset[key] = json.loads(random.choice(FORGED))


def _offsets(tree: object) -> list[tuple[Any, Any]]:
    """Return each container with each of its keys, of the whole tree."""
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            inner = cast("dict[str, object]", here)
            found += [(inner, key) for key in inner]
            waiting += inner.values()
        elif isinstance(here, list):
            items = cast("list[object]", here)
            found += [(items, at) for at in range(len(items))]
            waiting += items
    return found or [([tree], 0)]
