"""Checks of what a model is sent, of what it may hand over to, and of state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from compat.engines.flow.scenario import FlowAgentSpec
from property_tests.dialects.decision import DialectDecision
from property_tests.dialects.dialect import DialectCheck
from property_tests.flow.view import USER, FlowTurn, FlowView, RequestSeen, response_in
from refengine.messages import NOTHING

Decisions = Iterator[DialectDecision]

TRANSFER: Final = "transfer_to_agent"
ANSWER: Final = "set_model_response"
_PLACE: Final = re.compile(r"{+[^{}]*}+")
_NAME: Final = re.compile(r"(?:(?:app|user|temp):)?[^\W\d]\w*")


def branches(seen: FlowView) -> Decisions:
    """FLOW-090: agents that run at the same time are not sent each other's words."""
    groups = [each for each in seen.agents.values() if each.kind == "parallel"]
    whole = seen.profile.resumed_branch == "as_asked"
    for turn in seen.turns:
        if not whole and (turn.spec.confirms or turn.spec.late):
            continue
        for group in groups:
            sides = [{x.name for x in each.tree()} for each in group.sub_agents]
            for request in turn.requests:
                mine = next((each for each in sides if request.agent in each), None)
                if mine is None:
                    continue
                others = set[str]().union(*(each for each in sides if each is not mine))
                heard = sorted(x for x in others if f"[{x}]" in request.text)
                claim = f"{request.agent} is sent nothing of the agents beside it"
                yield DialectDecision(claim, [], heard, request.place)


def foreign_words(seen: FlowView) -> Decisions:
    """FLOW-091: what another agent said is sent as told by the user."""
    for turn in seen.turns:
        for request in turn.requests:
            roles = {
                content.get("role")
                for content in request.contents
                for part in content.get("parts", ())
                if str(part.get("text", "")).startswith("For context:")
            }
            if roles:
                claim = "what another agent said is told by the user"
                yield DialectDecision(
                    claim, [USER], sorted(map(str, roles)), request.place
                )
        yield from _said_by_others(seen, turn)


def _said_by_others(seen: FlowView, turn: FlowTurn) -> Decisions:
    """Decide whether the next agent of a sequence is sent it as context."""
    root = seen.scenario.agent
    if root.kind != "sequential" or turn.number or seen.scenario.plugins:
        return
    for one, other in zip(root.sub_agents, root.sub_agents[1:], strict=False):
        request = next((e for e in turn.requests if e.agent == other.name), None)
        said = [e.text for e in turn.events if e.author == one.name and e.text]
        simple = one.kind == other.kind == "llm" and other.include_contents == "default"
        edits = other.callbacks.get("before_model") or one.callbacks
        if request is None or not said or not simple or edits or one.sub_agents:
            continue
        own = [
            str(part.get("text"))
            for content in request.contents
            if content.get("role") == "model"
            for part in content.get("parts", ())
        ]
        claim = f"{other.name} is not sent the words of {one.name} as its own"
        yield DialectDecision(claim, [], [e for e in said if e in own], request.place)
        claim = f"{other.name} is sent the words of {one.name}"
        yield DialectDecision(claim, True, said[-1] in request.text, request.place)  # noqa: FBT003  # what is expected


def paired(seen: FlowView) -> Decisions:
    """FLOW-092: a response stands behind its call, and a call has one at most."""
    repeats = seen.profile.shared_response == "repeated"
    for turn in seen.turns:
        if repeats and _is_shared(seen, turn):
            return  # that event stands behind each of its calls from now on
        for request in turn.requests:
            if seen.agents[request.agent].include_contents == "none":
                continue  # which cuts the calls off
            called: list[str] = []
            answered: list[str] = []
            for part in request.parts:
                if part.get("call") and part["call"].get("id"):
                    called.append(part["call"]["id"])
                given: Mapping[str, Any] = part.get("response") or NOTHING
                if given.get("id"):
                    claim = f"the response to {given['id']} stands behind its call"
                    got = given["id"] in called
                    yield DialectDecision(claim, True, got, request.place)  # noqa: FBT003  # what is expected
                    answered.append(given["id"])
            twice = sorted({e for e in answered if answered.count(e) > called.count(e)})
            if answered:
                claim = "no call has two responses"
                yield DialectDecision(claim, [], twice, request.place)


