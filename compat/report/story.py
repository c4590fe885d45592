"""A world told as a short story: what the agent has, what is said, what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compat.report.conform_text import counted
from refengine.testing.notation import parse_message
from refengine.testing.ops import ToolSpec
from refengine.testing.scenario import (
    AgentSpec,
    ModelChunks,
    ModelFailure,
    RunSpec,
    Scenario,
    ScriptEntry,
)

LONGEST = 100
"""So many characters of one text are shown; the reproducer has all of them."""


def story(world: Scenario) -> Iterator[str]:
    """Yield the lines of a story: agent, runs, the model's answers in order."""
    for agent in world.all_agents:
        yield from _agent(agent)
    for number, run in enumerate(world.runs, 1):
        yield f"run {number}: {_run(run)}"
        if run.resume is None:
            yield from _messages(run.input)
    if world.model_script:
        yield "the model answers, call by call:"
        yield from (f"    {_answer(entry)}" for entry in world.model_script)
    elif world.runs:
        yield 'the model answers "EXHAUSTED"'
    if world.script_end != "exhausted":
        end = {"repeat_last": "and then the same again", "fail": "and then fails"}
        yield f"    {end[world.script_end]}"


def short(text: str) -> str:
    """Return a text in one line, the middle of a long one left out."""
    line = plain(text)
    if len(line) <= LONGEST:
        return line
    half = LONGEST // 2 - 8
    left_out = len(line) - 2 * half
    return f"{line[:half]}…({left_out} more)…{line[-half:]}"


def plain(text: str) -> str:
    """Return a text in one line."""
    line = text.encode("utf-8", "backslashreplace").decode()
    return line.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def message_line(message: Mapping[str, Any]) -> str:
    """Return a message of a trace in one line: role and name, content, calls."""
    calls = "".join(
        f" [{call.get('id', '')}: {call['name']}({call.get('arguments', '')})]"
        for call in message.get("tool_calls", ())
    )
    whose = f" ({message.get('tool_call_id')})" if message["role"] == "tool" else ""
    named = f" {message['name']!r}" if message.get("name") else ""
    said = message.get("content") or ("" if calls else '""')
    return f"{message['role']}{named}{whose}: {said}{calls if said else calls[1:]}"


def _agent(agent: AgentSpec) -> Iterator[str]:
    if agent.instruction:
        yield f'instruction: "{short(agent.instruction)}"'
    for tool in agent.tools:
        yield f"tool {_tool(tool)}"
    if agent.return_directly:
        yield f"return_directly: {agent.return_directly}"
    for what in ("tool_call_middlewares", "middlewares", "handlers"):
        for each in getattr(agent, what):
            yield f"neighbour in {what}: {each.model_dump_json(exclude_defaults=True)}"
    if agent.max_iterations != 20:
        yield f"max_iterations: {agent.max_iterations}"
    if agent.sequential:
        yield "calls of one message run one after the other"
    if agent.unknown_tools_handler is not None:
        yield f'unknown tools answer "{short(agent.unknown_tools_handler)}"'


def _tool(tool: ToolSpec) -> str:
    text = f"{tool.name} ({tool.kind})"
    if tool.error is not None:
        return f"{text}, which fails with {tool.error!r}"
    cut = (tool.result,) if tool.chunks is None else tool.chunks
    given = ", ".join(f'"{short(chunk)}"' for chunk in cut) or "nothing"
    asks = any(op.op in {"ask", "interrupt"} for op in tool.body)
    then = ", and asks before" if asks or tool.interrupt is not None else ""
    if tool.stream_error is not None and tool.kind != "invokable":
        then += f", and when streamed then fails with {tool.stream_error!r}"
    return f"{text}, which gives {given}{then}"


def _run(run: RunSpec) -> str:
    how = "streaming" if run.streaming else "in one piece"
    if run.resume is not None:
        how = f"goes on with {run.resume!r}, answers {_answers(run)}"
    parts = [how]
    if run.continues:
        parts.append("a later turn of the thread")
    if run.steps is not None:
        parts.append(f"at most {counted(run.steps, 'step')}")
    if run.options:
        parts.append(f"options {run.options}")
    if run.checkpoint is not None:
        parts.append(f"kept as {run.checkpoint!r}")
    if run.denies:
        parts.append(f"a person denies {', '.join(run.denies)}")
    if run.replies:
        said = ", then ".join(each.kind for each in run.replies)
        parts.append(f"a person who is asked says {said}")
    parts += [f"as {door} alone {given}" for door, given in run.doors.items()]
    if run.cancel is not None:
        parts.append(f"cancelled at {run.cancel.when} {run.cancel.nth}")
    return ", ".join(parts)


def _answers(run: RunSpec) -> str:
    given = [each.model_dump(exclude_defaults=True) for each in run.targets]
    return str(given or run.answers)


def _messages(texts: Sequence[str]) -> Iterator[str]:
    if not texts:
        yield "    (no message)"
    yield from (f"    {_said(text)}" for text in texts)


def _answer(entry: ScriptEntry) -> str:
    if isinstance(entry, ModelFailure):
        return f"an error, {entry.error!r}"
    if isinstance(entry, ModelChunks):
        pieces = " | ".join(map(_said, entry.chunks))
        failed = f", then the error {entry.stream_error!r}"
        return f"in chunks: {pieces}{failed if entry.stream_error else ''}"
    return _said(entry)


def _said(text: str) -> str:
    message = parse_message(text)
    calls = "".join(
        f" [{c.id}: {c.name}({short(c.arguments)})]" for c in message.tool_calls
    )
    whose = f" ({message.tool_call_id})" if message.role == "tool" else ""
    named = f" {message.name!r}" if message.name else ""
    beside = "".join(
        f" ({key.replace('_', ' ')}: {short(str(each))})"
        for key, each in message.extra.items()
    )
    return f"{message.role}{named}{whose}: {short(message.content)}{calls}{beside}"
