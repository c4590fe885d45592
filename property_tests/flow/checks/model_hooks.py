"""Checks of the hooks around a model: values, errors, and what is changed in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from compat.engines.flow.operations import Give
from property_tests.dialects.decision import DialectDecision
from property_tests.dialects.dialect import DialectCheck
from property_tests.flow.view import EventSeen, FlowTurn, FlowView, HookSeen

Decisions = Iterator[DialectDecision]

MODEL_HOOKS: Final = ("before_model", "after_model", "on_model_error")


def before_value(seen: FlowView) -> Decisions:
    """FLOW-020: behind a value neither model nor after_model hooks."""
    for turn, hook in _left(seen, "before_model", "value"):
        until = _next_place(turn, hook, "before_model")
        claim = f"no model is asked behind the value of {hook.owner}"
        asked = [e.agent for e in turn.requests if hook.place < e.place < until]
        yield DialectDecision(claim, [], asked, hook.place)
        after = _between(turn, hook, until, "after_model")
        claim = f"no after_model hook is entered behind the value of {hook.owner}"
        yield DialectDecision(claim, [], after, hook.place)
        said = _said(seen, hook)
        event = _next_event(turn, hook)
        if said is not None and event is not None and not seen.edits_events:
            claim = f"what {hook.owner} gave is the answer"
            yield DialectDecision(claim, said, event.text, event.place)


def before_error(seen: FlowView) -> Decisions:
    """FLOW-021: an error of before_model ends the run past on_model_error."""
    for turn, hook in _left(seen, "before_model", "error"):
        claim = f"no on_model_error hook is entered for the error of {hook.owner}"
        got = _between(turn, hook, turn.end, "on_model_error")
        yield DialectDecision(claim, [], got, hook.place)
        claim = "the run ends with an error"
        yield DialectDecision(claim, True, turn.failed, hook.place)  # noqa: FBT003  # what is expected


def recovered(seen: FlowView) -> Decisions:
    """FLOW-022: a recovered error goes through after_model, and is the answer."""
    for turn, hook in _left(seen, "on_model_error", "value"):
        until = _next_place(turn, hook, "before_model")
        wanted = _would_enter(seen, hook)
        after = _between(turn, hook, until, "after_model")
        claim = f"what {hook.owner} gave goes through after_model"
        yield DialectDecision(claim, wanted, bool(after), hook.place)
        said, event = _said(seen, hook), _next_event(turn, hook)
        if (
            said is not None
            and not wanted
            and event is not None
            and not seen.edits_events
        ):
            claim = f"what {hook.owner} gave is the answer"
            yield DialectDecision(claim, said, event.text, event.place)


def error_replaced(seen: FlowView) -> Decisions:
    """FLOW-023: an error of on_model_error is what leaves."""
    for turn, hook in _left(seen, "on_model_error", "error"):
        after = _between(turn, hook, turn.end, "after_model")
        claim = f"no after_model hook is entered behind the error of {hook.owner}"
        yield DialectDecision(claim, [], after, hook.place)
        text = _raised(seen, hook)
        got = str((turn.error or {}).get("text", ""))
        claim = f"the error of {hook.owner} leaves the run"
        yield DialectDecision(claim, True, bool(text) and text in got, hook.place)  # noqa: FBT003  # what is expected


def error_kept(seen: FlowView) -> Decisions:
    """FLOW-024: without a value the model's error ends the run."""
    for turn in seen.turns:
        for failed in turn.model_errors:
            until = _place_behind(turn, failed.place)
            hooks = [
                each
                for each in turn.of("on_model_error")
                if failed.place < each.place < until and each.agent == failed.agent
            ]
            later = [e for e in turn.hooks if e.place > failed.place]
            if any(each.left == "error" for each in (*hooks, *later)):
                continue  # another exception took its place
            if any(each.left == "value" for each in hooks):
                continue
            claim = "the model's error ends the run where every hook abstains"
            got = failed.text in str((turn.error or {}).get("text", ""))
            if failed.agent == seen.scenario.agent.name:
                yield DialectDecision(claim, True, got, failed.place)  # noqa: FBT003  # what is expected
            after = [
                each.owner
                for each in turn.of("after_model")
                if failed.place < each.place < until and each.agent == failed.agent
            ]
            claim = "no after_model hook is entered for an error that nobody covered"
            yield DialectDecision(claim, [], after, failed.place)


