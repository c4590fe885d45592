"""Worlds for processors of a stream and for sessions with callbacks.

Both are told what happens while it happens, so these worlds have all that can come in
between: arguments of several calls in turns, tools that fail beside tools that do not,
streams that break off, cancelled runs, time that passes, sessions that come back in
another process. Worlds for extensions of our engine come as far as they fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, zip_longest
from typing import Any, Final

from refengine.messages import ToolCall
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import encoded, parse_message
from refengine.testing.scenario import Scenario
from refengine.testing.subject_worlds.graph_worlds import fitted
from refengine.testing.subject_worlds.kit import (
    CALLS,
    Data,
    Entry,
    Kit,
    answer,
    json_text,
    lengths,
    long_text,
)
from refengine.testing.subject_worlds.words import Words

RUNS: Final = 8
TEXTS: Final = 24
"""So many texts are results, and so many are answers."""
NUMBERS: Final = 30
MANY: Final = 400
"""No answer has more characters or chunks to reach a number."""
SECONDS: Final = 120
"""Numbers up to this one may be seconds."""
ROUNDS: Final = 5
ASKING: Final[tuple[object, ...]] = (True, False, 1, "true", None)
"""What a result may say of whether it asks for another round; one of them does."""
KEPT_OF_RUNS: Final = ("input", "continues", "steps", "cancel", "options")
SESSION, RESTART = "session", "restart"
"""Options of a run of sessions: which one goes on, and whether in another process."""
POINTS: Final = (
    ("model_request", 1),
    ("model_chunk", 1),
    ("model_chunk", 2),
    ("tool_start", 1),
    ("tool_start", 2),
    ("model_request", 2),
)
"""Where runs are cancelled: an entry of the trace, and the how manieth."""


def loop_worlds(
    words: Words,
    worlds: Iterable[tuple[str, object]],
    seed: int,
    *,
    follows: bool,
    limited: bool = False,
) -> Iterator[tuple[str, Data]]:
    """Yield worlds for processors, no two the same: these as they fit, and more.

    Only if OLD ``follows`` do results ask for another round: a form that knows no
    rounds was never used where they do. Nor does its caller say how many there may be,
    unless OLD is ``limited`` by its caller.
    """
    own = chain(_streamed(words, seed), _rounds(words, seed) if follows else ())
    return _each_once(chain(own, worlds), partial(loop_fitted, limited=limited))


def session_worlds(
    words: Words, worlds: Iterable[tuple[str, object]], seed: int
) -> Iterator[tuple[str, Data]]:
    """Yield worlds for sessions, no two the same: these as they fit, and more."""
    own = chain(_streamed(words, seed), _sessions(words, seed))
    return _each_once(chain(own, worlds), session_fitted)


def _each_once(
    worlds: Iterable[tuple[str, object]], fit: Callable[[object], Data]
) -> Iterator[tuple[str, Data]]:
    seen: set[str] = set()
    for family, world in worlds:
        made = fit(world)
        key = json.dumps(made, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield family, made


def loop_fitted(world: object, *, limited: bool = False) -> Data:
    """Return a world, as JSON, as far as a processor may have it."""
    made = _fitted(world)
    for run in made.get("runs", ()):
        if not limited:
            run.pop("steps", None)
        run.pop("options", None)
        run["input"] = _said(run.get("input", ()))
    return made


def session_fitted(world: object) -> Data:
    """Return a world, as JSON, as far as sessions may have it: with a text a run."""
    made = _fitted(world)
    for run in made.get("runs", ()):
        run.pop("steps", None)
        run["input"] = _said(run.get("input", ()))[-1:]
        given = run.pop("options", {})
        kept = {key: given[key] for key in (SESSION, RESTART) if key in given}
        if isinstance(kept.get(SESSION), str) and kept.get(RESTART, True) is True:
            run["options"] = kept
    return made


def fits_loop(world: Scenario, *, limited: bool = False) -> bool:
    """Tell whether a processor may have a world, after it was made smaller."""
    return _fits(world, partial(loop_fitted, limited=limited))


def fits_sessions(world: Scenario) -> bool:
    """Tell whether sessions may have a world, after it was made smaller."""
    return _fits(world, session_fitted)


def _fits(world: Scenario, fit: Callable[[object], Data]) -> bool:
    data = world.model_dump(mode="json", exclude_defaults=True)
    return bool(world.runs) and fit(data) == data


def _fitted(world: object) -> Data:
    given: Data = json.loads(json.dumps(world))
    script: list[Any] = given.get("model_script", [])
    pieces = {at: each for at, each in enumerate(script) if _in_pieces(each)}
    for at in pieces:
        script[at] = "assistant:"
    made = fitted(given, RUNS)
    for at, each in pieces.items():
        made["model_script"][at] = each
    for key in ("way", "after_build"):
        made.pop(key, None)
    agent = made["agent"]
    agent.pop("return_directly", None)
    if pieces and not agent.get("tools"):
        agent["tools"] = [{"name": "other"}]
    runs: Sequence[Data] = made.get("runs") or ()
    for at, run in enumerate(runs):
        for key in [each for each in run if each not in KEPT_OF_RUNS]:
            del run[key]
        if at == 0:
            run.pop("continues", None)
    return made


def _in_pieces(entry: Any) -> bool:  # noqa: ANN401  # an entry of a script
    """Tell whether an answer brings pieces of calls, which have a form of their own."""
    chunks: Sequence[str] = (
        entry.get("chunks", ()) if is_mapping(entry) else (str(entry),)
    )
    return any(each.startswith("{") for each in chunks)


def _said(texts: Sequence[str]) -> list[str]:
    """Return what was said before; the user is the last, and says something."""
    found = [t for t in texts if parse_message(t).role in {"user", "assistant"}]
    found = [t for t in found if not parse_message(t).tool_calls]
    last = parse_message(found[-1]) if found else None
    if last is None or last.role != "user":
        found.append("user:go")
    return found


# What is told while it happens


def _streamed(words: Words, seed: int) -> Iterator[tuple[str, Data]]:
    yield from _of_pieces(words, seed)
    yield from _of_results(words, seed)
    yield from _of_texts(words, seed)
    yield from _of_lengths(words, seed)
    yield from _of_failures(words, seed)
    yield from _cancelled(words, seed)
    yield from _of_time(words, seed)


def _world(kit: Kit, script: Sequence[Entry], tools: Sequence[Data], runs: int) -> Data:
    """Return a world of so many turns of one session."""
    turns: list[Data] = [{"input": [kit.user()]}]
    turns += [{"input": ["user:on"], "continues": True} for _ in range(runs - 1)]
    agent: Data = {"tools": [*tools]} if tools else {}
    return {"agent": agent, "model_script": [*script], "runs": turns}


def _tools(kit: Kit, **fields: object) -> list[Data]:
    return [
        {"name": name, "result": "<args>", **fields}
        for name in dict.fromkeys([*kit.words.some_names[:4], "other"])
    ]


def _piece(index: int, **fields: str) -> str:
    call = {"index": index, **{key: each for key, each in fields.items() if each}}
    return json_text({"tool_calls": [call]})


def in_turns(kit: Kit, text: str, calls: Sequence[ToolCall]) -> Data:
    """Return an answer whose calls come in pieces, those of one between another's."""
    heads = [_piece(at, id=call.id, name=call.name) for at, call in enumerate(calls)]
    cut = [kit.cut(call.arguments) for call in calls]
    rows = [
        [_piece(at, arguments=each) for each in pieces if each]
        for at, pieces in enumerate(cut)
    ]
    mixed = [each for row in zip_longest(*rows) for each in row if each is not None]
    said = [answer(each) for each in kit.cut(text) if each]
    return {"chunks": [*said, *heads, *mixed]}


