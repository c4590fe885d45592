"""The agent with Responses; it still sends the whole history."""

from collections.abc import Callable
from typing import Any

import shop
from openai import OpenAI

client = OpenAI()
tools: Any = [
    {
        "type": "function",
        "name": name,
        "description": about,
        "parameters": shop.ORDER,
        "strict": False,
    }
    for name, about in shop.TOOLS.items()
]


def begin() -> Callable[[str], str]:
    """Begin a session with an empty history."""
    items: list[Any] = []

    def turn(text: str) -> str:
        items.append({"role": "user", "content": text})
        while True:
            done = client.responses.create(
                model="gpt-4.1",
                instructions=shop.INSTRUCTIONS,
                input=items,
                tools=tools,
                temperature=0.2,
                store=False,
            )
            items.extend(each.model_dump(exclude_none=True) for each in done.output)
            calls = [each for each in done.output if each.type == "function_call"]
            if not calls:
                return done.output_text or refused(done)
            for call in calls:
                result = shop.run(call.name, call.arguments)
                items.append(
                    {
                        "type": "function_call_output",
                        "call_id": call.call_id,
                        "output": result,
                    }
                )

    return turn


def refused(done: Any) -> str:  # noqa: ANN401  # a Response
    """Return what a model said that will not do it."""
    parts = [part for each in done.output for part in each.content]
    return "".join(part.refusal for part in parts if part.type == "refusal")


shop.serve(begin)