def _is_shared(seen: FlowView, turn: FlowTurn) -> bool:
    """Tell whether an event of a turn answers calls of several events."""
    told = [each for other in seen.turns for each in other.events]
    asked = {e.get("id"): each.place for each in told for e in each.calls}
    return any(
        len({asked.get(e.get("id")) for e in each.responses}) > 1
        for each in turn.events
    )


def current_turn(seen: FlowView) -> Decisions:
    """FLOW-093: with include_contents none only the current turn is sent."""
    for turn in seen.turns[1:]:
        before = [e.spec.text for e in seen.turns[: turn.number] if e.spec.text]
        for request in turn.requests:
            agent = seen.agents[request.agent]
            if agent.include_contents != "none" or not turn.spec.text:
                continue
            if turn.spec.confirms or turn.spec.late or turn.spec.text in before:
                continue
            own = {each.text for each in turn.events}
            old = [e for e in before if e in request.text.split("\n") and e not in own]
            claim = f"{agent.name} is sent the current turn only"
            yield DialectDecision(claim, [], old, request.place)


def no_empty_parts(seen: FlowView) -> Decisions:
    """FLOW-094: no empty parts, no contents without parts."""
    for turn in seen.turns:
        for request in turn.requests:
            bare = [
                at for at, each in enumerate(request.contents) if not each.get("parts")
            ]
            claim = "no content without parts is sent"
            yield DialectDecision(claim, [], bare, request.place)
            empty = [part for part in request.parts if not any(part.values())]
            claim = "no part that holds nothing is sent"
            yield DialectDecision(claim, [], empty, request.place)


# Instructions


def global_first(seen: FlowView) -> Decisions:
    """FLOW-100: the root's global instruction stands before the agent's own."""
    root = seen.scenario.agent
    if root.kind != "llm" or not root.global_instruction:
        return
    for turn, request in _plain_requests(seen):
        own = seen.agents[request.agent].instruction
        if "{" in own + root.global_instruction or _in_tool(seen, request.agent):
            continue
        wanted = [each for each in (root.global_instruction, own) if each]
        found = sorted(
            (e for e in wanted if e in request.instruction),
            key=request.instruction.index,
        )
        claim = "the global instruction stands before the agent's own"
        yield DialectDecision(claim, wanted, found, request.place)
        del turn


def filled(seen: FlowView) -> Decisions:
    """FLOW-101: names are replaced by what the state holds."""
    yield from _places(seen)


def optional(seen: FlowView) -> Decisions:
    """FLOW-102: an optional name that is not held becomes nothing."""
    for request, text, held in _templates(seen):
        for place in _PLACE.findall(text):
            name = place.strip("{}").strip()
            if name.endswith("?") and _is_name(name[:-1]) and name[:-1] not in held:
                claim = f"{place} is replaced by nothing"
                got = place in request.instruction
                yield DialectDecision(claim, False, got, request.place)  # noqa: FBT003  # what is expected


def missing_name(seen: FlowView) -> Decisions:
    """FLOW-103: a name that is not held ends the run before the model is asked."""
    agent = seen.scenario.agent
    if agent.kind != "llm" or _is_touched(seen) or len(seen.agents) > 1:
        return
    for turn in seen.turns[:1]:
        held = seen.held(turn.spec.session)
        names = [each.strip("{}").strip() for each in _PLACE.findall(agent.instruction)]
        lost = [each for each in names if _is_name(each) and each not in held]
        if lost:
            asked = [each.agent for each in turn.requests]
            claim = f"no model is asked where the state has no {lost[0]}"
            yield DialectDecision(claim, [], asked, turn.end)
            yield DialectDecision("the run fails", True, turn.failed, turn.end)  # noqa: FBT003  # what is expected


def left_alone(seen: FlowView) -> Decisions:
    """FLOW-104: what is not a name stays as it is written."""
    for request, text, _ in _templates(seen):
        for place in _PLACE.findall(text):
            name = place.strip("{}").strip()
            artifact = name.startswith("artifact.")
            if not _is_name(name.removesuffix("?")) and not artifact:
                claim = f"{place} stays as it is written"
                got = place in request.instruction
                yield DialectDecision(claim, True, got, request.place)  # noqa: FBT003  # what is expected


def doubled(seen: FlowView) -> Decisions:
    """FLOW-105: doubled braces are not an escape."""
    for request, text, held in _templates(seen):
        for place in _PLACE.findall(text):
            name = place.strip("{}").strip()
            if place.startswith("{{") and name in held:
                claim = f"{place} is replaced like a single one"
                got = (
                    place in request.instruction or f"{{{name}}}" in request.instruction
                )
                yield DialectDecision(claim, False, got, request.place)  # noqa: FBT003  # what is expected