def _of_pieces(words: Words, seed: int) -> Iterator[tuple[str, Data]]:
    for at in range(12):
        kit = Kit(words, f"{seed}/pieces/{at}")
        tools = _tools(kit)
        count = 1 + at % 4 if at < 10 else CALLS
        names = [kit.dice.pick(tools)["name"] for _ in range(count)]
        calls = [kit.call(each, _object(kit)) for each in names]
        text = "" if at % 3 == 0 else kit.text()
        script: list[Entry] = [in_turns(kit, text, calls), "assistant:done"]
        script += ["assistant:more"]
        yield "pieces", _world(kit, script, tools, 3)


def _object(kit: Kit) -> str:
    return json_text({kit.name(): kit.value(), "n": kit.dice.below(9)})


def _of_results(words: Words, seed: int) -> Iterator[tuple[str, Data]]:
    """Yield worlds in which tools give each text, beside one that fails."""
    kit = Kit(words, f"{seed}/results")
    some = [*dict.fromkeys([*kit.contents, "", '{"a": 1}', "not json"])][: 2 * TEXTS]
    for at in range(0, len(some), 4):
        texts = some[at : at + 4]
        named = kit.words.some_names[:3]
        tools: list[Data] = [
            {"name": f"{named[n % len(named)]}" if n < len(named) else f"give{n}",
             "result": encoded(text)}
            for n, text in enumerate(texts)
        ]  # fmt: skip
        fails: Data = {"name": "fails", "error": "boom"}
        calls = kit.calls([each["name"] for each in tools])
        both = [calls[0], kit.call("fails", "{}"), *calls[1:]]
        script: list[Entry] = [answer("so", calls), "assistant:done"]
        script += [answer("", both), "assistant:done"]
        yield "results", _world(kit, script, [*tools, fails], 4)
    unknown = [kit.call("missing", "{}"), kit.call(named_or(kit), "{}")]
    script = [answer("", unknown), "assistant:done"]
    yield "results", _world(kit, script, _tools(kit), 2)


