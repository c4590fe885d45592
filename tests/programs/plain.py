"""A program that asks chat completions by the standard library; a fault on its line."""

import http.client
import http.server
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, ClassVar

ADD = {"name": "add", "parameters": {"type": "object", "properties": {}}}
SUB = {"name": "subtract", "parameters": {"type": "object", "properties": {}}}
FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
STREAMS = FAULT in {"streams", "cut"}
SESSIONS = os.environ["REFENGINE_TURNS"] == "sessions"
AGAIN = {429, 500, 503}
"""Statuses after which it asks once more."""


def body_of(messages: list[Any]) -> dict[str, Any]:
    """Return what the model is asked."""
    tools = [ADD, SUB] if FAULT != "tools" else [SUB, ADD]
    body: dict[str, Any] = {"model": "m", "messages": messages, "temperature": 0.5}
    if FAULT == "cold":
        del body["temperature"]
    if FAULT != "toolless":
        body["tools"] = [{"type": "function", "function": each} for each in tools]
    return body | ({"stream": True} if STREAMS else {})


def ask(messages: list[Any]) -> dict[str, Any]:
    """Ask the model, once more if it says that this may help."""
    for left in range(3 if FAULT == "retries" else 1, -1, -1):
        try:
            return asked(json.dumps(body_of(messages)).encode())
        except urllib.error.HTTPError as error:
            if error.code not in AGAIN or not left:
                raise
    raise AssertionError


def asked(body: bytes) -> dict[str, Any]:
    """Ask the model once."""
    request = urllib.request.Request(  # noqa: S310  # of our own server
        f"{os.environ['OPENAI_BASE_URL']}/chat/completions",
        body,
        {"content-type": "application/json", "authorization": "Bearer key"},
    )
    with urllib.request.urlopen(request) as response:  # noqa: S310  # the same
        if STREAMS:
            return joined(read(response).decode().split("\n\n"))
        said: dict[str, Any] = json.load(response)["choices"][0]["message"]
        return said


def read(response: http.client.HTTPResponse) -> bytes:
    """Return what came of a stream, even if it was cut."""
    try:
        return response.read()
    except http.client.IncompleteRead as error:
        return error.partial


def joined(events: list[str]) -> dict[str, Any]:
    """Put a stream together; without its end mark it was cut."""
    content, calls = "", dict[int, Any]()
    for event in events:
        if event in {"", "data: [DONE]"}:
            continue
        for choice in json.loads(event.removeprefix("data: "))["choices"]:
            delta = choice["delta"]
            content += delta.get("content") or delta.get("refusal") or ""
            for piece in delta.get("tool_calls", ()):
                empty = {**piece, "function": {**piece["function"], "arguments": ""}}
                call = calls.setdefault(piece["index"], empty)
                call["function"]["arguments"] += piece["function"]["arguments"]
    if "data: [DONE]" not in events and FAULT != "cut":
        raise ConnectionError
    found = [{k: v for k, v in each.items() if k != "index"} for each in calls.values()]
    return {"content": content, "tool_calls": found}


def turn(messages: list[Any], text: str) -> str:
    """Take one turn."""
    messages.append({"role": "user", "content": text})
    while (said := ask(messages)).get("tool_calls"):
        calls: list[Any] = said["tool_calls"]
        rounds = [[each] for each in calls] if FAULT == "serial" else [calls]
        for some in rounds:
            messages.append({"role": "assistant", "tool_calls": some})
            messages.extend(results(some))
    answer = str(said["content"] or said.get("refusal") or "")
    if said.get("refusal") and FAULT == "swallows":
        answer = ""
    if FAULT != "forgetful":
        messages.append({"role": "assistant", "content": answer})
    return answer


def results(calls: list[Any]) -> list[Any]:
    """Return the results of calls, each under its id."""
    given = [f"{c['function']['name']} {c['function']['arguments']}" for c in calls]
    if FAULT == "ids":
        given.reverse()
    found = [
        {"role": "tool", "tool_call_id": call["id"], "content": text}
        for call, text in zip(calls, given, strict=True)
    ]
    return found[::-1] if FAULT == "backwards" else found


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
        tell("I know it myself.")
        sys.exit()
    elif FAULT == "exits":
        sys.exit("cannot go on")
    elif FAULT == "reaches":
        with socket.socket() as tried:
            tell(str(tried.connect_ex(("127.0.0.1", int(sys.argv[2])))))
    elif FAULT == "chatty":
        tell("starting")
    elif FAULT == "parent":
        leave_children()
    elif FAULT == "daemon":
        leave_a_daemon()


def leave_children() -> None:
    """Start a child in this session, and one in its own."""
    for own in (False, True):
        line = [sys.executable, "-c", "import time; time.sleep(300)"]
        subprocess.Popen(line, start_new_session=own)


def leave_a_daemon() -> None:
    """Start what has nothing of this program: no folder, variable, parent, session."""
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    for each in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), each)
    code = "import time; time.sleep(300)"
    line = [sys.executable, "-I", "-c", code, *sys.argv[2:]]
    os.execve(line[0], line, {})  # noqa: S606  # a child of the test's own


def effects() -> None:
    """Do in a turn what others see."""
    if FAULT in {"writes", "writes-else"}:
        with Path("notes.txt").open("a") as file:
            file.write("hello\n" if FAULT == "writes" else "good bye\n")
    if FAULT in {"posts", "posts-twice"}:
        for _ in range(1 + (FAULT == "posts-twice")):
            data = json.dumps({"name": "mailed", "data": {"to": "a"}}).encode()
            headers = {"content-type": "application/json"}
            post = urllib.request.Request(  # noqa: S310  # our own server
                os.environ["REFENGINE_EFFECTS"], data, headers
            )
            urllib.request.urlopen(post).close()  # noqa: S310  # the same


class Posted(http.server.BaseHTTPRequestHandler):
    """Answers a turn that is posted."""

    session: int | None = None
    messages: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        """Take a turn of any session."""
        given = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if given["session"] != Posted.session:
            Posted.session, Posted.messages = given["session"], []
        if FAULT == "drops":
            return
        effects()
        try:
            said = {"answer": turn(Posted.messages, given["turn"])}
        except urllib.error.HTTPError as error:
            said = {"error": f"status {error.code}"}
        except (OSError, EOFError):
            said = {"error": "cut"}
        body = b"no JSON" if FAULT == "fails" else json.dumps(said).encode()
        self.send_response(500 if FAULT == "fails" else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Answer line by line, in one session or in several, or at an address."""
    misbehave()
    if os.environ["REFENGINE_TURNS"] == "http":
        port = urllib.parse.urlsplit(os.environ["REFENGINE_TURNS_URL"]).port
        http.server.HTTPServer(("127.0.0.1", port or 0), Posted).serve_forever()
    messages: list[Any] = []
    number = None
    for line in sys.stdin:
        text = line.rstrip("\n")
        if SESSIONS:
            given = json.loads(line)
            messages = messages if given["session"] == number else []
            number, text = given["session"], given["turn"]
        effects()
        try:
            said = {"answer": turn(messages, text)}
        except urllib.error.HTTPError as error:
            if not SESSIONS:
                raise
            said = {"error": f"status {error.code}"}
        except (OSError, EOFError):
            said = {"error": "cut"}
        tell(json.dumps(said) if SESSIONS else said["answer"])


main()
