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
from typing import Final, cast

from refengine.messages import ToolCall
from refengine.testing.notation import encoded, parse_message, show_message
from refengine.testing.subject_worlds.kit import Data, Entry, answer, json_text

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


def _user_text(world: Data, amount: float) -> Data | None:
    return _user(_short(world, amount), lambda text: padded(text, int(amount)))


def _user_words(world: Data, amount: float) -> Data | None:
    made = _short(world, 2 * amount)
    return _user(made, lambda text: worded(text, int(amount)))


def _user_number(world: Data, amount: float) -> Data | None:
    return _user(world, lambda text: numbered(text, amount))


def numbered(text: str, amount: float) -> str:
    """Return a text with this number in the place of its first, or at its end."""
    shown = f"{amount:g}" if amount != int(amount) else str(int(amount))
    if NUMBER.search(text):
        return NUMBER.sub(shown, text, count=1)
    return f"{text} {shown}"


def _history(world: Data, amount: float) -> Data | None:
    said = [f"{'assistant' if n % 2 else 'user'}:h{n}" for n in range(int(amount))]
    return _before(world, said)


def _system_messages(world: Data, amount: float) -> Data | None:
    return _before(world, [f"system:s{n}" for n in range(int(amount))])


def _users(world: Data, amount: float) -> Data | None:
    return _before(world, [f"user:h{n}" for n in range(int(amount))])


def _history_text(world: Data, amount: float) -> Data | None:
    text = padded("h", int(amount))
    made = _short(world, amount)
    return _before(made, [f"user:{text}", "assistant:h1"])


def _history_calls(world: Data, amount: float) -> Data | None:
    """Put exchanges with calls into the history: of one tool, each with its result."""
    name = _called(world)
    if name is None:
        return None
    said: list[str] = ["user:h"]
    for at in range(int(amount)):
        call = ToolCall(f"h{at}", name, json_text({"q": at}))
        said += [answer("", [call]), f"tool(h{at}):r{at}"]
    return _before(world, [*said, "assistant:h1"])


def _before(world: Data, said: Sequence[str]) -> Data | None:
    if not world["runs"]:
        return None
    first = world["runs"][0]
    first["input"] = [*said, *first.get("input", [])]
    return world


def _instruction_text(world: Data, amount: float) -> Data | None:
    if "agent" not in world:
        return None
    made = _short(world, amount)
    made["agent"]["instruction"] = padded("i", int(amount))
    return made


def _answer_text(world: Data, amount: float) -> Data | None:
    return said_last(_short(world, amount), padded("a", int(amount)))


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


def _result_text(world: Data, amount: float) -> Data | None:
    return given_back(_short(world, amount), padded("r", int(amount)))


def _result_words(world: Data, amount: float) -> Data | None:
    return given_back(_short(world, 2 * amount), worded("r", int(amount)))


def _result_lines(world: Data, amount: float) -> Data | None:
    lines = "\n".join(f"r{at}" for at in range(int(amount)))
    return given_back(_short(world, 4 * amount), lines)


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
    return _calls_in_row(world, amount + 1) if tools else None


def _failing_model(world: Data, amount: float) -> Data | None:
    script = world.get("model_script", [])
    world["model_script"] = [{"error": "boom"}] * int(amount) + script
    return world


# Calls


def _called(world: Data) -> str | None:
    """Return the name of the first tool that the script calls."""
    for entry in world.get("model_script", []):
        if isinstance(entry, str):
            for call in parse_message(entry).tool_calls:
                return call.name
    return None


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


def _calls_in_row(world: Data, amount: float) -> Data | None:
    return _repeated(world, amount, _varied)


def _same_calls(world: Data, amount: float) -> Data | None:
    return _repeated(world, amount, _reordered)


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
    number = int(amount) if amount == int(amount) else amount
    return argued(world, number)


def _argument_text(world: Data, amount: float) -> Data | None:
    return argued(_short(world, amount), padded("g", int(amount)))


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


def _turns(world: Data, amount: float) -> Data | None:
    return _runs(world, int(amount), continues=True)


def _sessions(world: Data, amount: float) -> Data | None:
    return _runs(world, int(amount), continues=False)


def _runs(world: Data, count: int, *, continues: bool) -> Data | None:
    """Play the first run so often, each time with the same answers."""
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
        options = run.get("options", {})
        for key, value in options.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                whole = isinstance(value, int) or amount == int(amount)
                options[key] = int(amount) if whole else amount
                hit = True
    return world if hit else None


def _short(world: Data, length: float) -> Data:
    """Leave the later runs out of a world with a long text."""
    if length > LONG:
        world["runs"] = world["runs"][:1]
    return world


SLOTS: Final = (
    Slot("user text", _user_text, (16, 300), LARGEST),
    Slot("messages", _history, (2, 6), 800),
    Slot("calls in a row", _calls_in_row, (1, 3), 40),
    Slot("turns", _turns, (1, 3), 40),
    Slot("result text", _result_text, (16, 300), LARGEST),
    Slot("argument number", _argument_number, (2, 7), 10**9),
    Slot("sessions", _sessions, (1, 3), 40),
    Slot("same calls", _same_calls, (1, 3), 40),
    Slot("calls of two", _calls_of_two, (1, 3), 40),
    Slot("user words", _user_words, (2, 9), LARGEST // 4),
    Slot("history text", _history_text, (16, 300), LARGEST),
    Slot("failing tool", _failing_tool, (1, 2), 12),
    Slot("failing model", _failing_model, (1, 2), 12),
    Slot("calls at once", _calls_at_once, (1, 3), 40),
    Slot("answer text", _answer_text, (16, 300), LARGEST),
    Slot("result number", _result_number, (2, 7), 10**9),
    Slot("user number", _user_number, (2, 7), 10**9),
    Slot("argument text", _argument_text, (4, 60), LARGEST),
    Slot("instruction", _instruction_text, (16, 300), LARGEST),
    Slot("history calls", _history_calls, (1, 3), 100),
    Slot("user messages", _users, (2, 5), 400),
    Slot("system messages", _system_messages, (1, 3), 60),
    Slot("result words", _result_words, (2, 9), LARGEST // 4),
    Slot("result lines", _result_lines, (2, 9), LARGEST // 8),
    Slot("delay", _delay, (1_000, 3_000), 10**9),
    Slot("option", _option, (2, 7), 10**9),
)
"""The places for amounts, those first that subjects count most often."""


def _user_says(world: Data, text: str) -> Data | None:
    return _user(world, lambda _: text)


def _instructed(world: Data, text: str) -> Data | None:
    if "agent" not in world:
        return None
    world["agent"]["instruction"] = encoded(text)
    return world


def _optional_text(world: Data, text: str) -> Data | None:
    hit = False
    for run in world["runs"]:
        options = run.get("options", {})
        for key, value in options.items():
            if isinstance(value, str):
                options[key] = text
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