def after_value(seen: FlowView) -> Decisions:
    """FLOW-025: a value of after_model is what is told and kept."""
    for turn, hook in _left(seen, "after_model", "value"):
        said, event = _said(seen, hook), _next_event(turn, hook)
        if said is None or event is None or seen.edits_events:
            continue
        claim = f"what {hook.owner} gave is told"
        yield DialectDecision(claim, said, event.text, event.place)


def after_each(seen: FlowView) -> Decisions:
    """FLOW-026: after_model hooks are entered for each response of the model."""
    for turn in seen.turns:
        agents = [each for each in seen.agents.values() if _watched(seen, each.name)]
        for agent in agents:
            got = [e for e in turn.of("after_model") if e.agent == agent.name]
            if any(each.left == "error" for each in turn.hooks) or turn.failed:
                continue
            if turn.left:
                continue
            recovered_ = [
                each
                for each in turn.of("on_model_error")
                if each.agent == agent.name and each.left == "value"
            ]
            given = sum(each.agent == agent.name for each in turn.model_responses)
            rows = _first_entries(got)
            claim = (
                f"after_model is entered for each response of the model of {agent.name}"
            )
            if given or recovered_:
                yield DialectDecision(claim, given + len(recovered_), rows)


def after_error(seen: FlowView) -> Decisions:
    """FLOW-027: an error of after_model ends the run."""
    for turn, hook in _left(seen, "after_model", "error"):
        claim = f"the error of {hook.owner} ends the run"
        text = _raised(seen, hook)
        got = text in str((turn.error or {}).get("text", ""))
        yield DialectDecision(claim, True, got, hook.place)  # noqa: FBT003  # what is expected


def edited_request(seen: FlowView) -> Decisions:
    """FLOW-028: what is cut from a request stands in the next one again."""
    for turn in seen.turns:
        for hook in turn.of("before_model"):
            edits = [each for each in seen.does(hook) if each.op == "edit_request"]
            sent = [e for e in turn.requests if e.place > hook.place]
            if not edits or not sent or hook.left != "none":
                continue
            added = "".join(e.append_instruction for e in edits if e.on_call is None)
            if added:
                claim = (
                    f"what {hook.owner} wrote into the instruction reaches the model"
                )
                got = added in sent[0].instruction
                yield DialectDecision(claim, True, got, sent[0].place)  # noqa: FBT003  # what is expected
    yield from _kept_whole(seen)


def _kept_whole(seen: FlowView) -> Decisions:
    """Decide whether the session keeps the message, whatever was sent."""
    if not _edits_requests(seen):
        return
    for turn in seen.turns:
        said = turn.spec.text
        if said and not _replaces_message(seen):
            texts = [each.text for each in turn.kept if each.author == "user"]
            claim = "the session keeps what the user said"
            yield DialectDecision(claim, [said], texts[:1], turn.end)


def plugin_error(seen: FlowView) -> Decisions:
    """FLOW-029: the form in which a hook's exception leaves."""
    wraps = seen.profile.plugin_errors == "wrapped"
    for name in ("before_model", "after_model"):
        for turn, hook in _left(seen, name, "error"):
            later = [e for e in turn.hooks if e.place > hook.place]
            if turn.error is None or any(each.left == "error" for each in later):
                continue  # another exception took its place
            wanted = "RuntimeError" if wraps and hook.plugin else "ScriptedFlowError"
            claim = f"the exception of {hook.owner} leaves as {wanted}"
            got = str(turn.error.get("class", ""))
            yield DialectDecision(claim, wanted, _class(got), hook.place)


