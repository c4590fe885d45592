"""Wrong: instructions are said once, and no response carries them on to the next."""

from collections.abc import Callable
from typing import Any

import shop
from openai import OpenAI, omit

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
    """Begin a session of which nothing is stored yet."""
    last: str | None = None

    def turn(text: str) -> str:
        nonlocal last
        given: Any = [{"role": "user", "content": text}]
        while True:
            done = client.responses.create(
                model="gpt-4.1",
                instructions=shop.INSTRUCTIONS if last is None else omit,
                previous_response_id=omit if last is None else last,
                input=given,
                tools=tools,
                temperature=0.2,
            )
            last = done.id
            calls = [each for each in done.output if each.type == "function_call"]
            if not calls:
                return done.output_text or refused(done)
            given = [
                {
                    "type": "function_call_output",
                    "call_id": call.call_id,
                    "output": shop.run(call.name, call.arguments),
                }
                for call in calls
            ]

    return turn


def refused(done: Any) -> str:  # noqa: ANN401  # a Response
    """Return what a model said that will not do it."""
    parts = [part for each in done.output for part in each.content]
    return "".join(part.refusal for part in parts if part.type == "refusal")


shop.serve(begin)
