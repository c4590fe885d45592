"""The program of ``plain.py``, moved to Anthropic's Messages; sessions only."""

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
EMPTY = {"type": "object", "properties": {}}
TOOLS = [{"name": name, "input_schema": EMPTY} for name in ("add", "subtract")]
AGAIN = {429, 500, 529}


def ask(messages: list[Any]) -> dict[str, Any]:
    """Ask the model, once more if it says that this may help."""
    body: dict[str, Any] = {"model": "other", "max_tokens": 500, "temperature": 0.5}
    body |= {"messages": messages, "tools": TOOLS}
    if FAULT in {"thinks", "thoughtless"}:
        body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    for left in (1, 0):
        request = urllib.request.Request(  # noqa: S310  # of our own server
            f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages",
            json.dumps(body).encode(),
            {"content-type": "application/json", "x-api-key": "key"},
        )
        try:
            with urllib.request.urlopen(request) as response:  # noqa: S310  # the same
                said: dict[str, Any] = json.load(response)
                return said
        except urllib.error.HTTPError as error:
            if error.code not in AGAIN or not left:
                raise
    raise AssertionError


def kept(content: list[Any]) -> list[Any]:
    """Return what of an answer with calls is sent back."""
    if FAULT == "thinks":
        return content
    if FAULT == "thoughtless":
        return [each for each in content if each["type"] != "thinking"]
    return [each for each in content if each["type"] == "tool_use"]


def turn(messages: list[Any], text: str) -> str:
    """Take one turn."""
    messages.append({"role": "user", "content": text})
    while True:
        said = ask(messages)
        calls = [each for each in said["content"] if each["type"] == "tool_use"]
        spoken = [each for each in said["content"] if each["type"] == "text"]
        if not calls:
            answer = "".join(each["text"] for each in spoken)
            messages.append({"role": "assistant", "content": answer})
            return answer
        messages.append({"role": "assistant", "content": kept(said["content"])})
        results = [
            {
                "type": "tool_result",
                "tool_use_id": each["id"],
                "content": f"{each['name']} {json.dumps(each['input'])}",
            }
            for each in calls
        ]
        if FAULT == "one":
            del results[1:]
        messages.append({"role": "user", "content": results})


def main() -> None:
    """Answer line by line."""
    messages: list[Any] = []
    number = None
    for line in sys.stdin:
        given = json.loads(line)
        messages = messages if given["session"] == number else []
        number = given["session"]
        try:
            said = {"answer": turn(messages, given["turn"])}
        except urllib.error.HTTPError as error:
            code = 503 if error.code == 529 else error.code
            said = {"error": f"status {code}"}
        except OSError:
            said = {"error": "cut"}
        sys.stdout.write(f"{json.dumps(said)}\n")
        sys.stdout.flush()


main()
