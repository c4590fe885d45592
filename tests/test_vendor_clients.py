"""One conversation by the official clients is one sequence of canonical requests."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

import pytest

from compat.migration.programs.side import BASES, KEY, KEYS
from compat.wire.interfaces.gemini import SIGNATURES
from compat.wire.interfaces.request import THOUGHTS, VendorRequest, VendorTool
from compat.wire.server.programs import AskedModel, Logged, ProgramServer
from refengine.messages import Json, Message
from refengine.testing.json_values import is_list
from refengine.testing.notation import parse_message, write_message
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
NOTHING: Mapping[str, object] = MappingProxyType({})
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


def asked(
    language: str,
    interface: str,
    folder: Path,
    script: Sequence[str] = SCRIPT,
    more: Mapping[str, object] = NOTHING,
) -> list[VendorRequest]:
    """Return what a client asks in the conversation, whole and then streamed."""
    runs = [{"input": ["user:a"]}]
    data = {"agent": {}, "runs": runs, "model_script": [*script] * 2}
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
            env={
                **os.environ,
                **bases,
                **dict.fromkeys(KEYS, KEY),
                "MORE": json.dumps(dict(more)),
            },
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


THINKING: dict[str, dict[str, object]] = {
    "python chat": {},
    "python responses": {"reasoning": {"effort": "low", "summary": "auto"}},
    "python anthropic": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    "python gemini": {"thinking_config": {"include_thoughts": True}},
    "node gemini": {"thinkingConfig": {"includeThoughts": True}},
}
"""How a request has its model think; Node says it as Python does but for Gemini."""


@pytest.mark.parametrize(("language", "interface"), CLIENTS)
def test_thoughts_come_back_beside_the_same_messages_by_every_client(
    language: str, interface: str, tmp_path: Path
) -> None:
    thinks = [replace(parse_message(e), extra={"reasoning": "hm"}) for e in SCRIPT]
    more = THINKING.get(f"{language} {interface}", THINKING[f"python {interface}"])
    script = [write_message(each) for each in thinks]

    found = asked(language, interface, tmp_path, script, more)

    assert [each.messages for each in found] == expected() * 2
    counts = [len([*_listed(each.own.get(THOUGHTS))]) for each in found]
    assert counts == ([0] * 8 if interface == "chat" else [0, 1, 2, 3] * 2)
    if interface == "gemini":
        signed = [each.own.get(SIGNATURES, {}) for each in found]
        assert [len(str(each).split(":")) - 1 for each in signed] == [0, 1, 1, 2] * 2


def _listed(value: Json) -> Sequence[Json]:
    return value if is_list(value) else ()


def test_every_interface_has_a_client_that_is_always_there() -> None:
    assert is_there("python", "chat")
    assert is_there("python", "responses")
