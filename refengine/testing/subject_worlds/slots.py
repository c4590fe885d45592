"""Slots of a world: the places where a search puts amounts and texts.

A slot is given a world and an amount, and returns the world with so much in that place:
characters of a message, messages of a history, calls in a row, turns of a thread. What
a subject compares moves with one of them, so two amounts tell which, and how fast. A
great length stands in one place of a short world, since it is written down with every
request that holds it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, cast

from refengine.messages import ToolCall
from refengine.testing.notation import encoded, parse_message, show_message
from refengine.testing.subject_worlds.kit import (
    Data,
    Entry,
    answer,
    given_by_name,
    json_text,
)

Put = Callable[[Data, float], "Data | None"]
PutText = Callable[[Data, str], "Data | None"]

LONG: Final = 12_000
"""A world with a longer text has one run, in which it is written down twice."""
LARGEST: Final = 1_100_000
"""No text is made longer."""
NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
WORD: Final = "w"


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for an amount: ``put`` returns None where the world has no such place.

    ``first`` are the two amounts that tell what moves with it, ``most`` the largest.
    """

    name: str
    put: Put
    first: tuple[float, float]
    most: float
    whole: bool = True

    def filled(self, world: Data, amount: float) -> Data | None:
        """Return a world with this amount, in the limits of the slot."""
        if not 0 <= amount <= self.most:
            return None
        made: Data = json.loads(json.dumps(world))
        return self.put(made, int(amount) if self.whole else amount)


def padded(text: str, length: int) -> str:
    """Return a text that begins as this one and has so many characters."""
    return (text + "x" * (length - len(text)))[:length]


def worded(text: str, count: int) -> str:
    """Return a text of so many words that begins as this one."""
    words = text.split()
    return " ".join([*words, *[WORD] * (count - len(words))][:count])


# Messages


def _user(world: Data, change: Callable[[str], str], role: str = "user") -> Data | None:
    """Change the last message of a role in the first run."""
    for run in world["runs"][:1]:
        texts = run.get("input", [])
        for at in range(len(texts) - 1, -1, -1):
            if texts[at].startswith(f"{role}:"):
                said = texts[at].removeprefix(f"{role}:")
                texts[at] = f"{role}:{encoded(change(said))}"
                return world
    return None


def _user_number(world: Data, amount: float) -> Data | None:
    return _user(world, lambda text: numbered(text, amount))


def numbered(text: str, amount: float) -> str:
    """Return a text with this number in the place of its first, or at its end."""
    shown = f"{amount:g}" if amount != int(amount) else str(int(amount))
    if NUMBER.search(text):
        return NUMBER.sub(shown, text, count=1)
    return f"{text} {shown}"


def _history_text(world: Data, amount: float) -> Data | None:
    said = [f"user:{padded('h', int(amount))}", "assistant:h1"]
    return _before(_short(world, amount), said)


def _history_calls(world: Data, amount: float) -> Data | None:
    """Put exchanges with calls into the history: of one tool, each with its result."""
    found = _first_call(world)
    if found is None:
        return None
    said: list[str] = ["user:h"]
    for at in range(int(amount)):
        call = ToolCall(f"h{at}", found[1].name, json_text({"q": at}))
        said += [answer("", [call]), f"tool(h{at}):r{at}"]
    return _before(world, [*said, "assistant:h1"])


def _history_answer(world: Data, amount: float) -> Data | None:
    """Put an exchange into the history whose answer says a lot beside its calls.

    Three words for each that is asked for, so that the next amount above an edge is
    above it without the message before, too: who forgets the oldest messages until the
    others fit has then to forget results with their calls.
    """
    found = _first_call(world)
    if found is None:
        return None
    ids = [f"h{at}" for at in range(3)]
    calls = [ToolCall(each, found[1].name, json_text({"q": each})) for each in ids]
    said = ["user:h", answer(worded("h", 3 * int(amount)), calls)]
    said += [f"tool({each}):r" for each in ids]
    return _before(_short(world, 6 * amount), [*said, "assistant:h1"])


def _before(world: Data, said: Sequence[str]) -> Data | None:
    if not world["runs"]:
        return None
    first = world["runs"][0]
    first["input"] = [*said, *first.get("input", [])]
    return world


def _user_says(world: Data, text: str) -> Data | None:
    return _user(world, lambda _: text)


def _instructed(world: Data, text: str) -> Data | None:
    if "agent" not in world:
        return None
    world["agent"]["instruction"] = encoded(text)
    return world


def said_last(world: Data, text: str) -> Data | None:
    """Let each answer without calls be this one."""
    script = world.get("model_script", [])
    plain = [at for at, each in enumerate(script) if _is_plain(each)]
    for at in plain:
        script[at] = answer(text)
    return world if plain else None


def _is_plain(entry: Entry) -> bool:
    if not isinstance(entry, str):
        return False
    return entry.startswith("assistant:") and not parse_message(entry).tool_calls


