"""Agents of adk-go that a check is given: mistakes are told, own tools observed."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from compat.drivers.flow.subjects import steady
from compat.migration.check import Checked, check_all
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from tests.go_support import HI, assert_told, corpus, mistaken, needs_go

pytestmark = pytest.mark.usefixtures("driver_traffic")

AGENT = """package p

import (
	"errors"
	"os"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/plugin"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/genai"
)

var (
	_ = os.Exit
	_ = errors.New
	_ runner.Config
	_ plugin.Config
	_ session.Service
	_ genai.Content
)

type other struct{ model.LLM }

type hook = agent.BeforeAgentCallback

func desk(llm model.LLM, before hook) (agent.Agent, error) {
	return llmagent.New(llmagent.Config{
		Name: "desk", Model: llm, BeforeAgentCallbacks: []hook{before},
	})
}

func nothing(agent.CallbackContext) (*genai.Content, error) { return nil, nil }

"""
RIGHT = (
    AGENT
    + "func Subject(llm model.LLM) (agent.Agent, error) { return desk(llm, nothing) }"
)
HOOKED = """func Subject(llm model.LLM) (agent.Agent, error) {
	return desk(llm, func(agent.CallbackContext) (*genai.Content, error) { %s })
}
"""
RUNNER = """func Subject(llm model.LLM) (runner.Config, error) {
	root, err := desk(llm, nothing)
	return runner.Config{%s}, err
}
"""
PLUGINS = "PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{nil}}"
MISTAKES = {
    "another-type": (
        AGENT + "func Subject() int { return 1 }",
        2,
        "new new.go: Subject returns a int: return an agent.Agent, or a runner.Config",
    ),
    "a-parameter": (
        AGENT + "func Subject(number int) agent.Agent { return nil }",
        2,
        "new new.go: Subject is a func(int) agent.Agent: write one that takes",
    ),
    "nothing": (
        AGENT + "func Subject() agent.Agent { return nil }",
        2,
        "new new.go: Subject returns nil",
    ),
    "no-agent": (
        AGENT + "func Subject() runner.Config { return runner.Config{} }",
        2,
        "new new.go: Subject returns a runner.Config without an Agent",
    ),
    "own-sessions": (
        AGENT + RUNNER % "Agent: root, SessionService: session.InMemoryService()",
        2,
        "new new.go: Subject returns a runner.Config with services: leave them out",
    ),
    "no-plugin": (
        AGENT + RUNNER % f"Agent: root, {PLUGINS}",
        2,
        "new new.go: Subject returns a nil plugin",
    ),
    "own-model": (
        AGENT + "func Subject() (agent.Agent, error) { return desk(other{}, nothing) }",
        2,
        'new new.go: agent "desk" asks a p.other, which nobody sees: give it the',
    ),
    "error": (
        AGENT + 'func Subject() (agent.Agent, error) { return nil, errors.New("no") }',
        2,
        "new new.go: no",
    ),
    "panics": (
        AGENT + 'func Subject() agent.Agent { panic("not today") }',
        2,
        "new new.go: panic: not today",
    ),
    "ends": (
        AGENT + HOOKED % "os.Exit(3)\n\treturn nil, nil",
        3,
        "new new.go: ended with exit status 3",
    ),
    "hangs": (
        AGENT + HOOKED % "select {}",
        3,
        "new new.go: gave no answer within 2 s",
    ),
}


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Checked]:
    """Return what is said of each mistake; one driver is built of them all."""
    return mistaken(tmp_path_factory.mktemp("mistakes"), RIGHT, MISTAKES)


@needs_go
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_an_agent_of_adk_go_is_one_clear_line(
    faults: Mapping[str, Checked], mistake: str
) -> None:
    assert_told(faults[mistake], MISTAKES[mistake])


TOOLS = """package p

import (
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
)

type asked struct {
	Q string `json:"q"`
}

