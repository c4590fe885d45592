"""The page of the protocol: what it shows is what happens, and what the schema says."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

from compat import drivers
from compat.drivers import saying
from compat.drivers.flow import serving
from compat.drivers.remote import RemoteEngine
from refengine.testing.clock import run
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from tests.driver_traffic import (
    DIALECT_METHODS,
    METHODS,
    PARTS,
    SCHEMA,
    By,
    Frame,
    broken,
    checked,
    watched,
)
from tests.test_drivers import driver

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("protocol.md", "protocol-dialects.md")
PAGE = "\n".join((DOCS / each).read_text("utf-8") for each in PAGES)
SHARED = {
    name: method
    for name, method in DIALECT_METHODS["stream-loop"].items()
    if DIALECT_METHODS["callbacks"].get(name) == method
}
"""What a stream loop and sessions have in common."""
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [found[2] for found in BLOCK.finditer(PAGE) if found[1] == language]


def shown(block: str) -> list[Frame]:
    sides: dict[str, By] = {"→": "harness", "←": "driver"}
    return [(sides[line[0]], json.loads(line[2:])) for line in block.splitlines()]


def test_the_schema_has_what_it_names_and_nothing_else() -> None:
    text = json.dumps(SCHEMA)

    named = set(re.findall(r'"#/\$defs/(\w+)"', text))

    assert named | {"FailureTold"} == set(PARTS)


def test_every_word_of_the_schema_is_one_that_traffic_is_held_against() -> None:
    for name, part in PARTS.items():
        assert [*broken(part, {"no such field": 1}, name)] != []
        for field, said in part["properties"].items():
            list(broken(said, None, f"{name}.{field}"))


@pytest.mark.parametrize(
    ("field", "value", "wrong"),
    [
        ("agent", "1", ["build.agent: '1' is of no type integer"]),
        ("agent", True, ["build.agent: True is of no type integer"]),
        ("config", None, ["build.config: None is of no type object"]),
        ("dialect", "flow", ["build.dialect: 'flow' is none of ['stream-loop']"]),
        ("more", 1, ["build: nobody knows more"]),
    ],
)
def test_a_frame_that_breaks_the_schema_is_named(
    field: str, value: object, wrong: list[str]
) -> None:
    config = {
        "form": "own",
        "instruction": "",
        "tools": [{"tool": 1, "name": "t", "description": ""}],
        "limits": {"tool_seconds": 0.5},
        "next_prompt": None,
    }
    params = {"agent": 1, "dialect": "stream-loop", "config": config}
    said = DIALECT_METHODS["stream-loop"]["build"]["params"]

    assert [*broken(said, params, "build")] == []
    assert [*broken(said, {**params, field: value}, "build")] == wrong


def test_the_page_shows_a_call_and_a_reply_of_every_method() -> None:
    seen = set().union(*(checked(shown(block)) for block in blocks("frames")))

    assert {name for _, name in seen} == set(METHODS)


@pytest.mark.parametrize("dialect", DIALECT_METHODS)
def test_the_page_shows_what_each_dialect_has_of_its_own(dialect: str) -> None:
    methods = DIALECT_METHODS[dialect]
    frames = [x for y in blocks(dialect.replace("-", "_")) for x in shown(y)]

    seen = {name for _, name in checked(frames, methods)}

    assert {name for name, each in methods.items() if SHARED.get(name) != each} <= seen


def test_the_page_shows_what_all_dialects_have() -> None:
    methods = DIALECT_METHODS["stream-loop"]
    frames = [each for block in blocks("stream_loop") for each in shown(block)]

    seen = {name for _, name in checked(frames, methods)}

    assert {name for name in SHARED if METHODS.get(name) != SHARED[name]} <= seen


def test_the_page_says_of_every_method_what_it_is_for() -> None:
    prose = BLOCK.sub("", PAGE)
    tables = (METHODS, *DIALECT_METHODS.values())

    names = {name for table in tables for name in table}
    assert [name for name in sorted(names) if f"`{name}`" not in prose] == []


def test_the_page_lists_each_kind_of_an_engines_own_errors() -> None:
    section = PAGE.partition("\n## Errors\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|.*\| `(\w+)` \|$", section, re.MULTILINE)

    assert dict(rows) == {
        kind: type(make("tool t not found", 1)).__name__
        for kind, make in saying.KINDS.items()
    }


def test_the_page_lists_each_kind_of_errors_of_a_flow() -> None:
    [listed] = re.findall(r"`kind` is one of (.*)\.$", PAGE, re.MULTILINE)
    source = Path(drivers.__file__).parent / "go" / "adk" / "kinds.go"
    said = re.findall(r'", "(\w+)"\},$', source.read_text("utf-8"), re.MULTILINE)

    assert set(re.findall(r"`(\w+)`", listed)) == {*said, *serving.FLOW_KINDS}


def test_the_session_of_the_page_goes_as_it_shows() -> None:
    [code], [output] = blocks("python"), blocks("")
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(compile(code, "protocol.md", "exec"), {})  # noqa: S102  # our page

    assert printed.getvalue() == output


def test_all_that_goes_to_a_driver_and_back_keeps_to_the_schema(tmp_path: Path) -> None:
    command = driver(tmp_path)
    agent = {
        "tools": [{"name": "t", "result": "r", "delay_ms": 5}],
        "handlers": [{"id": "H", "before_model": [{"op": "record"}]}],
    }
    scenario = {"agent": agent, "model_script": ["assistant:[1:t({})]"], "runs": [{}]}

    with watched() as seen:
        run(play(read_scenario(scenario), RemoteEngine("mine", lambda: command)))

    assert {name for _, name in seen} >= {"run", "model", "tool", "settle"}
