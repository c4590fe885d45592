"""A world as a few lines of code, in the words of who wrote the middleware.

    tools = [tool("refund", gives="paid")]
    model = [call("refund", id="c1"), "Done."]
    agent.run("Hello", person_denies=["c1"])

It is read and not run: a reproducer is what runs. Python's syntax is what everybody
who reads it knows, and it says in a line what a story takes five for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import indent
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from pydantic import BaseModel

from compat.report.conform_text import counted
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.notation import NotationError, parse_message
from refengine.testing.scenario import (
    AgentSpec,
    HandOverPoint,
    ModelChunks,
    ModelFailure,
    ReplySpec,
    RunSpec,
    Scenario,
    ScriptEntry,
)

WIDE: Final = 76
"""So long is a line at most, where it can be divided."""
LONGEST: Final = 60
"""So many characters of a text are shown; a longer one has its length beside it."""
PERIOD: Final = 24
"""A text that repeats so many characters is written as a product."""

AGENT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "instruction": "instruction",
        "tools": "tools",
        "return_directly": "return_directly",
        "max_iterations": "max_iterations",
        "sequential": "one_call_at_a_time",
        "unknown_tools_handler": "unknown_tools_answer",
        "output_key": "output_key",
        "retry": "retry",
        "tool_call_middlewares": "other_tool_middlewares",
        "middlewares": "other_middlewares",
        "handlers": "other_handlers",
    }
)
"""Fields of an agent by the name that they have in the code, in its order."""
TOOL: Final[Mapping[str, str]] = MappingProxyType(
    {
        "parameters": "parameters",
        "result": "gives",
        "chunks": "gives_in_pieces",
        "by_call": "gives_by_call",
        "error": "fails_with",
        "stream_error": "then_fails_with",
        "interrupt": "asks",
        "body": "does",
        "delay_ms": "takes_ms",
        "at_most_once": "at_most_once",
    }
)
RUN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "streaming": "stream",
        "continues": "later_turn",
        "options": "options",
        "doors": "given_as",
        "steps": "steps",
        "denies": "person_denies",
        "agent": "agent",
        "checkpoint": "kept_as",
        "resume": "resumes",
        "targets": "answers_to",
        "answers": "answers",
        "rebuild": "with_new_objects",
        "cancel": "cancelled_at",
        "after": "then_the_caller",
    }
)
Called: TypeAlias = "Mapping[str, tuple[str, str]]"
"""Calls by id: the name of a tool, and its arguments."""
ENDS: Final[Mapping[str, str]] = MappingProxyType(
    {"repeat_last": "  # and then the last again", "fail": "  # and then it fails"}
)


HANDED: Final[Mapping[HandOverPoint, str]] = MappingProxyType(
    {
        "interrupted": "# OLD runs it until it asks; then NEW has what OLD kept",
        "between turns": "# OLD runs the first of them; then NEW has what OLD kept",
        "failed": "# OLD runs it until a tool fails; then NEW has what OLD kept",
    }
)


def code(world: Scenario, called: Called = MappingProxyType({})) -> Iterator[str]:
    """Yield the lines: what the agents have, what the model answers, the runs.

    A world calls the tools of a subject by their place; ``called`` are what they are
    named and what they are given, by the id of a call.
    """
    agents = world.all_agents
    for number, agent in enumerate(agents):
        if len(agents) > 1:
            yield f"# agent {number}{f', {agent.name}' if agent.name else ''}"
        yield from _agent(agent)
    answers = [_answer(each, called) for each in world.model_script]
    end = ENDS.get(world.script_end, "")
    if answers:
        yield from _assigned("model", answers, end)
    elif world.runs and not end:
        yield 'model = []  # whatever it is asked, it answers "EXHAUSTED"'
    for run in world.runs:
        yield from _run(run)
    if not world.runs and not answers:
        yield "# nothing is run: it shows while the agent is built"
    if any(run.continues == "thread" for run in world.runs):
        yield "# the caller hands nothing on: OLD keeps its thread, and NEW keeps none"
    if world.hand_over is not None:
        yield HANDED[world.hand_over]


def literal(value: object) -> str:
    """Return a value as it is written in code."""
    if isinstance(value, BaseModel):
        return literal(value.model_dump(mode="json", exclude_defaults=True))
    if isinstance(value, str):
        return _text(value)
    if is_mapping(value):
        each = (f"{_text(key)}: {literal(one)}" for key, one in value.items())
        return f"{{{', '.join(each)}}}"
    if is_list(value):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)


def _text(text: str) -> str:
    if len(text) <= LONGEST:
        return _quoted(text)
    unit = next((n for n in range(1, PERIOD + 1) if text[n:] == text[:-n]), 0)
    if not unit:
        return f"long({_quoted(f'{text[: LONGEST // 2]}…')}, characters={len(text)})"
    times, rest = divmod(len(text), unit)
    if not rest:
        return f"{_quoted(text[:unit])} * {times}"
    return f"({_quoted(text[:unit])} * {times + 1})[:{len(text)}]"


def _quoted(text: str) -> str:
    if '"' in text and "'" not in text and text.isprintable() and text[-1] != "\\":
        return f"{'r' if chr(92) in text else ''}'{text}'"
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _agent(agent: AgentSpec) -> Iterator[str]:
    for field, name in AGENT.items():
        value = getattr(agent, field)
        usual = type(agent).model_fields[field].get_default(call_default_factory=True)
        if value == usual:
            continue
        if field == "tools":
            yield from _assigned(name, [_tool(each) for each in value])
        elif isinstance(value, tuple):
            each_one = cast("tuple[object, ...]", value)
            yield from _assigned(name, [*map(literal, each_one)])
        else:
            yield f"{name} = {literal(value)}"


def _tool(tool: Any) -> str:  # noqa: ANN401  # a ToolSpec
    kind = {"streamable": ["stream=True"], "both": ['stream="if asked"']}
    given = [_text(tool.name), *_given(tool, TOOL), *kind.get(tool.kind, [])]
    return f"tool({', '.join(given)})"


def _given(spec: BaseModel, names: Mapping[str, str]) -> Iterator[str]:
    """Yield what of it is not as it is by default, as arguments."""
    said = spec.model_fields_set
    whole = spec.model_dump(mode="json", exclude_defaults=True)
    for field, name in names.items():
        if field in said and field in whole:
            yield f"{name}={literal(whole[field])}"


def _answer(entry: ScriptEntry, called: Called) -> str:
    if isinstance(entry, ModelFailure):
        return f"error({_text(entry.error)})"
    if isinstance(entry, ModelChunks):
        pieces = [_message(each, "assistant", called) for each in entry.chunks]
        if entry.stream_error:
            pieces.append(f"then=error({_text(entry.stream_error)})")
        return f"pieces({', '.join(pieces)})"
    return _message(entry, "assistant", called)


def _run(run: RunSpec) -> Iterator[str]:
    given = [*_given(run, RUN)]
    if run.replies:
        given.append(f"person_answers={literal([*map(_reply, run.replies)])}")
    if run.resume is None:
        given.insert(0, _input(run.input))
    yield from _called("agent.run", given).splitlines()


def _reply(reply: ReplySpec) -> object:
    return reply.kind if reply.value is True else {reply.kind: reply.value}


def _input(messages: Sequence[str]) -> str:
    """Return what a run is given; what is repeated stands there once."""
    if len(messages) == 1:
        return _message(messages[0])
    said = [
        (_message(text, plain=""), len([*same])) for text, same in groupby(messages)
    ]
    lists: list[str] = []
    for once, some in groupby(said, lambda each: each[1] == 1):
        if once:
            lists.append(_listed([each for each, _ in some]))
        else:
            lists += [f"[{each}] * {times}" for each, times in some]
    return " + ".join(lists)


def _listed(values: Sequence[str]) -> str:
    """Return a list in a line, or with a line for each value where it is long."""
    line = f"[{', '.join(values)}]"
    if len(line) <= WIDE:
        return line
    return "\n".join(["[", *(indent(f"{each},", "    ") for each in values), "]"])


def _called(name: str, given: Sequence[str]) -> str:
    """Return a call in a line, or with a line for each argument where it is long."""
    line = f"{name}({', '.join(given)})"
    if not given or ("\n" not in line and len(line) <= WIDE):
        return line
    return "\n".join([f"{name}(", *(indent(f"{each},", "    ") for each in given), ")"])


def _message(
    text: str,
    plain: str = "user",
    called: Called = MappingProxyType({}),
) -> str:
    """Return a message; one of the role ``plain`` that only says something, as text."""
    try:
        message = parse_message(text)
    except NotationError:
        return _text(text.removeprefix(f"{plain}:"))
    if message.tool_calls:
        return _calls(message, called)
    if message.role == plain and not _more(message):
        return _text(message.content)
    given = [_text(message.content), *_more(message)]
    name = "result" if message.role == "tool" else message.role
    return f"{name}({', '.join(given)})"


def _calls(
    message: Any,  # noqa: ANN401  # a Message
    called: Called,
) -> str:
    calls: list[str] = []
    for each in message.tool_calls:
        name, arguments = each.name, each.arguments
        if "<" in name:
            name, arguments = called.get(each.id or "", (name, arguments))
        of = [] if arguments in {"", "{}"} else [_arguments(arguments)]
        given = [_text(name), *of, f"id={_text(each.id or '')}"]
        calls.append(f"call({', '.join(given)})")
    if not message.content and len(calls) == 1:
        return calls[0]
    said = [_text(message.content)] if message.content else []
    return _called("calls", [*said, *calls])


def _arguments(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return _text(text)
    return literal(found) if is_mapping(found) else _text(text)


def _more(message: Any) -> list[str]:  # noqa: ANN401  # a Message
    """Return what a message has beside what it says, as arguments."""
    named = {"of": message.tool_call_id, "name": message.name, **message.extra}
    return [f"{key}={literal(each)}" for key, each in named.items() if each is not None]


def _assigned(name: str, values: Sequence[str], end: str = "") -> Iterator[str]:
    """Yield a list in a line, or with a line for each value where it is long."""
    line = f"{name} = [{', '.join(values)}]"
    if len(line) <= WIDE:
        yield f"{line}{end}"
        return
    yield f"{name} = ["
    for each, some in groupby(values):
        times = len([*some])
        more = f"  # {counted(times, 'time')}" if times > 1 else ""
        yield from indent(f"{each},{more}", "    ").splitlines()
    yield f"]{end}"
