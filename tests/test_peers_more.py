"""pydantic-ai, agent-framework and strands: each does the work it is measured for."""

import asyncio
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from benchmarks.peers.peer import (
    ANSWER,
    PeerCounts,
    admit,
    counted,
    peer_named,
    watched,
)

BEFORE = "before_model_rewrite_history"
MODEL = "wrap_model_call"
TOOL = "wrap_invokable_tool_call"

PEERS = {
    "pydantic-ai": "pydantic_ai",
    "agent-framework": "agent_framework",
    "strands": "strands",
}
HOOKS = [
    ("pydantic-ai", "before_model_request", BEFORE, 2),
    ("pydantic-ai", "Hooks.on.before_model_request", BEFORE, 2),
    ("pydantic-ai", "wrap_model_request", MODEL, 2),
    ("pydantic-ai", "wrap_tool_execute", TOOL, 1),
    ("agent-framework", "AgentMiddleware", "after_agent", 1),
    ("agent-framework", "ChatMiddleware", MODEL, 2),
    ("agent-framework", "FunctionMiddleware", TOOL, 1),
    ("strands", "BeforeModelCallEvent", BEFORE, 2),
    ("strands", "InvokeModelStage.Wrap", MODEL, 2),
    ("strands", "ExecuteToolStage.Wrap", TOOL, 1),
]


def variants_of(peer):
    """Return the variants by hook, or skip: the framework is not part of the tests."""
    module = PEERS[peer]
    if find_spec(module) is None:
        pytest.skip(f"{peer} is not installed: there is no module {module}")
    return {each.hook: each for each in peer_named(peer).variants()}


async def awaited(work):
    return await work()


def printed_by(code):
    child = [sys.executable, "-c", code]
    return subprocess.run(
        child, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.parametrize("peer", PEERS)
def test_peer_has_these_hooks(peer):
    found = [(peer, v.hook, v.ours, v.calls) for v in variants_of(peer).values()]

    assert found == [row for row in HOOKS if row[0] == peer]


@pytest.mark.parametrize("peer", PEERS)
def test_framework_is_not_imported_before_its_variants_are_asked_for(peer):
    code = (
        "import sys; from benchmarks.peers.peer import peer_named;"
        f" peer_named({peer!r}); print({PEERS[peer]!r} in sys.modules)"
    )

    assert printed_by(code) == "False"


@pytest.mark.parametrize("n", [0, 1, 2, 10])
@pytest.mark.parametrize(("peer", "hook", "ours", "calls"), HOOKS)
def test_each_of_three_runs_makes_exactly_its_calls(peer, hook, ours, calls, n):
    variant, seen = variants_of(peer)[hook], PeerCounts()
    work = variant.build(n, seen)

    async def three_runs():
        return [(await work(), seen.model, seen.tool, seen.hooks) for _ in range(3)]

    runs = asyncio.run(three_runs())

    assert runs == [(ANSWER, 2 * at, at, at * n * calls) for at in (1, 2, 3)]


@pytest.mark.parametrize(("peer", "hook", "ours", "calls"), HOOKS)
def test_each_is_admitted_by_the_gate(peer, hook, ours, calls):
    asyncio.run(admit(variants_of(peer)[hook], 2))


@pytest.mark.parametrize(("peer", "hook", "ours", "calls"), HOOKS)
def test_without_seen_the_run_answers_alike(peer, hook, ours, calls):
    assert asyncio.run(awaited(variants_of(peer)[hook].build(2, None))) == ANSWER


def test_run_of_strands_keeps_nothing_for_the_next():
    variants_of("strands")
    from benchmarks.peers.frameworks.strands import agent_of, run_of

    agent: Any = agent_of(None)  # of a framework that not everybody installs
    work = run_of(agent)
    for _ in range(3):
        asyncio.run(awaited(work))

    assert [each["role"] for each in agent.messages] == ["user", "assistant"] * 2
    assert agent.event_loop_metrics.cycle_count == 2


class Part:
    async def hook(self, given):
        return given


def test_part_without_seen_is_left_as_it_is():
    part = Part()

    assert watched(part, "hook", None) is part
    assert vars(part) == {}
    assert counted(part.hook, None, "tool") == part.hook


@pytest.mark.parametrize("what", ["model", "tool", "hooks"])
def test_counted_function_counts_and_passes_on(what):
    seen = PeerCounts()
    work = counted(Part().hook, seen, what)

    assert asyncio.run(work("given")) == "given"
    assert seen == PeerCounts(**{what: 1})


def test_watched_method_counts_and_passes_on():
    seen = PeerCounts()
    part = watched(Part(), "hook", seen)

    assert asyncio.run(part.hook("given")) == "given"
    assert seen == PeerCounts(hooks=1)
