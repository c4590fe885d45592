"""One conversation by the official clients is one sequence of canonical requests."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from compat.migration.programs.side import BASES, KEY, KEYS
from compat.wire.interfaces.request import VendorRequest, VendorTool
from compat.wire.server.programs import AskedModel, Logged, ProgramServer
from refengine.messages import Message
from refengine.testing.notation import parse_message
from refengine.testing.scenario_files import read_scenario
from tests.program_support import PACKAGES, has_node

FOLDER = Path(__file__).parent / "programs"
PYTHON = {
    "chat": "openai",
    "responses": "openai",
    "anthropic": "anthropic",
    "gemini": "google.genai",
}
NODE = {
    "chat": "openai",
    "responses": "openai",
    "anthropic": "@anthropic-ai/sdk",
    "gemini": "@google/genai",
}
SCRIPT = [
    'assistant:[c1:add({"b":2,"a":1})][c2:add({"a":2,"b":2})]',
    "assistant:It is 3.",
    'assistant:Once more.[c3:add({"a":1,"b":2})]',
    "assistant:Still 3.",
]
NUMBER = {"type": "integer"}
SCHEMA = {
    "type": "object",
    "properties": {"a": NUMBER, "b": NUMBER},
    "required": ["a", "b"],
}
TOOL = VendorTool("add", "Add two numbers.", SCHEMA)


def is_there(language: str, interface: str) -> bool:
    """Tell whether a client is installed."""
    if language == "node":
        return has_node(NODE[interface])
    root, _, rest = PYTHON[interface].partition(".")
    found = find_spec(root) is not None
    return found and (not rest or find_spec(PYTHON[interface]) is not None)


def client(language: str, interface: str) -> object:
    """Return a client, skipped where it is not installed."""
    of = NODE if language == "node" else PYTHON
    why = f"the client {of[interface]} of {language} is not installed"
    skip = pytest.mark.skipif(not is_there(language, interface), reason=why)
    return pytest.param(language, interface, marks=skip)


CLIENTS = [client(each, name) for each in ("python", "node") for name in PYTHON]


def asked(language: str, interface: str, folder: Path) -> list[VendorRequest]:
    """Return what a client asks in the conversation, whole and then streamed."""
    runs = [{"input": ["user:a"]}]
    data = {"agent": {}, "runs": runs, "model_script": SCRIPT * 2}
    log: list[Logged] = []
    file = "clients.mjs" if language == "node" else "clients.py"
    shutil.copy(FOLDER / file, folder)
    if language == "node":
        (folder / "node_modules").symlink_to(PACKAGES)
    program = "node" if language == "node" else sys.executable
    with ProgramServer() as server:
        key = server.key()
        server.begin(key, read_scenario(data, "a test"), log.append)
        bases = {name: f"{server.root}/{key}{path}" for name, path in BASES.items()}
        done = subprocess.run(
            [program, file, interface],
            cwd=folder,
            env={**os.environ, **bases, **dict.fromkeys(KEYS, KEY)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    assert all(isinstance(each, AskedModel) for each in log), log
    return [each.request for each in log if isinstance(each, AskedModel)]


def expected() -> list[tuple[Message, ...]]:
    """Return the messages of the requests of the conversation."""
    texts = [
        "system:Be brief.",
        "user:What is 1 and 2?",
        'assistant:[c1:add({"a": 1, "b": 2})][c2:add({"a": 2, "b": 2})]',
        "tool(c1):3",
        "tool(c2):4",
        "assistant:It is 3.",
        "user:And once more?",
        'assistant:Once more.[c3:add({"a": 1, "b": 2})]',
        "tool(c3):3",
    ]
    said = tuple(map(parse_message, texts))
    return [said[:2], said[:5], said[:7], said]


@pytest.mark.parametrize(("language", "interface"), CLIENTS)
def test_conversation_is_one_sequence_of_requests_by_every_client(
    language: str, interface: str, tmp_path: Path
) -> None:
    found = asked(language, interface, tmp_path)

    assert [each.messages for each in found] == expected() * 2
    settings = {"model": "m", "temperature": 0.5, "max_tokens": 100}
    ways = [settings, settings | {"stream": True}]
    assert [each.settings for each in found] == [each for each in ways for _ in "1234"]
    assert [each.tools for each in found] == [(TOOL,)] * 8


def test_every_interface_has_a_client_that_is_always_there() -> None:
    assert is_there("python", "chat")
    assert is_there("python", "responses")