def _class(told: str) -> str:
    return "RuntimeError" if told == "PluginCallbackError" else told


# What the checks have in common


def _left(seen: FlowView, name: str, left: str) -> Iterator[tuple[FlowTurn, HookSeen]]:
    for turn in seen.turns:
        for each in turn.of(name):
            if each.left == left:
                yield turn, each


def _between(turn: FlowTurn, hook: HookSeen, until: int, name: str) -> list[str]:
    """Return who of the same agent entered a hook of that name in a stretch."""
    return [
        each.owner
        for each in turn.of(name)
        if hook.place < each.place < until and each.agent == hook.agent
    ]


def _next_place(turn: FlowTurn, hook: HookSeen, name: str) -> int:
    """Return where the same agent's next stage of that name begins."""
    later = (
        each.place
        for each in turn.of(name)
        if each.place > hook.place and each.agent == hook.agent
    )
    return min(later, default=turn.end)


def _place_behind(turn: FlowTurn, place: int) -> int:
    later = (each.place for each in turn.requests if each.place > place)
    return min(later, default=turn.end)


def _next_event(turn: FlowTurn, hook: HookSeen) -> EventSeen | None:
    later = (e for e in turn.events if e.place > hook.place and e.author == hook.agent)
    return next(later, None)


def _said(seen: FlowView, hook: HookSeen) -> str | None:
    """Return the text that a hook is told to say, None if it is not just a text."""
    given = [each for each in seen.does(hook) if isinstance(each, Give)]
    if len(given) != 1 or len(seen.does(hook)) != 1:
        return None
    plain = not given[0].calls and not given[0].parts and not given[0].error_code
    return given[0].text if plain else None


def _raised(seen: FlowView, hook: HookSeen) -> str:
    texts = [each.text for each in seen.does(hook) if each.op == "raise"]
    return str(texts[0]) if texts else ""


def _would_enter(seen: FlowView, hook: HookSeen) -> bool:
    plugs = any("after_model" in each.hooks for each in seen.scenario.plugins)
    return plugs or bool(seen.agents[hook.agent].callbacks.get("after_model"))


def _watched(seen: FlowView, agent: str) -> bool:
    plugs = any("after_model" in each.hooks for each in seen.scenario.plugins)
    return plugs or bool(seen.agents[agent].callbacks.get("after_model"))


def _first_entries(hooks: Sequence[HookSeen]) -> int:
    """Return how many stages these are: each begins where an owner stands again."""
    count = 0
    stage: set[str] = set()
    for each in hooks:
        if not stage or each.owner in stage:
            count += 1
            stage = set[str]()
        stage.add(each.owner)
    return count


def _edits_requests(seen: FlowView) -> bool:
    lists = [
        h for a in seen.agents.values() for h in a.callbacks.get("before_model", ())
    ]
    lists += [each.hooks.get("before_model", ()) for each in seen.scenario.plugins]
    return any(op.op == "edit_request" for todo in lists for op in todo)


def _replaces_message(seen: FlowView) -> bool:
    return any(each.hooks.get("on_user_message") for each in seen.scenario.plugins)


CHECKS: Final = (
    DialectCheck(clause="FLOW-020", decide=before_value),
    DialectCheck(clause="FLOW-021", decide=before_error),
    DialectCheck(clause="FLOW-022", decide=recovered),
    DialectCheck(clause="FLOW-023", decide=error_replaced),
    DialectCheck(clause="FLOW-024", decide=error_kept),
    DialectCheck(clause="FLOW-025", decide=after_value),
    DialectCheck(clause="FLOW-026", decide=after_each),
    DialectCheck(clause="FLOW-027", decide=after_error),
    DialectCheck(clause="FLOW-028", decide=edited_request),
    DialectCheck(clause="FLOW-029", decide=plugin_error),
)
