"""A driver to start from: what ``refengine init driver`` writes.

The engine in it is small and says no more of itself than it has; it is then replaced by
one's own. A test runs it, and docs/protocol.md tells it frame by frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

PYTHON: Final = '''"""A driver: an agent loop that a harness plays by JSON-RPC.

Put your engine in the place of run(). Model, tools and hooks are the harness's: ask
for each by call(), and tell what happens by tell(). docs/protocol.md of refengine has
every frame; "refengine driver check" looks at each function.
"""

import json
import sys

AGENTS = {}
PROFILE = "seed-001"
CAPABILITIES = ["before_model", "wrap_tool", "parallel_calls", "equal_call_ids",
                "several_handlers", "context", "arguments_text", "lone_surrogates",
                "next_twice", "return_directly"]


class Failed(Exception):
    """An exception of the harness, which keeps its number, or one of this engine."""

    def __init__(self, message, **data):
        super().__init__(message)
        self.error = {"code": -32000, "message": message, "data": data}


class Peer:
    """This end of the connection: each side may call while it is being called."""

    def __init__(self):
        self.last = 0
        self.inner = {}

    def send(self, **frame):
        print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)

    def tell(self, method, **params):
        self.send(method=method, params=params)

    def call(self, method, **params):
        """Ask the harness, and answer what it asks meanwhile."""
        self.last = number = self.last + 1
        self.send(id=number, method=method, params=params)
        for line in sys.stdin:
            frame = json.loads(line)
            if "method" in frame:
                self.answer(frame)
            elif "error" in frame:
                error = frame["error"]
                raise Failed(error["message"], **error.get("data", {}))
            else:
                return frame["result"]
        sys.exit("the harness has closed its end")

    def around(self, method, inner, **params):
        """Ask for a wrapper; by its token it goes on into what it stands around."""
        token = len(self.inner) + 1
        self.inner[token] = inner
        try:
            return self.call(method, token=token, **params)
        finally:
            self.inner[token] = None

    def answer(self, frame):
        function = FUNCTIONS.get(frame["method"])
        try:
            if function is None:
                raise Failed(f"there is no method {frame['method']!r}")
            reply = {"result": function(frame.get("params", {})) or {}}
        except Failed as failed:
            code = failed.error["code"] if function else -32601
            reply = {"error": {**failed.error, "code": code}}
        if "id" in frame:
            self.send(id=frame["id"], **reply)

    def serve(self):
        for line in sys.stdin:
            frame = json.loads(line)
            self.answer(frame)
            if frame["method"] == "shutdown":
                return


def initialize(params):
    return {"protocol": 2, "engine": "mine", "version": "0.1", "language": "python",
            "dialect": "react", "profile": PROFILE, "capabilities": CAPABILITIES}


def build(params):
    AGENTS[params["agent"]] = params["config"]


def run(params):
    """Play a run: this is where your engine goes."""
    number, config = params["agent"], AGENTS[params["agent"]]
    event = {"agent": number, "run": params["run"], "name": config["name"]}
    try:
        for told in loop(number, config, params["messages"], params["ctx"]):
            PEER.tell("event", **event, role=told["role"], message=told)
    except Failed as failed:
        PEER.tell("event", **event, error=failed.error)


def loop(number, config, given, ctx):
    """Yield every answer of the model, and every result of a tool."""
    system = {"role": "system", "content": config["instruction"]}
    history = [system] * bool(config["instruction"]) + given
    tools = {each["name"]: each for each in config["tools"]}
    for _ in range(config["max_iterations"]):
        history = before_model(number, config, ctx, history)
        infos = [{key: each[key] for key in ("name", "description")}
                 for each in tools.values()]
        answer = PEER.call("model", agent=number, mode="invoke", ctx=ctx,
                           messages=history, tools=infos)
        history = [*history, answer]
        yield answer
        calls = answer.get("tool_calls", [])
        if not calls:
            return
        for call in calls:
            if call["name"] not in tools:
                raise Failed(f"tool {call['name']} not found", kind="unknown_tool")
        for call in calls:
            result = called(number, config, tools[call["name"]], call, ctx)
            history.append({"role": "tool", "content": result, "name": call["name"],
                            "tool_call_id": call["id"]})
            yield history[-1]
        if any(config["return_directly"].get(call["name"]) for call in calls):
            return
    raise Failed("too many iterations", kind="max_iterations")


def before_model(number, config, ctx, history):
    hook = "before_model_rewrite_history"
    for at, hooks in enumerate(config["handlers"]):
        if hook in hooks:
            got = PEER.call("hook", agent=number, handler=at, hook=hook, ctx=ctx,
                            messages=history)
            ctx, history = got["ctx"], got["messages"]
    return history


def called(number, config, tool, call, ctx):
    """Call a tool through all wrappers, the first of them outermost."""
    hook = "wrap_invokable_tool_call"
    wraps = [at for at, hooks in enumerate(config["handlers"]) if hook in hooks]

    def inside(depth, ctx, arguments):
        if depth == len(wraps):
            return PEER.call("tool", agent=number, tool=tool["tool"], mode="invoke",
                             ctx=ctx, arguments=arguments, call_id=call["id"])
        return PEER.around(
            "hook", lambda n: inside(depth + 1, n["ctx"], n["arguments"]), agent=number,
            handler=wraps[depth], hook=hook, ctx=ctx, name=call["name"],
            arguments=arguments, call_id=call["id"])

    return inside(0, ctx, call["arguments"])["result"]


FUNCTIONS = {
    "initialize": initialize,
    "build": build,
    "run": run,
    "next": lambda params: PEER.inner[params["token"]](params),
    "cancel": lambda params: None,  # this engine has no way to stop early
    "settle": lambda params: None,  # it does nothing while it waits
    "reset": lambda params: AGENTS.pop(params["agent"], None) and None,
    "shutdown": lambda params: None,
}
PEER = Peer()

if __name__ == "__main__":
    PEER.serve()
'''

_FOLDER: Final = Path(__file__).parent / "skeletons"
_FILES: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "go": ("driver.go", "go.mod"),
        "typescript": ("driver.ts", "package.json", "tsconfig.json"),
    }
)
LANGUAGES: Final = ("python", *_FILES)
"""What a driver can be written in."""
BUILDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "go": "go build -C {folder} -o driver",
        "typescript": "cd {folder} && npm install && npm run build",
    }
)
"""By language: how its driver is built, if it has to be."""
COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "python": "python {folder}/driver.py",
        "go": "{folder}/driver",
        "typescript": "node {folder}/driver.js",
    }
)
"""By language: the command that starts it."""


def driver_files(language: str) -> Mapping[str, str]:
    """Return the files of a driver in one of ``LANGUAGES``, by name."""
    if language == "python":
        return {"driver.py": PYTHON}
    return {each: (_FOLDER / each).read_text("utf-8") for each in _FILES[language]}
