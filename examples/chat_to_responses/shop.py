"""What all programs in Python have: tools, and turns read as lines of JSON."""

import json
import sys
from collections.abc import Callable
from typing import Any

import openai

INSTRUCTIONS = "You help customers with their orders. Pay back only what was paid."
ORDERS = {"A-1": "books, 20 EUR", "A-2": "a lamp, 35 EUR"}
ORDER = {
    "type": "object",
    "properties": {"order": {"type": "string"}},
    "required": ["order"],
    "additionalProperties": False,
}
TOOLS = {
    "find_order": "Say what an order holds.",
    "pay_back": "Pay an order back.",
}


def run(name: str, arguments: str) -> str:
    """Run a tool; whatever the model asked for, there is a text to say to it."""
    try:
        order = json.loads(arguments)["order"]
    except (ValueError, KeyError, TypeError):
        return "The arguments are wrong."
    if name not in TOOLS:
        return "There is no such tool."
    if not isinstance(order, str) or order not in ORDERS:
        return "There is no such order."
    return "It is paid back." if name == "pay_back" else ORDERS[order]


def serve(begin: Callable[[], Callable[[str], str]]) -> None:
    """Answer turns of any number of sessions; ``begin`` begins one."""
    session: int | None = None
    turn = begin()
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        if asked["session"] != session:
            session, turn = asked["session"], begin()
        sys.stdout.write(json.dumps(_said(turn, asked["turn"])) + "\n")
        sys.stdout.flush()


def _said(turn: Callable[[str], str], text: str) -> dict[str, str]:
    try:
        return {"answer": turn(text)}
    except openai.APIStatusError as error:
        return {"error": f"status {error.status_code}"}
    except openai.APIConnectionError:
        return {"error": "no connection"}
