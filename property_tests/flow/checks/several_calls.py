"""Checks of several calls in one response, of confirmations and of streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from property_tests.dialects.decision import DialectDecision
from property_tests.dialects.dialect import DialectCheck
from property_tests.flow.view import EventSeen, FlowTurn, FlowView, response_in
from refengine.messages import NOTHING

Decisions = Iterator[DialectDecision]

ASKING: Final = "adk_request_confirmation"


def response_order(seen: FlowView) -> Decisions:
    """FLOW-080: responses stand in one event, in call order."""
    for turn, asked, answer in _pairs(seen):
        calls = [each.get("id") for each in asked.calls]
        got = [each.get("id") for each in answer.responses]
        if len(got) > 1:
            wanted = sorted(got, key=calls.index)
            claim = "responses stand in the order of their calls"
            yield DialectDecision(claim, wanted, got, answer.place)
        if len(calls) > 1 and not turn.failed and not answer.data.get("partial"):
            others = [
                each.place
                for each in turn.events
                if each.place != answer.place
                and {r.get("id") for r in each.responses} & set(calls)
            ]
            claim = "all responses of one answer stand in one event"
            yield DialectDecision(claim, [], others, answer.place)


def merged_state(seen: FlowView) -> Decisions:
    """FLOW-081: the state that several calls wrote, merged in call order."""
    for turn, asked, answer in _pairs(seen):
        writes = [_writes(seen, asked.author, each["name"]) for each in asked.calls]
        quiet = not turn.of("before_tool", "after_tool", "on_tool_error")
        if len(writes) < 2 or not any(writes) or not quiet or _waits(seen, asked):
            continue
        if len(answer.responses) != len(writes) or turn.tool_errors:
            continue
        wanted: dict[str, Any] = {}
        for each in writes:
            wanted = _merged(wanted, each)
        got = answer.actions.get("state_delta") or NOTHING
        claim = "the state of several calls is merged in their order"
        yield DialectDecision(
            claim, wanted, {k: got.get(k) for k in wanted}, answer.place
        )


def merged_flags(seen: FlowView) -> Decisions:
    """FLOW-082: the flag of several calls."""
    for turn, asked, answer in _pairs(seen):
        flags = [_flag(seen, asked.author, each["name"]) for each in asked.calls]
        said = [each for each in flags if each is not None]
        quiet = not turn.of("before_tool", "after_tool", "on_tool_error")
        if len(said) < 2 or len(answer.responses) != len(flags) or not quiet:
            continue
        if _waits(seen, asked):
            continue
        wanted = any(said) if seen.profile.flags_merge == "any" else said[-1]
        got = bool(answer.actions.get("skip_summarization"))
        claim = "skip_summarization is what the calls come to"
        yield DialectDecision(claim, wanted, got, answer.place)


def last_transfer(seen: FlowView) -> Decisions:
    """FLOW-083: of several transfers the last one counts."""
    for turn, asked, answer in _pairs(seen):
        names = [
            str(each.get("args", NOTHING).get("agent_name"))
            for each in asked.calls
            if each["name"] == "transfer_to_agent"
        ]
        if len(names) < 2 or turn.failed or any(e not in seen.agents for e in names):
            continue
        later = [each.agent for each in turn.requests if each.place > answer.place]
        claim = "the last of several transfers counts"
        yield DialectDecision(claim, names[-1:], later[:1], answer.place)


def each_once(seen: FlowView) -> Decisions:
    """FLOW-084: each call is run at most once."""
    for turn in seen.turns:
        ids = [(each.agent, each.call_id) for each in turn.tools if each.call_id]
        for each in dict.fromkeys(ids):
            claim = f"call {each[1]} of {each[0]} is run once"
            yield DialectDecision(claim, 1, ids.count(each), turn.end)
    for turn, asked, answer in _pairs(seen):
        if turn.failed or any(
            _is_long(seen, asked.author, e["name"]) for e in asked.calls
        ):
            continue
        wanted = [each["name"] for each in asked.calls]
        got = [each["name"] for each in answer.responses]
        claim = "every call has one response"
        yield DialectDecision(claim, sorted(wanted), sorted(got), answer.place)


def partial_calls(seen: FlowView) -> Decisions:
    """FLOW-012: calls of a partial response are run, or passed over."""
    runs = seen.profile.partial_calls == "run"
    for turn in seen.turns:
        for at, event in enumerate(turn.events):
            if not event.partial or not event.calls or turn.left:
                continue
            ids = {each.get("id") for each in event.calls}
            until = turn.events[at + 1].place if at + 1 < len(turn.events) else turn.end
            ran = any(
                e.call_id in ids for e in turn.tools if event.place < e.place <= until
            )
            claim = "calls in a partial response are run"
            yield DialectDecision(claim, runs, ran, event.place)


# Confirmation


def not_before_yes(seen: FlowView) -> Decisions:
    """FLOW-130: nothing is run that nobody confirmed."""
    yes = False
    for turn in seen.turns:
        yes = yes or any(each.confirmed for each in turn.spec.confirms)
        asked = [
            (event, each)
            for event in turn.events
            for each in event.calls
            if _needs(seen, event.author, each["name"]) and not yes
        ]
        for event, each in asked:
            ran = [e.name for e in turn.tools if e.call_id == each.get("id")]
            claim = f"{each['name']} is not run before the user said yes"
            yield DialectDecision(claim, [], ran, event.place)


def asks_the_user(seen: FlowView) -> Decisions:
    """FLOW-131: the user is asked by a call to adk_request_confirmation."""
    for turn in seen.turns:
        for event in turn.events:
            calls = [e for e in event.calls if _needs(seen, event.author, e["name"])]
            if not calls or event.partial or turn.failed or _tool_hooks(seen):
                continue
            ids = {each.get("id") for each in calls}
            asked = [
                _original(call)
                for each in turn.events
                for call in each.calls
                if call["name"] == ASKING
            ]
            got = [each.get("name") for each in asked if each.get("id") in ids]
            claim = "the user is asked for each call that needs it"
            wanted = [each["name"] for each in calls]
            yield DialectDecision(claim, wanted, got, event.place)
            later = [e.agent for e in turn.requests if e.place > event.place]
            later = [each for each in later if each == event.author]
            claim = "the agent asks no model behind it"
            yield DialectDecision(claim, [], later, event.place)


def _original(asking: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the call that a question is about."""
    args: Mapping[str, Any] = asking.get("args", NOTHING)
    found: Mapping[str, Any] = args.get("originalFunctionCall", NOTHING)
    return found


