"""The agent as it was: chat completions."""

from collections.abc import Callable
from typing import Any

import shop
from openai import OpenAI

client = OpenAI()
tools: Any = [
    {
        "type": "function",
        "function": {"name": name, "description": about, "parameters": shop.ORDER},
    }
    for name, about in shop.TOOLS.items()
]


def begin() -> Callable[[str], str]:
    """Begin a session with an empty history."""
    messages: list[Any] = [{"role": "system", "content": shop.INSTRUCTIONS}]

    def turn(text: str) -> str:
        messages.append({"role": "user", "content": text})
        while True:
            done = client.chat.completions.create(
                model="gpt-4.1", messages=messages, tools=tools, temperature=0.2
            )
            said = done.choices[0].message
            messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return said.content or said.refusal or ""
            for call in said.tool_calls:
                if call.type != "function":
                    continue
                result = shop.run(call.function.name, call.function.arguments)
                messages.append(
                    {"role": "tool", "tool_call_id": call.id, "content": result}
                )

    return turn


shop.serve(begin)