def named_or(kit: Kit) -> str:
    """Return the first name that a subject's source has, or a neutral one."""
    return kit.words.some_names[0]


def _of_texts(words: Words, seed: int) -> Iterator[tuple[str, Data]]:
    """Yield worlds in which the model says each text, cut anywhere, and users too."""
    kit = Kit(words, f"{seed}/said")
    some = [*dict.fromkeys(kit.contents)][: 2 * TEXTS]
    for at in range(0, len(some), RUNS):
        texts = some[at : at + RUNS]
        script: list[Entry] = [kit.chunked(text) for text in texts]
        made = _world(kit, script, (), len(texts))
        for run, text in zip(made["runs"], texts[::-1], strict=True):
            run["input"] = [f"user:{encoded(text)}"]
            if at % 3 == 0:
                run.pop("continues", None)
        yield "texts", made


def _of_lengths(words: Words, seed: int) -> Iterator[tuple[str, Data]]:
    """Yield answers of as many characters, chunks, calls and turns as numbers say."""
    sizes = [*lengths(words, MANY)][:NUMBERS]
    for at in range(0, len(sizes), RUNS):
        kit = Kit(words, f"{seed}/sizes/{at}")
        some = sizes[at : at + RUNS]
        whole: list[Entry] = [kit.chunked(long_text(size)) for size in some]
        cut: list[Entry] = [{"chunks": ["assistant:a"] * max(1, n)} for n in some]
        yield "lengths", _world(kit, whole, (), len(some))
        yield "lengths", _world(kit, cut, (), len(some))
    for count in [each for each in sizes if 0 < each <= CALLS]:
        kit = Kit(words, f"{seed}/count/{count}")
        tools = _tools(kit)
        calls = kit.calls([tools[n % len(tools)]["name"] for n in range(count)])
        one_by_one = [answer("", [kit.call(tools[0]["name"])]) for _ in range(count)]
        script: list[Entry] = [answer("so", calls), "assistant:done"]
        yield "lengths", _world(kit, [*script, *one_by_one], tools, min(count + 2, 8))