# Tools


def _by_turns(nth: int) -> str:
    return f"{'assistant' if nth % 2 else 'user'}:h{nth}"


def _in_words(count: int) -> str:
    return worded("r", count)


def _lines(count: int) -> str:
    return "\n".join(f"r{at}" for at in range(count))


def _result_number(world: Data, amount: float) -> Data | None:
    return given_back(world, numbered("r", amount))


def given_back(world: Data, text: str) -> Data | None:
    """Let each tool of the world give this back."""
    tools = world.get("agent", {}).get("tools", [])
    for tool in tools:
        tool.pop("chunks", None)
        tool["result"] = encoded(text)
    return world if tools else None


def _delay(world: Data, amount: float) -> Data | None:
    tools = world.get("agent", {}).get("tools", [])
    for tool in tools:
        tool["delay_ms"] = int(amount)
    return world if tools else None


def _failing_tool(world: Data, amount: float) -> Data | None:
    """Let tools fail so often, and be asked once more than that."""
    tools = world.get("agent", {}).get("tools", [])
    for tool in tools:
        tool["body"] = [
            {"op": "error", "text": "boom", "on_call": nth + 1}
            for nth in range(int(amount))
        ]
    return _repeated(world, amount + 1, _varied) if tools else None


def _failing_model(world: Data, amount: float) -> Data | None:
    script = world.get("model_script", [])
    world["model_script"] = [{"error": "boom"}] * int(amount) + script
    return world


# Calls


def _first_call(world: Data) -> tuple[int, ToolCall] | None:
    for at, entry in enumerate(world.get("model_script", [])):
        if isinstance(entry, str):
            for call in parse_message(entry).tool_calls:
                return at, call
    return None


def _repeated(
    world: Data, amount: float, given: Callable[[ToolCall, int], str]
) -> Data | None:
    """Put so many calls in a row in the place of the first."""
    found = _first_call(world)
    if found is None:
        return None
    at, call = found
    row = [
        answer("", [replace(call, id=f"n{n}", arguments=given(call, n))])
        for n in range(int(amount))
    ]
    world["model_script"][at : at + 1] = row
    return world


def _calls_of_two(world: Data, amount: float) -> Data | None:
    """Put calls of two tools in a row that have the same arguments."""
    found = _first_call(world)
    names = [each["name"] for each in world.get("agent", {}).get("tools", [])]
    others = [name for name in names if found is not None and name != found[1].name]
    if found is None or not others:
        return None
    at, call = found
    world["model_script"][at : at + 1] = [
        answer("", [replace(call, id=f"n{n}", name=(call.name, others[0])[n % 2])])
        for n in range(int(amount))
    ]
    return world


def _calls_at_once(world: Data, amount: float) -> Data | None:
    found = _first_call(world)
    if found is None:
        return None
    at, call = found
    calls = [
        replace(call, id=f"n{n}", arguments=_varied(call, n))
        for n in range(int(amount))
    ]
    world["model_script"][at] = answer("one" if not calls else "", calls)
    return world


def _varied(call: ToolCall, nth: int) -> str:
    """Return arguments like those of a call that no other call has."""
    given = _object(call.arguments)
    for key, value in given.items():
        if isinstance(value, str):
            given[key] = f"{value}{nth}"
            break
    else:
        given["n"] = nth
    return json_text(given)


def _reordered(call: ToolCall, nth: int) -> str:
    """Return the same arguments, in every second call with their keys turned round."""
    given = list(_object(call.arguments).items())
    return json_text(dict(given[::-1] if nth % 2 else given))


def _object(arguments: str) -> Data:
    try:
        given = json.loads(arguments)
    except ValueError:
        return {}
    return cast("Data", given) if isinstance(given, dict) else {}


def _argument_number(world: Data, amount: float) -> Data | None:
    return argued(world, int(amount) if amount == int(amount) else amount)


def argued(world: Data, value: object) -> Data | None:
    """Let the first call give this for each of its arguments, or for those that fit."""
    found = _first_call(world)
    if found is None:
        return None
    at, call = found
    given = _object(call.arguments)
    own = call.name.startswith("<own")
    wanted = str if isinstance(value, str) else (int, float)
    for key, before in given.items():
        if isinstance(before, bool) or (own and not isinstance(before, wanted)):
            continue
        given[key] = value
    message = parse_message(world["model_script"][at])
    rest = message.tool_calls[1:]
    made = replace(call, arguments=encoded(json_text(given).replace(")]", ")\\u005d")))
    world["model_script"][at] = show_message(replace(message, tool_calls=(made, *rest)))
    return world


# Runs