def yes_runs(seen: FlowView) -> Decisions:
    """FLOW-132: after a yes the call runs, and is answered under its own id."""
    for before, turn in _answered(seen):
        if not all(each.confirmed for each in turn.spec.confirms):
            continue
        for call in _waiting(seen, before):
            ran = [each for each in turn.tools if each.call_id == call.get("id")]
            claim = f"{call['name']} is run with its own arguments after the yes"
            yield DialectDecision(
                claim,
                [dict(call.get("args", NOTHING))],
                [dict(each.args) for each in ran],
                turn.end,
            )
            names = [each["name"] for each in _responses(turn, call)]
            claim = f"{call['name']} is answered once, under the id of its call"
            yield DialectDecision(claim, [call["name"]], names, turn.end)


def no_refuses(seen: FlowView) -> Decisions:
    """FLOW-133: after a no nothing is run, and the model is told."""
    for before, turn in _answered(seen):
        if any(each.confirmed for each in turn.spec.confirms):
            continue
        for call in _waiting(seen, before):
            ran = [e.name for e in turn.tools if e.call_id == call.get("id")]
            claim = f"{call['name']} is not run after the no"
            yield DialectDecision(claim, [], ran, turn.end)
            told = [
                "reject" in str(response_in(each).get("error", ""))
                for each in _responses(turn, call)
            ]
            claim = f"the model is told that {call['name']} was refused"
            yield DialectDecision(claim, [True], told, turn.end)


