"""Each row of docs/migrating-from-adk-callbacks.md is played."""

import asyncio
import re
from pathlib import Path

import pytest

from compat.adapters.flow.plugins import CALLBACK_HOOKS
from compat.dialects.flow import (
    LlmAgent,
    LlmResponse,
    Plugin,
    function_tool,
    text_content,
)
from compat.dialects.flow.profile import FLOW_PROFILES
from tests.flow_port_worlds import SMALLEST
from tests.flow_support import ScriptedModel, calls, run, runner_of, saying, tool
from tests.test_docs import blocks, output_of

PAGE = "docs/migrating-from-adk-callbacks.md"
TEXT = (Path(__file__).parent.parent / PAGE).read_text("utf-8")
ROWS = [
    [cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")]
    for line in re.findall(r"^\| .*\|$", TEXT, re.MULTILINE)
]
VALUES = {
    "agent": text_content("model", "early"),
    "model": LlmResponse(content=text_content("model", "early")),
    "tool": {"v": "early"},
}
FAILING = {"on_model_error": "model", "on_tool_error": "tool"}


def test_the_page_shows_what_it_prints() -> None:
    shown = [code for language, code in blocks(PAGE) if not language]

    assert "".join(shown) == output_of(PAGE)


def test_every_cause_has_a_row_with_its_profile() -> None:
    rows = {row[0]: row[4].strip(" |") for row in ROWS if len(row) == 5}
    rows.pop("cause")

    assert rows == {cause: each.profile for cause, each in SMALLEST.items()}


def test_every_hook_has_a_row() -> None:
    hooks = [row[0] for row in ROWS if len(row) == 4 and row[0] != "callback"]

    assert sorted(hooks) == sorted(CALLBACK_HOOKS)


def broken():
    raise ValueError("broken")


def asked(hook, profile, *, plugin):
    """Return the hooks that are asked where two of them are, and the first gives."""
    log: list[str] = []
    kind = hook.split("_")[1] if hook not in FAILING else FAILING[hook]

    def early(*_):
        log.append("early")
        return VALUES[kind]

    script = [calls("f"), "ok"] if kind == "tool" else ["ok"]
    if hook == "on_model_error":
        script = [ValueError("down")]
    hooks = {each: saying(log, each) for each in CALLBACK_HOOKS}
    tools = [tool("f")]
    if hook == "on_tool_error":
        tools = [function_tool(broken, name="f")]
    callbacks = {**hooks, hook: [early, saying(log, "later")]}
    given = {**hooks, hook: saying(log, "later")} if plugin else callbacks
    agent = LlmAgent(name="a", model=ScriptedModel(*script), tools=tools, **given)
    plugins = [Plugin(name="p", **{hook: early})] if plugin else []
    asyncio.run(run(runner_of(agent, *plugins, profile=profile.name)))
    return log


SILENCED = {
    "before_agent": {"later", "before_model", "after_model", "after_agent"},
    "after_agent": {"later"},
    "before_model": {"later", "after_model"},
    "after_model": {"later"},
    "on_model_error": {"later"},
    "before_tool": {"later"},
    "after_tool": {"later"},
    "on_tool_error": {"later"},
}


@pytest.mark.parametrize("plugin", [False, True], ids=["callback", "plugin"])
@pytest.mark.parametrize("profile", FLOW_PROFILES, ids=lambda each: each.name)
@pytest.mark.parametrize("hook", CALLBACK_HOOKS)
def test_a_value_silences_what_the_row_says(hook, profile, plugin) -> None:
    log = asked(hook, profile, plugin=plugin)

    assert "early" in log
    assert not SILENCED[hook] & {*log}
    if hook == "before_tool":
        assert "after_tool" in log
    if hook == "on_model_error":
        assert "after_model" in log