// Made once, as people do, and not for each agent.
var look, _ = functiontool.New(functiontool.Config{Name: "look", Description: "looks"},
	func(_ tool.Context, in asked) (map[string]any, error) {
		return map[string]any{"found": in.Q}, nil
	})

type set struct{}

func (set) Name() string { return "set" }

func (set) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	return []tool.Tool{look}, nil
}

var _ tool.Toolset = set{}

func instead(_ tool.Context, _ tool.Tool, in map[string]any) (map[string]any, error) {
	return map[string]any{"found": in["q"]}, nil
}

var _ llmagent.BeforeToolCallback = instead

func Subject(llm model.LLM) (agent.Agent, error) {
	return llmagent.New(llmagent.Config{Name: "desk", Model: llm, %s})
}
"""
SET = "Toolsets: []tool.Toolset{set{}}"
INSTEAD = f"{SET}, BeforeToolCallbacks: []llmagent.BeforeToolCallback{{instead}}"


@needs_go
def test_tools_of_a_toolset_are_observed_as_those_of_an_agent_are(
    tmp_path: Path,
) -> None:
    files = {"old.go": "Tools: []tool.Tool{look}", "set.go": SET, "not.go": INSTEAD}
    for name, has in files.items():
        (tmp_path / name).write_text(TOOLS.replace("%s", has), "utf-8")
    old, *news = (parse_ref(name, cwd=tmp_path) for name in files)
    looks = {**HI, "model_script": ['assistant:[1:look({"q":"a"})]', "assistant:hi"]}

    found = check_all(
        old,
        {each.text: (each, Terms("identical")) for each in news},
        corpus(looks, looks),  # the second agent has the tool that the first one had
        CheckOptions(timeout=60),
        explain=False,
    )

    of_set, not_run = (each.verdict for each in found.values())
    assert of_set.fault is None
    assert of_set.sufficient
    assert not_run.divergence is not None
    assert not_run.divergence.code == "MISSING_CALL"


@pytest.mark.parametrize(
    ("said", "one_order"),
    [
        ("Available tools: b, a", "Available tools: a, b"),
        ('unexpected additional properties ["b" "a"]!', '["a" "b"]!'),
        (r"unexpected additional properties [\"b\" \"a\"]", r"[\"a\" \"b\"]"),
        ("other properties [b a]", "[b a]"),
    ],
)
def test_what_go_lists_in_the_order_of_a_map_has_one_order(
    said: str, one_order: str
) -> None:
    [found] = cast("list[str]", steady([said]))

    assert found.endswith(one_order)
    assert len(found) == len(said)


MASKS = """package p

import (
	"strings"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
)

func mask(
	_ agent.CallbackContext, asked *model.LLMRequest,
) (*model.LLMResponse, error) {
	for _, content := range asked.Contents {
		for _, part := range content.Parts%s {
			part.Text = strings.ReplaceAll(part.Text, "secret", "*")
		}
	}
	return nil, nil
}

func Subject(llm model.LLM) (agent.Agent, error) {
	return llmagent.New(llmagent.Config{
		Name: "desk", Model: llm,
		BeforeModelCallbacks: []llmagent.BeforeModelCallback{mask},
	})
}
"""


@needs_go
def test_the_second_part_of_a_message_is_there_to_be_masked(tmp_path: Path) -> None:
    for name, some in {"old.go": "", "first.go": "[:1]"}.items():
        (tmp_path / name).write_text(MASKS.replace("%s", some), "utf-8")
    old, first = (parse_ref(name, cwd=tmp_path) for name in ("old.go", "first.go"))
    says = {**HI, "runs": [{"input": ["user:a ␞secret"]}]}

    found = check_all(
        old,
        {"first": (first, Terms())},
        corpus(says),
        CheckOptions(timeout=60),
        explain=False,
    )

    divergence = found["first"].verdict.divergence
    assert divergence is not None
    assert divergence.code == "MESSAGE_CHANGED"