def _of_failures(words: Words, seed: int) -> Iterator[tuple[str, Data]]:
    """Yield streams that break, models and tools that fail, and what follows them."""
    errors = [*words.errors[:3], "boom"]
    for at in range(6):
        kit = Kit(words, f"{seed}/broken/{at}")
        tools = _tools(kit)
        calls = [kit.call(each["name"], _object(kit)) for each in tools[:2]]
        whole: list[str] = in_turns(kit, kit.text() or "so far", calls)["chunks"]
        left = whole[: (at + 1) * len(whole) // 6] if at else whole[:0]
        broken: Data = {"chunks": left, "stream_error": errors[at % len(errors)]}
        good = {"chunks": whole}
        script: list[Entry] = [broken, "assistant:done", good, "assistant:x", broken]
        yield "broken streams", _world(kit, script, tools, 5)
    for at, error in enumerate(errors):
        kit = Kit(words, f"{seed}/fails/{at}")
        tools = _tools(kit)
        asks = answer("so", [kit.call(tools[0]["name"])])
        script = ["assistant:hi", {"error": error}, asks, {"error": error}]
        yield "failures", _world(kit, [*script, "assistant:done"], tools, 5)
        tools[0] |= {"error": error}
        calls = kit.calls([each["name"] for each in tools[:3]])
        script = [answer("so", calls), answer("", calls[:1]), "assistant:done"]
        yield "failures", _world(kit, script, tools, 4)


def _cancelled(words: Words, seed: int) -> Iterator[tuple[str, Data]]:
    for at, (when, nth) in enumerate(POINTS):
        kit = Kit(words, f"{seed}/cancelled/{at}")
        tools = _tools(kit, delay_ms=1000)
        calls = [kit.call(each["name"], _object(kit)) for each in tools[:2]]
        asks = in_turns(kit, "so far", calls)
        script: list[Entry] = [asks, "assistant:done", "assistant:hi there", asks]
        made = _world(kit, script, tools, 3)
        made["runs"][at % 2]["cancel"] = {"when": when, "nth": nth}
        yield "cancelled", made


def _of_time(words: Words, seed: int) -> Iterator[tuple[str, Data]]:
    """Yield tools and streams that take just less, or more, than numbers say."""
    seconds = [n for n in words.some_numbers if 0 < n <= SECONDS][:6]
    for at, some in enumerate(seconds):
        for by in (-500, 500):
            kit = Kit(words, f"{seed}/time/{at}/{by}")
            wait = max(1, some * 1000 + by)
            # All of them: a subject may keep the first from being executed at all.
            tools = _tools(kit, delay_ms=wait)
            calls = kit.calls([tools[0]["name"], tools[-1]["name"]])
            slow: Data = {"chunks": ["assistant:a", "assistant:b"], "chunk_ms": wait}
            script: list[Entry] = [answer("", calls), "assistant:done", slow]
            yield "time", _world(kit, script, tools, 4)


# Rounds, where OLD knows them


def asking(result: object, asks: object) -> str:
    """Return a result that says whether it asks for another round."""
    return json_text({"result": result, "requires_follow_up": asks})


def _rounds(words: Words, seed: int) -> Iterator[tuple[str, Data]]:
    """Yield rounds that follow one another because results ask for it."""
    for at in range(10):
        kit = Kit(words, f"{seed}/rounds/{at}")
        each_asks = at % 3 == 0  # so rounds are used up
        kinds = [each_asks or ASKING[(at + n) % len(ASKING)] for n in range(3)]
        values = [kit.text(), kit.dice.below(50), {"a": [1, None, 1.5]}]
        tools: list[Data] = [
            {"name": f"step{n}", "result": encoded(asking(values[n], kinds[n]))}
            for n in range(3)
        ]
        tools.append({"name": "fails", "error": "boom"})
        script: list[Entry] = []
        for n in range(1 + at % ROUNDS):
            names = [each["name"] for each in tools[n % 3 : 1 + n % 3 + at % 3]]
            calls = [kit.call(each, _object(kit)) for each in names]
            script.append(in_turns(kit, f"round {n} {kit.text()}", calls))
        made = _world(kit, [*script, "assistant:all done"], tools, 3)
        if at % 2:
            made["runs"][0]["steps"] = 1 + at % 4
        yield "rounds", made


# Sessions that come back


def _sessions(words: Words, seed: int) -> Iterator[tuple[str, Data]]:
    for at in range(10):
        kit = Kit(words, f"{seed}/sessions/{at}")
        tools = _tools(kit)
        script: list[Entry] = []
        for n in range(6):
            if kit.dice.chance(3):
                name = kit.dice.pick(tools)["name"]
                script.append(answer("", [kit.call(name, _object(kit))]))
            script.append(kit.said(kit.text() or f"answer {n}"))
        if at % 4 == 3:
            script.insert(2, {"error": "boom"})
        order = ("ab", "aba", "abab", "aab", "aaba")[at % 5] + "a"
        runs: list[Data] = [
            {"input": [kit.user()], "options": {SESSION: f"s-{name}"}} for name in order
        ]
        for n, run in enumerate(runs):
            if at % 3 and n and (n + at) % 2:  # of three worlds one has one process
                run["options"][RESTART] = True
        agent: Data = {"tools": tools}
        yield "sessions", {"agent": agent, "model_script": script, "runs": runs}