def _runs(world: Data, amount: float, *, continues: bool) -> Data | None:
    """Play the first run so often, each time with the same answers."""
    count = int(amount)
    if not world["runs"] or not count:
        return None
    first = {k: v for k, v in world["runs"][0].items() if k != "continues"}
    more: Data = {"continues": True} if continues else {}
    world["runs"] = [first, *({**first, **more} for _ in range(count - 1))]
    script = world.get("model_script", [])
    ends = next((at for at, each in enumerate(script) if _is_plain(each)), None)
    if ends is not None:
        world["model_script"] = script[: ends + 1] * count
    return world


def _option(world: Data, amount: float) -> Data | None:
    hit = False
    for run in world["runs"]:
        for given in given_by_name(run):
            for key, value in given.items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    whole = isinstance(value, int) or amount == int(amount)
                    given[key] = int(amount) if whole else amount
                    hit = True
    return world if hit else None


def _long(put: PutText, text: Callable[[int], str], characters: int = 1) -> Put:
    """Return what puts a text there that is as long as the amount says.

    ``characters`` are those of one of what is counted.
    """

    def putting(world: Data, amount: float) -> Data | None:
        return put(_short(world, characters * amount), text(int(amount)))

    return putting


def _said_by_user(change: Callable[[str, int], str], characters: int = 1) -> Put:
    """Return what makes what the user says as long as the amount says."""

    def putting(world: Data, amount: float) -> Data | None:
        made = _short(world, characters * amount)
        return _user(made, lambda text: change(text, int(amount)))

    return putting


def _before_it(say: Callable[[int], str]) -> Put:
    """Return what puts so many messages before what is said in the first run."""

    def putting(world: Data, amount: float) -> Data | None:
        return _before(world, [say(n) for n in range(int(amount))])

    return putting


def _short(world: Data, length: float) -> Data:
    """Leave the later runs out of a world with a long text."""
    if length > LONG:
        world["runs"] = world["runs"][:1]
    return world


SLOTS: Final = (
    Slot("user text", _said_by_user(padded), (16, 300), LARGEST),
    Slot(
        "messages",
        _before_it(_by_turns),
        (2, 6),
        800,
    ),
    Slot("calls in a row", partial(_repeated, given=_varied), (1, 3), 40),
    Slot("turns", partial(_runs, continues=True), (1, 3), 40),
    Slot("result text", _long(given_back, partial(padded, "r")), (16, 300), LARGEST),
    Slot("argument number", _argument_number, (2, 7), 10**9),
    Slot("sessions", partial(_runs, continues=False), (1, 3), 40),
    Slot("same calls", partial(_repeated, given=_reordered), (1, 3), 40),
    Slot("calls of two", _calls_of_two, (1, 3), 40),
    Slot("user words", _said_by_user(worded, 2), (2, 9), LARGEST // 4),
    Slot("history text", _history_text, (16, 300), LARGEST),
    Slot("history answer", _history_answer, (2, 100), LARGEST // 8),
    Slot("failing tool", _failing_tool, (1, 2), 12),
    Slot("failing model", _failing_model, (1, 2), 12),
    Slot("calls at once", _calls_at_once, (1, 3), 40),
    Slot("answer text", _long(said_last, partial(padded, "a")), (16, 300), LARGEST),
    Slot("result number", _result_number, (2, 7), 10**9),
    Slot("user number", _user_number, (2, 7), 10**9),
    Slot("argument text", _long(argued, partial(padded, "g")), (4, 60), LARGEST),
    Slot("instruction", _long(_instructed, partial(padded, "i")), (16, 300), LARGEST),
    Slot("history calls", _history_calls, (1, 3), 100),
    Slot("user messages", _before_it(lambda n: f"user:h{n}"), (2, 5), 400),
    Slot("system messages", _before_it(lambda n: f"system:s{n}"), (1, 3), 60),
    Slot("result words", _long(given_back, _in_words, 2), (2, 9), LARGEST // 4),
    Slot("result lines", _long(given_back, _lines, 4), (2, 9), LARGEST // 8),
    Slot("delay", _delay, (1_000, 3_000), 10**9),
    Slot("option", _option, (2, 7), 10**9),
)
"""The places for amounts, those first that subjects count most often."""


def _optional_text(world: Data, text: str) -> Data | None:
    hit = False
    for run in world["runs"]:
        for given in given_by_name(run):
            for key, value in given.items():
                if isinstance(value, str):
                    given[key] = text
                    hit = True
    return world if hit else None


CARRIERS: Final[Mapping[str, tuple[str, PutText]]] = {
    "user": ("ualpha", _user_says),
    "result": ("ralpha", given_back),
    "answer": ("aalpha", said_last),
    "argument": ("galpha", argued),
    "instruction": ("ialpha", _instructed),
    "option": ("oalpha", _optional_text),
}
"""The places for texts; each has a text of its own in the worlds that begin a search,
by which it is known where it is compared."""


def carried(carrier: str, world: Data, text: str) -> Data | None:
    """Return a world with this text in one of the places for texts."""
    made: Data = json.loads(json.dumps(world))
    return CARRIERS[carrier][1](made, text)
