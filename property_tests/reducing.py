"""A world cut down to what an engine declares, so that it is judged in it all the same.

Without it an engine that has few hooks would be refused most generated worlds and be
judged in a handful. What it does not declare is left out of the scenario; where that
cannot be done without changing what other parts mean, the world is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final, TypeAlias

from compat.engines.capabilities import CAPABILITIES
from compat.engines.needs import is_usual
from refengine.messages import ToolCall, join_chunks
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.notation import (
    SURROGATE,
    encoded,
    parse_chunk,
    parse_message,
    show_message,
    write_message,
)
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import ScenarioError, read_scenario

Doc: TypeAlias = Any  # a scenario as JSON values, changed in place
Calls: TypeAlias = Callable[[tuple[ToolCall, ...]], tuple[ToolCall, ...]]

HOOKS: Final[Mapping[str, str]] = {
    "before_agent": "before_agent",
    "before_model": "before_model",
    "after_model": "after_model",
    "after_agent": "after_agent",
    "wrap_model": "wrap_model",
    "wrap_tool": "wrap_invokable",
    "wrap_streamable": "wrap_streamable",
}
"""By capability: the hook of a handler that needs it."""

STRUCT_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "struct_instruction": ("additional_instruction",),
    "struct_tools": ("additional_tools",),
    "struct_model_hooks": ("before_chat_model", "after_chat_model"),
    "struct_tool_wrappers": ("wrap_tool_call",),
}
"""By capability: the fields of a struct middleware that need it."""

AGENT_FIELDS: Final = ("tool_call_middlewares", "unknown_tools_handler", "sequential")
"""Fields of an agent that are capabilities of the same name."""

NAMES: Final = frozenset(("id", "plain", "waits", "in_place"))
"""Fields of an extension that are not hooks."""

EDITS: Final = (
    *("append_instruction", "append_tools", "remove_tool", "set_tools"),
    *("set_return_directly", "replace_return_directly"),
)
LISTS: Final = ("handlers", "middlewares", "tool_call_middlewares")
"""The extensions of an agent; of several the first of the first list is left."""


def reduced(scenario: Scenario, declared: AbstractSet[str]) -> Scenario:
    """Return the scenario without what is not declared, itself if all of it is."""
    lacking = CAPABILITIES.keys() - declared
    if not lacking:
        return scenario
    doc: Doc = scenario.model_dump(mode="json", exclude_defaults=True)
    if any("same_as" in each for agent in _agents(doc) for each in _handlers(agent)):
        return scenario  # positions are referred to, so none can be taken out
    for agent in _agents(doc):
        _cut_agent(agent, lacking)
    for capability, cut in _CUTS.items():
        if capability in lacking:
            cut(doc)
    try:
        return read_scenario(doc, "a world cut down")
    except ScenarioError:  # then the whole one says what the engine lacks
        return scenario


def _agents(doc: Doc) -> list[Doc]:
    several: list[Doc] = doc.get("agents", [])
    return [doc["agent"]] if "agent" in doc else several


def _handlers(agent: Doc) -> list[Doc]:
    found: list[Doc] = agent.get("handlers", [])
    return found


def _cut_agent(agent: Doc, lacking: AbstractSet[str]) -> None:
    for field in AGENT_FIELDS:
        if field in lacking:
            agent.pop(field, None)
    hooks = [hook for capability, hook in HOOKS.items() if capability in lacking]
    fields = [
        field
        for capability, some in STRUCT_FIELDS.items()
        for field in some
        if capability in lacking
    ]
    for name, parts in (("handlers", hooks), ("middlewares", fields)):
        if name in agent:
            cut = [_without(each, parts) for each in agent[name]]
            agent[name] = [each for each in cut if each.keys() - NAMES]


def _without(extension: Doc, parts: Sequence[str]) -> Doc:
    return {key: value for key, value in extension.items() if key not in parts}


def _invokable_only(doc: Doc) -> None:
    def cut(part: Doc) -> None:
        if part.get("kind") in {"streamable", "both"}:
            part["kind"] = "invokable"
            part.pop("stream_error", None)
            if "chunks" in part:
                part.setdefault("result", "".join(part.pop("chunks")))

    _everywhere(doc, cut)


def _without_edits(doc: Doc) -> None:
    _without_ops(doc, EDITS)


def _without_context(doc: Doc) -> None:
    _without_ops(doc, ("ctx_set", "ctx_append"))
    _everywhere(doc, lambda part: part.pop("ctx_append", None))
    _everywhere(doc, lambda part: part.pop("new_ctx", None))


def _without_ops(doc: Doc, names: tuple[str, ...]) -> None:
    """Take operations out of every list of them."""

    def cut(part: Doc) -> None:
        for key, value in part.items():
            if is_list(value) and any(is_mapping(op) and "op" in op for op in value):
                part[key] = [op for op in value if op.get("op") not in names]

    _everywhere(doc, cut)


def _without_run_locals(doc: Doc) -> None:
    _without_ops(doc, ("runlocal_set", "runlocal_get", "runlocal_delete"))
    _everywhere(doc, lambda part: part.pop("runlocal_get", None))


def _without_flags(doc: Doc) -> None:
    _without_ops(doc, ("set_return_directly", "replace_return_directly"))
    for agent in _agents(doc):
        agent.pop("return_directly", None)


def _one_extension(doc: Doc) -> None:
    for agent in _agents(doc):
        full = [name for name in LISTS if agent.get(name)]
        for name in full[1:]:
            del agent[name]
        for name in full[:1]:
            del agent[name][1:]


def _next_once(doc: Doc) -> None:
    _everywhere(doc, lambda part: part.pop("call_next", None))


def _invoked(doc: Doc) -> None:
    for run in doc.get("runs", []):
        run.pop("streaming", None)


def _first_model_only(doc: Doc) -> None:
    for agent in _agents(doc):
        agent.get("retry", {}).pop("fall_back", None)


def _valid_unicode(doc: Doc) -> None:
    found = json.loads(SURROGATE.sub("?", json.dumps(doc)))
    doc.clear()
    doc.update(found)


def _without_options(doc: Doc) -> None:
    for run in doc.get("runs", []):
        run.pop("options", None)


def _in_one_piece(doc: Doc) -> None:
    """Invoke every run of an agent that wraps its model."""
    agents = _agents(doc)
    for run in doc.get("runs", []):
        if any("wrap_model" in each for each in _handlers(agents[run.get("agent", 0)])):
            run.pop("streaming", None)


def _one_call(doc: Doc) -> None:
    """Leave each message of the model the first of its calls."""
    _with_calls(doc, lambda calls: calls[:1])


def _own_ids(doc: Doc) -> None:
    """Give each call of a message an id that no other one of it has."""
    _with_calls(doc, _numbered)


def _numbered(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    ids = [each.id for each in calls]
    return tuple(
        replace(each, id=f"{each.id}-{at}") if each.id in ids[:at] else each
        for at, each in enumerate(calls)
    )


def _with_calls(doc: Doc, change: Calls) -> None:
    """Change the calls of every message that the model gives or a hook puts in."""
    script = doc.get("model_script", [])
    doc["model_script"] = [_with_changed(each, change) for each in script]

    def cut(part: Doc) -> None:
        if "op" in part and "msg" in part:
            part["msg"] = _with_changed(part["msg"], change)

    _everywhere(doc, cut)


def _with_changed(entry: Doc, change: Calls) -> Doc:
    """Return an answer with other calls; one that changes comes in one piece."""
    if is_mapping(entry) and "chunks" in entry:
        message = join_chunks(map(parse_chunk, entry["chunks"]))
    elif isinstance(entry, str):
        message = parse_message(entry)
    else:
        return entry
    calls = change(message.tool_calls)
    if calls == message.tool_calls or "stream_error" in entry:
        return entry
    return write_message(replace(message, tool_calls=calls))


def _objects_only(doc: Doc) -> None:
    """Let every call have the arguments of an object, as Python writes it."""
    script = doc.get("model_script", [])
    doc["model_script"] = [_with_objects(each) for each in script]

    def cut(part: Doc) -> None:
        if "rewrite_args" in part and not _is_object(part["rewrite_args"]):
            part["rewrite_args"] = "{}"

    _everywhere(doc, cut)


def _with_objects(entry: Doc) -> Doc:
    if is_mapping(entry) and "chunks" in entry:
        return {**entry, "chunks": [_with_objects(each) for each in entry["chunks"]]}
    if not isinstance(entry, str) or not entry.startswith(("assistant:", "tool(")):
        return entry
    message = parse_message(entry)
    return show_message(replace(message, tool_calls=_plain(message.tool_calls)))


def _plain(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    return tuple(
        each
        if is_usual(each.arguments)
        else replace(each, arguments=_usual(each.arguments))
        for each in calls
    )


def _usual(arguments: str) -> str:
    if not _is_object(arguments):
        return "{}"
    written = json.dumps(json.loads(arguments), ensure_ascii=False)
    return json.dumps(json.loads(SURROGATE.sub("?", encoded(written))))


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _everywhere(value: Doc, cut: Callable[[Doc], object]) -> None:
    """Cut every object in a document."""
    if is_mapping(value):
        cut(value)
        for part in tuple(value.values()):
            _everywhere(part, cut)
    elif is_list(value):
        for part in value:
            _everywhere(part, cut)


_CUTS: Final[Mapping[str, Callable[[Doc], None]]] = {
    "streaming": _invoked,
    "streamable_tools": _invokable_only,
    "several_handlers": _one_extension,
    "return_directly": _without_flags,
    "equal_call_ids": _own_ids,
    "parallel_calls": _one_call,
    "next_twice": _next_once,
    "run_locals": _without_run_locals,
    "lone_surrogates": _valid_unicode,
    "edited_config": _without_edits,
    "context": _without_context,
    "run_options": _without_options,
    "streamed_model_wraps": _in_one_piece,
    "arguments_text": _objects_only,
    "fall_back": _first_model_only,
}
"""By capability: what takes out of a document all that needs it."""
CUT: Final = frozenset((*HOOKS, *STRUCT_FIELDS, *AGENT_FIELDS, *_CUTS))
"""The capabilities without which a world is played all the same, cut down."""
