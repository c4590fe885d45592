"""A program that asks chat completions by the standard library; a fault on its line."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

TOOL = {"name": "add", "parameters": {"type": "object", "properties": {}}}
FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
SESSIONS = os.environ["REFENGINE_TURNS"] == "sessions"


def ask(messages: list[dict[str, object]]) -> dict[str, object]:
    """Ask the model once."""
    body: dict[str, object] = {"model": "m", "messages": messages}
    if FAULT != "toolless":
        body["tools"] = [{"type": "function", "function": TOOL}]
    if FAULT == "cold":
        body["temperature"] = 0
    request = urllib.request.Request(  # noqa: S310  # of our own server
        f"{os.environ['OPENAI_BASE_URL']}/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer key"},
    )
    with urllib.request.urlopen(request) as response:  # noqa: S310  # the same
        said: dict[str, object] = json.load(response)["choices"][0]["message"]
        return said


def turn(messages: list[dict[str, object]], text: str) -> str:
    """Take one turn."""
    messages.append({"role": "user", "content": text})
    while (said := ask(messages)).get("tool_calls"):
        messages.append({"role": "assistant", "tool_calls": said["tool_calls"]})
        calls: list[dict[str, str]] = said["tool_calls"]  # type: ignore[assignment]  # of JSON
        for call in calls[::-1] if FAULT == "backwards" else calls:
            result = {"role": "tool", "tool_call_id": call["id"], "content": "3"}
            messages.append(result)
    answer = str(said["content"] or said.get("refusal"))
    if FAULT != "forgetful":
        messages.append({"role": "assistant", "content": answer})
    return answer


def tell(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def misbehave() -> None:
    """Do what no program should."""
    if FAULT == "hangs":
        time.sleep(60)
    elif FAULT == "floods":
        while True:
            sys.stdout.write("no line ends " * 1000)
    elif FAULT == "silent":
        sys.stdout.write("I know it myself.\n")
        sys.exit()
    elif FAULT == "exits":
        sys.exit("cannot go on")
    elif FAULT == "chatty":
        tell("starting")
    elif FAULT == "parent":
        for own in (False, True):
            line = [sys.executable, "-c", "import time; time.sleep(300)"]
            subprocess.Popen(line, start_new_session=own)  # our own


def main() -> None:
    """Answer line by line, in one session or in several."""
    misbehave()
    messages: list[dict[str, object]] = []
    number = None
    for line in sys.stdin:
        text = line.rstrip("\n")
        if SESSIONS:
            asked = json.loads(line)
            messages = messages if asked["session"] == number else []
            number, text = asked["session"], asked["turn"]
        try:
            said = {"answer": turn(messages, text)}
        except urllib.error.URLError:
            if not SESSIONS:
                raise
            said = {"error": "the model failed"}
        except ConnectionError:
            said = {"error": "cut"}
        tell(json.dumps(said) if SESSIONS else said["answer"])


main()