def _answered(seen: FlowView) -> Iterator[tuple[FlowTurn, FlowTurn]]:
    """Yield turns that answer all that the one before them asked, and nothing else.

    Answers to questions of several runs in one message may be refused.
    """
    for before, turn in zip(seen.turns, seen.turns[1:], strict=False):
        all_of = [each.of for each in turn.spec.confirms] == ["*"]
        alike = before.spec.session == turn.spec.session
        sound = not (turn.tool_errors or turn.model_errors or _tool_hooks(seen))
        sound = sound and not (seen.is_parallel and turn.failed)
        older = any(
            _waiting(seen, each)
            for each in seen.turns[: before.number]
            if each.spec.session == turn.spec.session
        )
        if all_of and alike and sound and not older:
            yield before, turn


def _responses(turn: FlowTurn, call: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the responses to a call."""
    return [
        each
        for event in turn.events
        for each in event.responses
        if each.get("id") == call.get("id")
    ]


def _waiting(seen: FlowView, turn: FlowTurn) -> list[Mapping[str, Any]]:
    return [
        each
        for event in turn.events
        for each in event.calls
        if _needs(seen, event.author, each["name"]) and not event.partial
    ]


def _needs(seen: FlowView, agent: str, name: str) -> bool:
    spec = seen.agents.get(agent)
    tools = () if spec is None else spec.tools
    return any(each.called == name and each.needs_confirmation for each in tools)


def _tool_hooks(seen: FlowView) -> bool:
    hooks = ("before_tool", "after_tool", "on_tool_error", "before_run", "on_event")
    lists = [name for each in seen.agents.values() for name in each.callbacks]
    lists += [name for each in seen.scenario.plugins for name in each.hooks]
    return any(each in hooks for each in lists)


# Streams


def gathered_text(seen: FlowView) -> Decisions:
    """FLOW-140, FLOW-142: whole responses hold all text of a stream, however cut."""
    for turn in seen.turns:
        for agent, texts in _streamed(seen, turn):
            whole = [
                each
                for each in turn.events
                if each.author == agent and not each.partial
            ]
            got = "".join(each.text for each in whole)
            claim = "the whole responses hold all text of the stream"
            yield DialectDecision(claim, "".join(texts), got, turn.end)


def one_whole_response(seen: FlowView) -> Decisions:
    """FLOW-142: what is left at the end of a stream is one whole response."""
    for turn in seen.turns:
        for agent, texts in _streamed(seen, turn):
            whole = [
                each.text
                for each in turn.events
                if each.author == agent and not each.partial and each.text
            ]
            claim = "text that nothing interrupts is one whole response"
            yield DialectDecision(claim, ["".join(texts)], whole, turn.end)


def bytes_do_not_end_text(seen: FlowView) -> Decisions:
    """FLOW-141: bytes in a stream do not end the text around them."""
    for turn in seen.turns:
        script = seen.scenario.agent.script
        if not turn.spec.stream or turn.number or not script or not script[0].chunks:
            continue
        chunks = script[0].chunks
        blobs = [c for c in chunks if c and any(p.blob for p in c.parts)]
        texts = [c.text or "" for c in chunks if c]
        if not blobs or len(seen.agents) > 1 or turn.failed or turn.left:
            continue
        if _replaces(seen):
            continue
        whole = [each.text for each in turn.events if not each.partial and each.text]
        claim = "the text around bytes is one"
        yield DialectDecision(claim, ["".join(texts)], whole, turn.end)


def _streamed(seen: FlowView, turn: FlowTurn) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the agent whose first answer is streamed text alone, and its texts."""
    spec = seen.scenario.agent
    first = turn.number == 0 and turn.spec.stream and len(seen.agents) == 1
    if not first or not spec.script or turn.failed or turn.left:
        return
    chunks = spec.script[0].chunks
    plain = all(
        each is not None and not each.parts and not each.calls and not each.error_code
        for each in chunks
    )
    told = [each.text for each in chunks if each is not None and each.text]
    if (
        chunks
        and plain
        and told
        and not _replaces(seen)
        and spec.script[0].error is None
    ):
        yield spec.name, told


def _replaces(seen: FlowView) -> bool:
    lists = [h for a in seen.agents.values() for x in a.callbacks.values() for h in x]
    lists += [h for p in seen.scenario.plugins for h in p.hooks.values()]
    return any(
        op.op not in {"read_state", "write_state"} for todo in lists for op in todo
    )


# What the checks have in common


def _pairs(seen: FlowView) -> Iterator[tuple[FlowTurn, EventSeen, EventSeen]]:
    """Yield whole events with calls, and the first event that answers any of them."""
    for turn in seen.turns:
        if seen.edits_events:
            continue
        for at, event in enumerate(turn.events):
            ids = {each.get("id") for each in event.calls}
            if not ids or event.partial:
                continue
            for each in turn.events[at + 1 :]:
                if ids & {r.get("id") for r in each.responses}:
                    yield turn, event, each
                    break


def _tool(seen: FlowView, agent: str, name: str) -> Any:  # noqa: ANN401  # a FlowToolSpec or None
    spec = seen.agents.get(agent)
    tools = () if spec is None else spec.tools
    return next((each for each in reversed(tools) if each.called == name), None)


def _waits(seen: FlowView, asked: EventSeen) -> bool:
    """Tell whether a tool that is called asks the user before it does anything."""
    tools = [_tool(seen, asked.author, each["name"]) for each in asked.calls]
    return any(
        tool.needs_confirmation or any(op.op == "ask_confirmation" for op in tool.do)
        for tool in tools
        if tool is not None
    )


def _writes(seen: FlowView, agent: str, name: str) -> dict[str, Any]:
    tool = _tool(seen, agent, name)
    todo = () if tool is None else tool.do
    return {
        each.key: each.value
        for each in todo
        if each.op == "write_state"
        and not each.on_call
        and not each.key.startswith("temp:")
    }


def _flag(seen: FlowView, agent: str, name: str) -> bool | None:
    tool = _tool(seen, agent, name)
    todo = () if tool is None else tool.do
    said = [e.value for e in todo if e.op == "skip_summarization" and not e.on_call]
    return said[-1] if said else None


def _is_long(seen: FlowView, agent: str, name: str) -> bool:
    tool = _tool(seen, agent, name)
    return tool is not None and tool.long_running


def _merged(base: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(base)
    for key, value in later.items():
        known = found.get(key)
        both = isinstance(known, Mapping) and isinstance(value, Mapping)
        found[key] = _merged(known, value) if both else value  # type: ignore[arg-type]  # both are mappings
    return found


WITH_IDS: Final = {"confirmation_ids": ("given", "calls_alone")}
"""A question without an id cannot be answered by who reads events alone."""
CHECKS: Final = (
    DialectCheck(clause="FLOW-012", decide=partial_calls),
    DialectCheck(clause="FLOW-080", decide=response_order),
    DialectCheck(clause="FLOW-081", decide=merged_state),
    DialectCheck(clause="FLOW-082", decide=merged_flags),
    DialectCheck(clause="FLOW-083", decide=last_transfer),
    DialectCheck(clause="FLOW-084", decide=each_once),
    DialectCheck(clause="FLOW-130", decide=not_before_yes),
    DialectCheck(clause="FLOW-131", decide=asks_the_user),
    DialectCheck(clause="FLOW-132", decide=yes_runs, under=WITH_IDS),
    DialectCheck(clause="FLOW-133", decide=no_refuses, under=WITH_IDS),
    DialectCheck(clause="FLOW-140", decide=gathered_text),
    DialectCheck(clause="FLOW-141", decide=bytes_do_not_end_text),
    DialectCheck(clause="FLOW-142", decide=one_whole_response),
)
