"""Checks of the hooks around agents, and of the runner and its plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from compat.engines.flow.scenario import FlowAgentSpec
from property_tests.dialects.decision import DialectDecision
from property_tests.dialects.dialect import DialectCheck
from property_tests.flow.view import USER, FlowTurn, FlowView, HookSeen
from refengine.messages import NOTHING

Decisions = Iterator[DialectDecision]


def before_agent_value(seen: FlowView) -> Decisions:
    """FLOW-060: content of before_agent takes the place of body and after hooks."""
    for turn, hook in _left(seen, "before_agent", "value"):
        until = _next(turn, hook)
        asked = [
            each.agent
            for each in turn.requests
            if hook.place < each.place < until and each.agent == hook.agent
        ]
        claim = (
            f"the model of {hook.agent} is not asked behind the content of {hook.owner}"
        )
        yield DialectDecision(claim, [], asked, hook.place)
        after = [
            each.owner
            for each in turn.of("after_agent")
            if hook.place < each.place < until and each.agent == hook.agent
        ]
        claim = f"no after_agent hook is entered behind the content of {hook.owner}"
        yield DialectDecision(claim, [], after, hook.place)
        said = _said(seen, hook)
        events = [e for e in turn.events if e.place > hook.place]
        clear = not (seen.edits_events or seen.is_parallel)
        if said is not None and clear and events:
            claim = f"what {hook.owner} gave is told as an event of {hook.agent}"
            got = [events[0].author, events[0].text]
            yield DialectDecision(claim, [hook.agent, said], got, events[0].place)


def after_agent_value(seen: FlowView) -> Decisions:
    """FLOW-061: content of after_agent is one more event."""
    for turn, hook in _left(seen, "after_agent", "value"):
        said = _said(seen, hook)
        later = [e for e in turn.events if e.place > hook.place]
        if said is None or seen.edits_events or seen.is_parallel:
            continue
        claim = f"what {hook.owner} gave is one more event of {hook.agent}"
        got = [later[0].author, later[0].text] if later else []
        yield DialectDecision(claim, [hook.agent, said], got, hook.place)
        before = [e for e in turn.events if e.place < hook.place]
        asked = any(e.agent == hook.agent for e in turn.model_responses)
        if asked and not any(each.left == "error" for each in turn.hooks):
            claim = f"what {hook.agent} said before stands"
            yield DialectDecision(claim, True, bool(before), hook.place)  # noqa: FBT003  # what is expected


def state_events(seen: FlowView) -> Decisions:
    """FLOW-062: state that a hook around an agent wrote rides on an event."""
    for name in ("before_agent", "after_agent"):
        for turn, hook in _left(seen, name, "none"):
            writes = {
                each.key: each.value
                for each in seen.does(hook)
                if each.op == "write_state"
                and not each.on_call
                and not each.key.startswith("temp:")
            }
            if not writes or turn.failed or turn.left:
                continue
            later = (e for e in turn.events if e.place > hook.place)
            deltas = [e.actions.get("state_delta") or NOTHING for e in later]
            first: Mapping[str, Any] = next((e for e in deltas if e), NOTHING)
            got = {key: first.get(key) for key in writes}
            claim = f"what {hook.owner} wrote rides on an event"
            yield DialectDecision(claim, writes, got, hook.place)


def before_agent_error(seen: FlowView) -> Decisions:
    """FLOW-063: an error of before_agent ends the agent, or not."""
    goes_on = seen.profile.before_agent_error == "goes_on"
    for turn, hook in _left(seen, "before_agent", "error"):
        if hook.agent != seen.scenario.agent.name or seen.scenario.agent.kind != "llm":
            continue
        claim = f"the error of {hook.owner} comes out of the run"
        yield DialectDecision(claim, True, turn.failed, hook.place)  # noqa: FBT003  # what is expected
        stopping = [
            each.place
            for each in turn.of("before_model")
            if each.left != "none" or seen.does(each)
        ]
        filled = "{" in seen.scenario.agent.instruction  # which may fail itself
        if not (stopping or turn.left or filled):
            claim = f"the model of {hook.agent} is asked behind the error"
            got = any(e.place > hook.place for e in turn.requests)
            yield DialectDecision(claim, goes_on, got, hook.place)


def user_message(seen: FlowView) -> Decisions:
    """FLOW-070: what on_user_message gives is kept and sent."""
    for turn, hook in _left(seen, "on_user_message", "value"):
        said = _said(seen, hook)
        users = [each for each in turn.kept if each.author == USER]
        if said is None or not users:
            continue
        claim = f"the session keeps what {hook.owner} gave"
        yield DialectDecision(claim, said, users[0].text, hook.place)
        told = turn.spec.text
        if told and told not in said and turn.number == 0 and turn.requests:
            claim = "the model is not sent what was replaced"
            got = told in turn.requests[0].text.split("\n")
            yield DialectDecision(claim, False, got, turn.requests[0].place)  # noqa: FBT003  # what is expected


def before_run_value(seen: FlowView) -> Decisions:
    """FLOW-071: a value of before_run ends the run."""
    for turn, hook in _left(seen, "before_run", "value"):
        asked = [each.agent for each in turn.requests]
        claim = f"no model is asked behind the value of {hook.owner}"
        yield DialectDecision(claim, [], asked, hook.place)
        said, message = _said(seen, hook), turn.spec.text
        if said is None or not turn.events or seen.edits_events:
            continue
        echo = seen.profile.before_run_value == "user_echo"
        if echo and (message is None or _changes_message(seen)):
            continue
        wanted = [USER, message] if echo else ["model", said]
        claim = "it is told as the posture before_run_value says"
        got = [turn.events[0].author, turn.events[0].text]
        yield DialectDecision(claim, wanted, got, turn.events[0].place)


def replaced_event(seen: FlowView) -> Decisions:
    """FLOW-072: what on_event gives is told, and kept or not."""
    for turn, hook in _left(seen, "on_event", "value"):
        said = _said(seen, hook)
        later = [each for each in turn.events if each.place > hook.place]
        if said is None or not later:
            continue
        claim = f"what {hook.owner} gave is told"
        yield DialectDecision(claim, said, later[0].text, later[0].place)
        if later[0].partial or seen.profile.on_event_kept == "original":
            continue
        ids = [each.data.get("id") for each in turn.kept]
        kept = [
            each for each in turn.kept if each.data.get("id") == later[0].data.get("id")
        ]
        if later[0].data.get("id") and later[0].data.get("id") in ids:
            claim = "it is kept as it is told"
            yield DialectDecision(claim, said, kept[-1].text, turn.end)


def after_run(seen: FlowView) -> Decisions:
    """FLOW-073: after_run hooks are entered once, or not."""
    having = [each.name for each in seen.scenario.plugins if "after_run" in each.hooks]
    for turn in seen.turns:
        if _has_inner_runs(seen, turn):
            continue
        if not having or any(each.left != "none" for each in turn.of("after_run")):
            continue
        got = [each.plugin for each in turn.of("after_run")]
        posture = seen.profile.after_run
        left = turn.left
        if left and not turn.failed:
            wanted = [] if posture == "on_completion" else having
            if _left_at_the_end(turn, seen):
                continue
        elif turn.failed:
            wanted = having if posture == "always" else []
            if seen.profile.before_agent_error == "goes_on" and any(
                each.left == "error" for each in turn.of("before_agent")
            ):
                continue
        else:
            wanted = having
        if (
            turn.of("on_user_message")
            and turn.of("on_user_message")[-1].left == "error"
        ):
            continue
        yield DialectDecision("after_run is entered once", wanted, got, turn.end)


def _has_inner_runs(seen: FlowView, turn: FlowTurn) -> bool:
    """Tell whether an agent ran as a tool, whose run ends on its own."""
    tools = {t.called for a in seen.agents.values() for t in a.tools if t.agent}
    called = {call["name"] for each in turn.events for call in each.calls}
    return bool(tools & (called | {each.agent for each in turn.requests}))


def _left_at_the_end(turn: FlowTurn, seen: FlowView) -> bool:
    """Tell whether its consumer left behind what may be the last event."""
    del seen
    last = turn.events[-1]
    return not last.calls and not last.partial


def partial_events(seen: FlowView) -> Decisions:
    """FLOW-074: partial events are kept nowhere."""
    for turn in seen.turns:
        partial = [each for each in turn.events if each.partial]
        if partial and not turn.failed:
            whole = len(turn.events) - len(partial)
            kept = len(turn.kept) - 1  # without the message
            claim = "no more is kept than was told as a whole"
            yield DialectDecision(claim, min(whole, kept), kept, partial[0].place)


def kept_events(seen: FlowView) -> Decisions:
    """FLOW-075: what is told and whole is kept, in its order, behind the message."""
    for turn in seen.turns:
        if seen.edits_events or (
            turn.of("before_run")
            and any(each.left == "value" for each in turn.of("before_run"))
        ):
            continue
        told = [_shape(each.data) for each in turn.events if not each.partial]
        kept = [_shape(each.data) for each in turn.kept]
        message, rest = kept[:1], kept[1:]
        if not message or any(
            each.left == "error" for each in turn.of("on_user_message")
        ):
            continue
        claim = "the session keeps the message first"
        yield DialectDecision(claim, USER, message[0][0], turn.end)
        left = turn.left
        claim = "the session keeps what was told, in this order"
        yield DialectDecision(
            claim, told, rest[: len(told)] if left else rest, turn.end
        )


def _shape(data: object) -> list[object]:
    """Return author and content of an event, which say which one it is."""
    got: dict[str, object] = dict(data)  # type: ignore[call-overload]  # an event as JSON
    return [got.get("author", ""), got.get("content")]


def next_agent(seen: FlowView) -> Decisions:
    """FLOW-076: who goes on when the user says something."""
    for before, turn in zip(seen.turns, seen.turns[1:], strict=False):
        if before.spec.session != turn.spec.session or not before.kept:
            continue
        if turn.spec.text is None or turn.spec.confirms or turn.spec.late:
            continue
        last = _had_the_turn(seen, before)
        first = next(iter(turn.requests), None)
        if last is None or first is None or _early(turn):
            continue
        wanted = _goes_on(seen, last)
        if wanted is not None:
            claim = f"behind {last} it is {wanted} that goes on"
            yield DialectDecision(claim, wanted, first.agent, first.place)


def _had_the_turn(seen: FlowView, turn: FlowTurn) -> str | None:
    """Return who spoke last, or whom that one handed over to, as the profile has it."""
    targets = seen.profile.next_agent == "transfer_target"
    for each in reversed(turn.kept):
        failed = each.data.get("error_code") and not each.parts
        if each.author == USER or (targets and failed):
            continue
        target = str(each.actions.get("transfer_to_agent", "")) if targets else ""
        return target if _reaches(seen, each.author, target) else each.author
    return None


def _reaches(seen: FlowView, source: str, target: str) -> bool:
    """Tell whether an agent may hand over to that one: a child, its parent or a peer.

    One that it may not is refused, and hands nothing over.
    """
    spec = seen.agents.get(source)
    over = [each.name for each in _chain(seen, target)[1:2]]
    above = [each.name for each in _chain(seen, source)[1:2]]
    if spec is None or over == [source]:
        return spec is not None
    if above == [target]:
        return not spec.disallow_transfer_to_parent
    return bool(over) and over == above and not spec.disallow_transfer_to_peers


def _early(turn: FlowTurn) -> bool:
    return any(
        each.left != "none"
        for each in turn.of("before_run", "on_user_message", "before_agent")
    )


def _goes_on(seen: FlowView, author: str) -> str | None:
    """Return who goes on behind an author, None if that agent asks no model."""
    chain = _chain(seen, author)
    spec = seen.agents.get(author)
    root = seen.scenario.agent
    free = spec is not None and all(
        each.kind == "llm" and not each.disallow_transfer_to_parent for each in chain
    )
    found = spec if free and spec is not None and chain else root
    return found.name if found.kind == "llm" else None


def _chain(seen: FlowView, author: str) -> list[FlowAgentSpec]:
    """Return an agent and those above it."""
    parents = {
        child.name: parent
        for parent in seen.agents.values()
        for child in parent.sub_agents
    }
    found: list[FlowAgentSpec] = []
    each = seen.agents.get(author)
    while each is not None:
        found.append(each)
        each = parents.get(each.name)
    return found


def one_invocation(seen: FlowView) -> Decisions:
    """FLOW-077: the events of a turn have one invocation id, and turns differ."""
    known: list[str] = []
    for turn in seen.turns:
        ids = sorted({str(e.data.get("invocation_id", "")) for e in turn.events})
        if turn.events and not (turn.spec.confirms or turn.spec.late):
            claim = "all events of a run have one invocation id"
            yield DialectDecision(claim, 1, len(ids), turn.events[0].place)
            claim = "the invocation id is another one than those before"
            yield DialectDecision(claim, [], [e for e in ids if e in known], turn.end)
        known.extend(ids)


# What the checks have in common


def _left(seen: FlowView, name: str, left: str) -> Iterator[tuple[FlowTurn, HookSeen]]:
    for turn in seen.turns:
        for each in turn.of(name):
            if each.left == left:
                yield turn, each


def _next(turn: FlowTurn, hook: HookSeen) -> int:
    """Return where the same agent is entered again."""
    later = (
        each.place
        for each in turn.of(hook.hook)
        if each.place > hook.place and each.agent == hook.agent
    )
    return min(later, default=turn.end)


def _said(seen: FlowView, hook: HookSeen) -> str | None:
    given = [each for each in seen.does(hook) if each.op == "return"]
    if len(given) != 1 or len(seen.does(hook)) != 1 or given[0].on_call:
        return None
    text: str | None = given[0].text
    return text if not given[0].parts and not given[0].calls else None


def _changes_message(seen: FlowView) -> bool:
    return any(each.hooks.get("on_user_message") for each in seen.scenario.plugins)


CHECKS: Final = (
    DialectCheck(clause="FLOW-060", decide=before_agent_value),
    DialectCheck(clause="FLOW-061", decide=after_agent_value),
    DialectCheck(clause="FLOW-062", decide=state_events),
    DialectCheck(clause="FLOW-063", decide=before_agent_error),
    DialectCheck(clause="FLOW-070", decide=user_message),
    DialectCheck(clause="FLOW-071", decide=before_run_value),
    DialectCheck(clause="FLOW-072", decide=replaced_event),
    DialectCheck(clause="FLOW-073", decide=after_run),
    DialectCheck(clause="FLOW-074", decide=partial_events),
    DialectCheck(clause="FLOW-075", decide=kept_events),
    DialectCheck(clause="FLOW-076", decide=next_agent),
    DialectCheck(clause="FLOW-077", decide=one_invocation),
)