def _places(seen: FlowView) -> Decisions:
    for request, text, held in _templates(seen):
        for place in _PLACE.findall(text):
            name = place.strip("{}").strip().removesuffix("?")
            if not _is_name(name) or name not in held:
                continue
            value = held[name]
            if value is None or isinstance(value, str):
                claim = f"{place} is replaced by what the state holds"
                wanted = [False, True]
                got = [
                    place in request.instruction,
                    (value or "") in request.instruction,
                ]
                yield DialectDecision(claim, wanted, got, request.place)


def _templates(
    seen: FlowView,
) -> Iterator[tuple[RequestSeen, str, Mapping[str, Any]]]:
    """Yield first requests of untouched worlds, their template, and the state."""
    agent = seen.scenario.agent
    if agent.kind != "llm" or _is_touched(seen):
        return
    for turn in seen.turns[:1]:
        held = seen.held(turn.spec.session)
        for request in turn.requests[:1]:
            if request.agent == agent.name and agent.provided_instruction is None:
                yield request, agent.instruction, held


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _is_touched(seen: FlowView) -> bool:
    lists = [h for a in seen.agents.values() for x in a.callbacks.values() for h in x]
    lists += [h for p in seen.scenario.plugins for h in p.hooks.values()]
    return any(lists)


def _plain_requests(seen: FlowView) -> Iterator[tuple[FlowTurn, RequestSeen]]:
    if not _is_touched(seen):
        for turn in seen.turns:
            for request in turn.requests:
                yield turn, request


def _in_tool(seen: FlowView, name: str) -> bool:
    """Tell whether an agent is a tool, or below one: its run has another root."""
    root = {each.name for each in _below(seen.scenario.agent)}
    return name not in root


def _below(agent: FlowAgentSpec) -> Iterator[FlowAgentSpec]:
    yield agent
    for each in agent.sub_agents:
        yield from _below(each)


# Transfer and output


def offered(seen: FlowView) -> Decisions:
    """FLOW-110: transfer_to_agent is offered exactly to agents that have targets."""
    for turn in seen.turns:
        for request in turn.requests:
            if _drops_tools(seen) or _in_tool(seen, request.agent):
                continue
            wanted = bool(targets(seen, seen.agents[request.agent]))
            got = TRANSFER in request.tools
            claim = f"{request.agent} is offered {TRANSFER}"
            yield DialectDecision(claim, wanted, got, request.place)


def targets(seen: FlowView, agent: FlowAgentSpec) -> list[str]:
    """Return whom an agent may hand over to."""
    parents = {c.name: each for each in seen.agents.values() for c in each.sub_agents}
    parent = parents.get(agent.name)
    if not _is_auto(agent):
        return []
    found = [each.name for each in agent.sub_agents]
    if parent is None or parent.kind != "llm":
        return found
    if not agent.disallow_transfer_to_parent:
        found.append(parent.name)
    if not agent.disallow_transfer_to_peers and _is_auto(parent):
        found += [e.name for e in parent.sub_agents if e.name != agent.name]
    return found


def _is_auto(agent: FlowAgentSpec) -> bool:
    closed = agent.disallow_transfer_to_parent and agent.disallow_transfer_to_peers
    return bool(agent.sub_agents) or not closed


def _drops_tools(seen: FlowView) -> bool:
    lists = [
        h for a in seen.agents.values() for h in a.callbacks.get("before_model", ())
    ]
    lists += [each.hooks.get("before_model", ()) for each in seen.scenario.plugins]
    return any(op.op == "edit_request" and op.drop_tool for h in lists for op in h)


def handed_over(seen: FlowView) -> Decisions:
    """FLOW-111: a target runs in the same turn."""
    for turn in seen.turns:
        for event in turn.events:
            name = event.actions.get("transfer_to_agent")
            spec = seen.agents.get(str(name))
            known = spec is not None and spec.kind == "llm" and event.responses
            if not known or turn.failed or turn.left or _is_early(turn):
                continue
            author = seen.agents.get(event.author)
            if author is None or name not in targets(seen, author):
                continue
            later = [each.agent for each in turn.requests if each.place > event.place]
            claim = f"{name} goes on in the same turn"
            yield DialectDecision(claim, [name], later[:1], event.place)


