"""Checks of a whole run: the order of hooks, who silences whom, and where it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from compat.engines.flow.world import PROCESSOR
from property_tests.dialects.decision import DialectDecision
from property_tests.dialects.dialect import DialectCheck
from property_tests.flow.view import EventSeen, FlowTurn, FlowView, HookSeen

Decisions = Iterator[DialectDecision]

STAGES: Final = (
    *("before_agent", "before_model", "after_model", "on_model_error"),
    *("before_tool", "after_tool", "on_tool_error", "after_agent"),
)
"""The hooks that plugins and agents both have."""
ONCE: Final = ("on_user_message", "before_run", "after_run")


def whole_order(seen: FlowView) -> Decisions:
    """FLOW-001: message, run, agent, steps, agent, run."""
    for turn in seen.turns:
        names = list(dict.fromkeys(each.hook for each in turn.hooks))
        wanted = [each for each in ("on_user_message", "before_run") if each in names]
        if wanted:
            got = names[: len(wanted)]
            yield DialectDecision("the message and the run come first", wanted, got)
        if "after_run" in names and not turn.failed:
            claim = "the end of the run comes last"
            yield DialectDecision(claim, "after_run", turn.hooks[-1].hook)
        yield from _around_the_agent(turn)


def _around_the_agent(turn: FlowTurn) -> Decisions:
    """Between before_agent and after_agent of the first agent lies what it does."""
    within = turn.of(*(x for x in STAGES if not x.endswith("_agent")))
    first = next(iter(turn.of("before_agent")), None)
    if first is None:
        return
    for each in within:
        if each.agent == first.agent:
            claim = f"{each.hook} is entered behind before_agent of {first.agent}"
            yield DialectDecision(claim, True, first.place < each.place, each.place)  # noqa: FBT003  # what is expected
    own = [each for each in within if each.agent == first.agent]
    last = [e for e in turn.of("after_agent") if e.agent == first.agent]
    if last and own:
        claim = f"after_agent of {first.agent} is entered behind all that it does"
        got = max(each.place for each in own) < last[0].place
        yield DialectDecision(claim, True, got, last[0].place)  # noqa: FBT003  # as above


def plugins_first(seen: FlowView) -> Decisions:
    """FLOW-002: plugins stand before callbacks in each stage."""
    for stage in _stages(seen):
        sides = ["plugin" if each.plugin else "callback" for each in stage]
        if len(set(sides)) > 1:
            claim = f"plugins are entered before callbacks in {stage[0].hook}"
            yield DialectDecision(
                claim, sorted(sides, reverse=True), sides, stage[0].place
            )


def _stages(seen: FlowView) -> Iterator[list[HookSeen]]:
    """Yield the entries of each stage by where they stand, and not by their rank."""
    for turn in seen.turns:
        for hook in STAGES:
            yield from _rows(turn.of(hook))


def _rows(hooks: list[HookSeen]) -> Iterator[list[HookSeen]]:
    """Yield rows of entries in which nobody stands twice."""
    rows: dict[tuple[str, str], list[HookSeen]] = {}
    for each in hooks:
        row = rows.setdefault((each.agent, each.call_id), [])
        if any(each.owner == other.owner for other in row):
            yield row
            row = rows[each.agent, each.call_id] = []
        row.append(each)
    yield from (row for row in rows.values() if row)


def plugin_order(seen: FlowView) -> Decisions:
    """FLOW-003: plugins are entered in the order of registration."""
    registered = [each.name for each in seen.scenario.plugins]
    rows = [row for turn in seen.turns for each in ONCE for row in _rows(turn.of(each))]
    for stage in (*_stages(seen), *rows):
        got = [each.plugin for each in stage if each.plugin]
        if len(got) > 1:
            wanted = sorted(got, key=registered.index)
            claim = f"plugins are entered in their order in {stage[0].hook}"
            yield DialectDecision(claim, wanted, got, stage[0].place)


def callback_order(seen: FlowView) -> Decisions:
    """FLOW-004: callbacks are entered in the order of their list."""
    for stage in _stages(seen):
        got = [each.number for each in stage if not each.plugin]
        if len(got) > 1:
            claim = f"callbacks are entered in their order in {stage[0].hook}"
            yield DialectDecision(claim, sorted(got), got, stage[0].place)


def value_silences(seen: FlowView) -> Decisions:
    """FLOW-005: nobody is entered in a stage behind a value."""
    yield from _silenced(seen, "value")


def error_silences(seen: FlowView) -> Decisions:
    """FLOW-006: nobody is entered in a stage behind an error."""
    yield from _silenced(seen, "error")


def _silenced(seen: FlowView, left: str) -> Decisions:
    for stage in _stages(seen):
        for at, each in enumerate(stage):
            if each.left == left and not _is_falsy(each):
                behind = [other.owner for other in stage[at + 1 :]]
                claim = f"nobody is entered behind the {left} of {each.owner}"
                yield DialectDecision(claim, [], behind, each.place)


def _is_falsy(each: HookSeen) -> bool:
    """Tell whether a value is one that some lists pass over (FLOW-047)."""
    return each.value == {} and not each.plugin


def ends_final(seen: FlowView) -> Decisions:
    """FLOW-007: the last event of a turn is final, and none before it is."""
    for turn in seen.turns:
        plain = not (turn.failed or turn.left or turn.spec.stream)
        if not (plain and turn.events) or turn.events[-1].partial:  # FLOW-008
            continue
        if _is_simple(seen, turn):
            finals = [each.place for each in turn.events if is_final(seen, each)]
            wanted = [turn.events[-1].place]
            claim = "the turn ends with the first final event"
            yield DialectDecision(claim, wanted, finals, turn.events[-1].place)


def _is_simple(seen: FlowView, turn: FlowTurn) -> bool:
    """Tell whether only one agent asks a model, and no hook adds events of its own."""
    asks = len({each.agent for each in turn.requests}) == 1
    names = ("after_agent", "before_agent", "before_run", "on_event", PROCESSOR)
    adding = turn.of(*names)
    transfers = any(each.actions.get("transfer_to_agent") for each in turn.events)
    quiet = all(each.left == "none" for each in adding)
    if turn.spec.confirms and seen.profile.resumed_final == "asks_model":
        return False
    waits = any(each.data.get("long_running_ids") for each in turn.events)
    stated = any(each.content is None for each in turn.events)
    structured = any(each.output_schema for each in seen.agents.values())
    kind = seen.scenario.agent.kind == "llm"
    return all((asks, quiet, kind)) and not any((transfers, waits, stated, structured))


def is_final(seen: FlowView, event: EventSeen) -> bool:
    """Tell whether an event ends a turn, by its parts alone."""
    if event.actions.get("skip_summarization"):
        return True
    if event.partial or event.calls or event.responses:
        return False
    parts = event.parts
    thoughts = bool(parts) and all(each.get("thought") for each in parts)
    return not (thoughts and seen.profile.thought_only_turn == "goes_on")


def partial_end(seen: FlowView) -> Decisions:
    """FLOW-008: a step that ends on a partial event is an error, or the end."""
    for turn in seen.turns:
        left = turn.left
        raised = any(each.left == "error" for each in turn.hooks)
        if left or raised or not turn.events or not turn.events[-1].partial:
            continue
        if any(each.hook == "on_event" and each.left == "value" for each in turn.hooks):
            continue
        fails = seen.profile.last_partial == "error"
        claim = "a turn whose last event is partial fails" if fails else "it ends"
        yield DialectDecision(claim, fails, turn.failed, turn.events[-1].place)


def no_event_without_content(seen: FlowView) -> Decisions:
    """FLOW-010: a response that says nothing makes no event."""
    for turn in seen.turns:
        if turn.of("after_model", "before_model", "on_event") or _does_things(seen):
            continue
        for each in turn.model_responses:
            if not each.contents:
                told = [e for e in turn.events if e.place == each.place + 1]
                mine = [e.data for e in told if e.author == each.agent]
                bare = [e for e in mine if not e.get("error_code")]
                claim = "a response that says nothing makes no event"
                yield DialectDecision(claim, [], bare, each.place)


def _does_things(seen: FlowView) -> bool:
    """Tell whether hooks around agents do something, which makes events of its own."""
    names = ("before_agent", "after_agent")
    lists = [
        x for a in seen.agents.values() for n in names for x in a.callbacks.get(n, ())
    ]
    lists += [p.hooks.get(n, ()) for p in seen.scenario.plugins for n in names]
    return any(lists)


def calls_are_answered(seen: FlowView) -> Decisions:
    """FLOW-011: the request behind a response has it and its call."""
    for turn in seen.turns:
        for event in turn.events:
            later = [r for r in turn.requests if r.place > event.place]
            here = [r for r in later if r.agent == event.author]
            if event.responses and here and _sends_all(seen, here[0].agent):
                names = [each["name"] for each in event.responses]
                sent = [
                    part["response"]["name"]
                    for part in here[0].parts
                    if part.get("response")
                ]
                claim = "the next request holds the responses"
                missing = sorted((Counter(names) - Counter(sent)).elements())
                yield DialectDecision(claim, [], missing, here[0].place)


def _sends_all(seen: FlowView, agent: str) -> bool:
    spec = seen.agents[agent]
    if spec.include_contents == "none" and len(seen.agents) > 1:
        return False  # its turn begins where another handed over
    hooks = [*spec.callbacks.get("before_model", ())]
    hooks += [each.hooks.get("before_model", ()) for each in seen.scenario.plugins]
    return not any(op.op == "edit_request" for hook in hooks for op in hook)


CHECKS: Final = (
    DialectCheck(clause="FLOW-001", decide=whole_order),
    DialectCheck(clause="FLOW-002", decide=plugins_first),
    DialectCheck(clause="FLOW-003", decide=plugin_order),
    DialectCheck(clause="FLOW-004", decide=callback_order),
    DialectCheck(clause="FLOW-005", decide=value_silences),
    DialectCheck(clause="FLOW-006", decide=error_silences),
    DialectCheck(clause="FLOW-007", decide=ends_final),
    DialectCheck(clause="FLOW-008", decide=partial_end),
    DialectCheck(clause="FLOW-010", decide=no_event_without_content),
    DialectCheck(clause="FLOW-011", decide=calls_are_answered),
)
