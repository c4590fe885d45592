"""Mistakes in agents of adk-go that a check is given: a clear line each."""

from collections.abc import Mapping

import pytest

from compat.migration.checking import Checked
from tests.go_support import assert_told, mistaken, needs_go

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