def _is_early(turn: FlowTurn) -> bool:
    names = ("before_agent", "before_model", "on_event")
    return any(each.left != "none" for each in turn.of(*names))


def lost_transfer(seen: FlowView) -> Decisions:
    """FLOW-112: a transfer to nobody ends the run."""
    for turn in seen.turns:
        for event in turn.events:
            asked = [e for e in event.calls if e["name"] == TRANSFER]
            author = seen.agents.get(event.author)
            if len(asked) != 1 or len(event.calls) > 1 or author is None:
                continue
            if turn.of("before_tool", "after_tool") or event.partial:
                continue
            name = str(asked[0].get("args", NOTHING).get("agent_name"))
            there = targets(seen, author)
            if name in there or not there or _in_tool(seen, author.name):
                continue
            if seen.profile.transfer_reach == "whole_tree" and name in seen.agents:
                continue
            if seen.profile.transfer_to_self == "allowed" and name == author.name:
                continue
            claim = f"a transfer to {name}, which is not a target, ends the run"
            yield DialectDecision(claim, True, turn.failed, event.place)  # noqa: FBT003  # what is expected


def structured(seen: FlowView) -> Decisions:
    """FLOW-120: set_model_response is offered, and tells the answer."""
    for turn in seen.turns:
        for request in turn.requests:
            agent = seen.agents[request.agent]
            native = seen.profile.native_schema == "all_but_older_gemini"
            needs = bool(agent.output_schema and agent.tools and not native)
            if agent.model.startswith("gemini") or _drops_tools(seen):
                continue
            claim = f"{agent.name} is offered {ANSWER}"
            yield DialectDecision(claim, needs, ANSWER in request.tools, request.place)
        yield from _answers(seen, turn)


def _answers(seen: FlowView, turn: FlowTurn) -> Decisions:
    for event in turn.events:
        found = [e for e in event.responses if e["name"] == ANSWER]
        response = response_in(found[0]) if found else NOTHING
        if not response or "error" in response or turn.failed or turn.left:
            continue
        if seen.edits_events:
            continue
        later = [e for e in turn.events if e.place > event.place]
        claim = "the structured answer is told as text"
        got = [
            e.author
            for e in later[:1]
            if all(str(v) in e.text for v in response.values())
        ]
        yield DialectDecision(claim, [event.author], got, event.place)


def output_key(seen: FlowView) -> Decisions:
    """FLOW-121: what an agent answers stands in a delta under its output key."""
    for turn in seen.turns:
        for agent in seen.agents.values():
            mine = [e for e in turn.events if e.author == agent.name]
            said = [e for e in mine if e.text]
            simple = (
                agent.output_key and not agent.output_schema and not agent.callbacks
            )
            if not simple or not said or turn.failed or turn.left:
                continue
            if seen.scenario.plugins or len(said) > 1 or turn.spec.stream:
                continue
            if _in_tool(seen, agent.name) or said[0].calls or said[0].partial:
                continue
            deltas = [e.actions.get("state_delta") or NOTHING for e in mine]
            got = [
                each[agent.output_key] for each in deltas if agent.output_key in each
            ]
            claim = f"the answer of {agent.name} stands under {agent.output_key}"
            yield DialectDecision(
                claim, said[0].text, got[-1] if got else None, turn.end
            )


# State


def temp_state(seen: FlowView) -> Decisions:
    """FLOW-150: nothing under temp: is kept."""
    writes = _written(seen)
    for turn in seen.turns:
        kept = [
            key
            for each in turn.kept
            for key in each.actions.get("state_delta") or NOTHING
            if key.startswith("temp:")
        ]
        if any(key.startswith("temp:") for key in writes):
            yield DialectDecision(
                "no event is kept with temp: state", [], kept, turn.end
            )
            claim = "no session is kept with temp: state"
            left = [key for key in turn.state if key.startswith("temp:")]
            yield DialectDecision(claim, [], left, turn.end)


def _written(seen: FlowView) -> set[str]:
    lists = [h for a in seen.agents.values() for x in a.callbacks.values() for h in x]
    lists += [h for p in seen.scenario.plugins for h in p.hooks.values()]
    lists += [tool.do for a in seen.agents.values() for tool in a.tools]
    return {op.key for h in lists for op in h if op.op == "write_state"}


def shared_state(seen: FlowView) -> Decisions:
    """FLOW-151: what a session reads of the app and its user is what was kept."""
    yield from _folded(seen, shared=True)


