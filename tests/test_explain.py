"""The resolved order of an agent, as text and as a picture."""

import pytest

from refengine import AgentMiddleware, ToolMiddleware, ToolsConfig
from refengine.explain import AGAIN
from refengine.profile import EINO_0_8
from refengine.state import Checkpoints, MemoryStore
from tests.support import build, run

pytestmark = pytest.mark.filterwarnings(
    "ignore::refengine.MixedExtensionsWarning"  # both lists at once are the point here
)


class Audit:
    """Takes part in a pipeline and in both kinds of onion."""

    name = 'audit "log"'

    def after_model_rewrite_history(self, ctx, messages):
        return ctx, messages

    async def wrap_model_call(self, ctx, request, next):
        return await next(ctx, request)

    async def wrap_invokable_tool_call(self, ctx, input, next):
        return await next(ctx, input)


def both_lists(**more):
    wrap = ToolMiddleware(invokable=lambda inner: inner)
    struct = AgentMiddleware(after_chat_model=lambda *_: None, wrap_tool_call=wrap)
    config = ToolsConfig(tool_call_middlewares=[wrap])
    return run(build(Audit(), middlewares=[struct], tools_config=config, **more))


def section(text, title):
    """Return the lines under a title, up to the next one."""
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(title)) + 1
    ends = (at for at in range(start, len(lines)) if not lines[at].startswith(" "))
    return [line.strip() for line in lines[start : next(ends, len(lines))]]


def test_tool_onion_is_config_then_middlewares_then_handlers():
    assert section(both_lists().explain(), "around an invokable tool") == [
        "tool_call_middlewares[0] · tool_call_middlewares",
        "middleware[0] · wrap_tool_call",
        'audit "log" · wrap_invokable_tool_call',
    ]


def test_after_hooks_stand_in_the_order_of_the_profile():
    handlers, middlewares = (
        'audit "log" · after_model_rewrite_history',
        "middleware[0] · after_chat_model",
    )

    assert section(both_lists().explain(), "after model") == [middlewares, handlers]
    assert section(both_lists(profile=EINO_0_8).explain(), "after model") == [
        handlers,
        middlewares,
    ]


def test_what_nobody_takes_part_in_is_said_so():
    text = both_lists().explain()

    assert "before model, in order: nobody" in text
    assert text.startswith("agent 'agent' under seed-001\n")


def test_picture_closes_every_box_and_escapes_quotes():
    lines = [line.strip() for line in both_lists().explain("mermaid").splitlines()]
    opened = [line for line in lines if line.startswith("subgraph ")]

    assert lines[0] == "flowchart TD"
    assert len(opened) == lines.count("end")
    assert any("audit #quot;log#quot;" in line for line in opened)


def test_wrappers_of_an_agent_that_keeps_its_runs_are_marked():
    text = both_lists(checkpoints=Checkpoints(MemoryStore())).explain()

    assert section(text, "around an invokable tool") == [
        f"tool_call_middlewares[0] · tool_call_middlewares {AGAIN}",
        f"middleware[0] · wrap_tool_call {AGAIN}",
        f'audit "log" · wrap_invokable_tool_call {AGAIN}',
    ]
    assert section(text, "around the model") == [
        f'audit "log" · wrap_model_call {AGAIN}'
    ]
    assert AGAIN not in "".join(section(text, "after model"))
    assert text.splitlines()[-1].startswith(AGAIN)


def test_the_picture_marks_them_too_and_nothing_is_marked_where_nothing_is_kept():
    kept = both_lists(checkpoints=Checkpoints(MemoryStore()))

    assert f"wrap_model_call {AGAIN}" in kept.explain("mermaid")
    assert AGAIN not in both_lists().explain() + both_lists().explain("mermaid")
