"""Sessions to measure with: chats as a service records them, drawn from their number.

The same numbers give the same chats, and one in ten is a chat that was there before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

_Message: TypeAlias = dict[str, Any]

AGAIN: Final = 10
"""Of so many chats one is an earlier one."""
TURNS: Final = (1, 1, 1, 2, 2, 3, 4)
CALLS: Final = (0, 0, 1, 1, 2)


def chat(number: int) -> dict[str, Any]:
    """Return the chat of a number: an instruction, turns, and calls of a tool."""
    dice = Random(f"chat {number}")  # noqa: S311  # a world, no secret
    if number % AGAIN == AGAIN - 1:
        return chat(dice.randrange(number))
    messages: list[_Message] = [{"role": "system", "content": "You help with orders."}]
    for turn in range(dice.choice(TURNS)):
        order = dice.randrange(10**6)
        messages.append({"role": "user", "content": f"Where is order {order}?"})
        for at in range(dice.choice(CALLS)):
            messages += _call(f"call_{turn}_{at}", order, dice.randrange(5))
        messages.append({"role": "assistant", "content": f"Order {order} is packed."})
    return {"messages": messages}


def _call(name: str, order: int, state: int) -> Iterator[_Message]:
    wanted = {"name": "find_order", "arguments": json.dumps({"order": order})}
    calls = [{"id": name, "type": "function", "function": wanted}]
    yield {"role": "assistant", "content": None, "tool_calls": calls}
    yield {"role": "tool", "tool_call_id": name, "content": f"state {state}"}


def write_chats(path: Path, numbers: Iterable[int]) -> None:
    """Write the chats of these numbers as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(chat(each))}\n" for each in numbers)