def own_state(seen: FlowView) -> Decisions:
    """FLOW-152: what a session reads of its own is what was kept for it."""
    yield from _folded(seen, shared=False)


def _folded(seen: FlowView, *, shared: bool) -> Decisions:
    """Compare what is read afresh with initial state and all deltas that are kept."""
    sessions = seen.scenario.sessions
    app: dict[str, Any] = {}
    users: dict[str, dict[str, Any]] = {}
    own: dict[str, dict[str, Any]] = {name: {} for name in sessions}
    for name, each in sessions.items():
        _keep(each.state, app, users.setdefault(each.user, {}), own[name])
    for turn in seen.turns:
        name = turn.spec.session
        user = users[sessions[name].user]
        for event in turn.kept:
            _keep(event.actions.get("state_delta") or NOTHING, app, user, own[name])
        wanted = {**app, **user} if shared else {**own[name]}
        got = {k: x for k, x in turn.state.items() if _is_shared_key(k) is shared}
        whose = "its user's and the app's" if shared else "its own"
        claim = f"session {name} reads {whose} state as it was kept"
        if wanted or got:
            yield DialectDecision(claim, wanted, got, turn.end)


def _is_shared_key(key: str) -> bool:
    return key.startswith(("app:", "user:"))


def _keep(
    delta: Mapping[str, Any],
    app: dict[str, Any],
    user: dict[str, Any],
    own: dict[str, Any],
) -> None:
    for key, value in delta.items():
        scope = key.partition(":")[0] if ":" in key else ""
        place = {"app": app, "user": user}.get(scope, own)
        if scope != "temp":
            place[key] = value


def read_back(seen: FlowView) -> Decisions:
    """FLOW-153: what was written is read by whatever runs behind it."""
    if any(each.kind == "parallel" for each in seen.agents.values()):
        return
    for turn in seen.turns:
        for read in turn.reads:
            before = [
                (done.end, op.value)
                for done in turn.hooks
                for op in seen.does(done)
                if op.op == "write_state" and op.key == read.name and not op.on_call
            ]
            ran = [(each.name, each.place) for each in turn.tool_results]
            ran += [(each.name, each.place) for each in turn.tool_errors]
            before += [
                (place, op.value)
                for name, place in ran
                for op in _tool_todo(seen, name)
                if op.op == "write_state" and op.key == read.name and not op.on_call
            ]
            earlier = [
                each for each in sorted(before, key=_place) if each[0] < read.place
            ]
            if earlier and len(before) == 1:
                claim = f"{read.name} reads as it was written"
                yield DialectDecision(claim, earlier[-1][1], read.value, read.place)


def _place(each: tuple[int, Any]) -> int:
    return each[0]


def _tool_todo(seen: FlowView, name: str) -> tuple[Any, ...]:
    return tuple(
        op
        for agent in seen.agents.values()
        for tool in agent.tools
        if tool.called == name
        for op in tool.do
    )


CHECKS: Final = (
    DialectCheck(clause="FLOW-090", decide=branches),
    DialectCheck(clause="FLOW-091", decide=foreign_words),
    DialectCheck(clause="FLOW-092", decide=paired),
    DialectCheck(clause="FLOW-093", decide=current_turn),
    DialectCheck(
        clause="FLOW-094", decide=no_empty_parts, under={"empty_parts": ("removed",)}
    ),
    DialectCheck(clause="FLOW-100", decide=global_first),
    DialectCheck(clause="FLOW-101", decide=filled),
    DialectCheck(clause="FLOW-102", decide=optional),
    DialectCheck(clause="FLOW-103", decide=missing_name),
    DialectCheck(clause="FLOW-104", decide=left_alone),
    DialectCheck(clause="FLOW-105", decide=doubled),
    DialectCheck(clause="FLOW-110", decide=offered),
    DialectCheck(clause="FLOW-111", decide=handed_over),
    DialectCheck(clause="FLOW-112", decide=lost_transfer),
    DialectCheck(clause="FLOW-120", decide=structured),
    DialectCheck(clause="FLOW-121", decide=output_key),
    DialectCheck(clause="FLOW-150", decide=temp_state),
    DialectCheck(clause="FLOW-151", decide=shared_state),
    DialectCheck(clause="FLOW-152", decide=own_state),
    DialectCheck(clause="FLOW-153", decide=read_back),
)
