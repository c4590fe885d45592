"""A conversation by an official client: of which interface; whole, then streamed."""

import json
import os
import sys
from importlib import import_module
from typing import Any

SYSTEM = "Be brief."
TURNS = ("What is 1 and 2?", "And once more?")
SCHEMA: Any = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
ABOUT = "Add two numbers."
MORE: Any = json.loads(os.environ.get("MORE", "{}"))
"""What else each request asks, under the names of this client."""


def add(arguments: Any) -> str:
    """Run the tool."""
    given = json.loads(arguments) if isinstance(arguments, str) else arguments
    return str(given["a"] + given["b"])


def chat(streamed: bool) -> None:  # one of two ways
    """Ask chat completions."""
    from openai import OpenAI

    client = OpenAI()
    function = {"name": "add", "description": ABOUT, "parameters": SCHEMA}
    how: Any = {
        "model": "m",
        "tools": [{"type": "function", "function": function}],
        "temperature": 0.5,
        "max_completion_tokens": 100,
        **MORE,
    }
    messages: list[Any] = [{"role": "system", "content": SYSTEM}]
    for text in TURNS:
        messages.append({"role": "user", "content": text})
        while True:
            if streamed:
                with client.chat.completions.stream(messages=messages, **how) as stream:
                    said = stream.get_final_completion().choices[0].message
            else:
                done = client.chat.completions.create(messages=messages, **how)
                said = done.choices[0].message
            shown: Any = {"role": "assistant", "content": said.content}
            calls: list[Any] = list(said.tool_calls or ())
            if calls:
                shown["tool_calls"] = [
                    {
                        "id": each.id,
                        "type": "function",
                        "function": {
                            "name": each.function.name,
                            "arguments": each.function.arguments,
                        },
                    }
                    for each in calls
                ]
            messages.append(shown)
            for each in calls:
                result = add(each.function.arguments)
                messages.append(
                    {"role": "tool", "tool_call_id": each.id, "content": result}
                )
            if not calls:
                break


def responses(streamed: bool) -> None:  # one of two ways
    """Ask Responses, which store the history."""
    from openai import OpenAI, omit

    client = OpenAI()
    tool = {"type": "function", "name": "add", "description": ABOUT}
    how: Any = {
        "model": "m",
        "instructions": SYSTEM,
        "tools": [{**tool, "parameters": SCHEMA, "strict": False}],
        "temperature": 0.5,
        "max_output_tokens": 100,
        **MORE,
    }
    last: Any = omit
    for text in TURNS:
        given: list[Any] = [{"role": "user", "content": text}]
        while given:
            more: Any = {**how, "input": given, "previous_response_id": last}
            if streamed:
                with client.responses.stream(**more) as stream:
                    done: Any = stream.get_final_response()
            else:
                done = client.responses.create(**more)
            last = done.id
            given = [
                {
                    "type": "function_call_output",
                    "call_id": each.call_id,
                    "output": add(each.arguments),
                }
                for each in done.output
                if each.type == "function_call"
            ]


def anthropic(streamed: bool) -> None:  # one of two ways
    """Ask Anthropic's Messages."""
    client: Any = import_module("anthropic").Anthropic()
    how: Any = {
        "model": "m",
        "system": SYSTEM,
        "tools": [{"name": "add", "description": ABOUT, "input_schema": SCHEMA}],
        "extra_body": {"temperature": 0.5},
        "max_tokens": 100,
        **MORE,
    }
    messages: list[Any] = []
    for text in TURNS:
        given: Any = text
        while given:
            messages.append({"role": "user", "content": given})
            if streamed:
                with client.messages.stream(messages=messages, **how) as stream:
                    done: Any = stream.get_final_message()
            else:
                done = client.messages.create(messages=messages, **how)
            messages.append({"role": "assistant", "content": done.content})
            given = [
                {
                    "type": "tool_result",
                    "tool_use_id": each.id,
                    "content": add(each.input),
                }
                for each in done.content
                if each.type == "tool_use"
            ]


def gemini(streamed: bool) -> None:  # one of two ways
    """Ask Gemini."""
    client: Any = import_module("google.genai").Client()
    declared = {"name": "add", "description": ABOUT, "parameters_json_schema": SCHEMA}
    how: Any = {
        "system_instruction": SYSTEM,
        "tools": [{"function_declarations": [declared]}],
        "temperature": 0.5,
        "max_output_tokens": 100,
        **MORE,
    }
    contents: list[Any] = []
    for text in TURNS:
        given: list[Any] = [{"text": text}]
        while given:
            contents.append({"role": "user", "parts": given})
            asked: Any = {"model": "m", "contents": contents, "config": how}
            if streamed:
                events = client.models.generate_content_stream(**asked)
                parts = [p for e in events for p in e.candidates[0].content.parts]
            else:
                done = client.models.generate_content(**asked)
                parts = done.candidates[0].content.parts
            contents.append({"role": "model", "parts": parts})
            given = [
                {
                    "function_response": {
                        "id": part.function_call.id,
                        "name": "add",
                        "response": {"result": add(part.function_call.args)},
                    }
                }
                for part in parts
                if part.function_call
            ]


CLIENTS = {
    "chat": chat,
    "responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
}
for each_way in (False, True):
    CLIENTS[sys.argv[1]](each_way)
