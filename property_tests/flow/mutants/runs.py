"""Mutants of runs: loops, calls, contents, instructions, streams, sessions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, cast

from compat.dialects.flow.content import Content, Part
from compat.dialects.flow.errors import AgentNotFoundError, NoVariableError
from property_tests.dialects.dialect import DialectMutant
from property_tests.flow.mutants.steps import broken, step
from property_tests.mutants.patching import Given, Patch, Right

Made = Callable[[], Sequence[Patch]]


def one(name: str, replace_: Callable[[Right], Given]) -> Made:
    """Return what makes the patch of one step."""
    return lambda: [step(name, replace_)]


def _ends_on_responses(right: Right) -> Given:
    def wrong(event: Given, profile: Given) -> Given:
        return bool(event.responses) or right(event, profile)

    return wrong


def _empty_events(right: Right) -> Given:
    async def wrong(*args: Given) -> Given:
        found = await right(*args)
        bare = found.content is None and not found.error_code
        return replace(found, content=Content("model", ())) if bare else found

    return wrong


def _without_responses(right: Right) -> Given:
    def wrong(*args: Given, **how: Given) -> Given:
        return tuple(each for each in right(*args, **how) if not each.responses)

    return wrong


def _no_bare_events(right: Right) -> Given:
    async def wrong(ctx: Given) -> AsyncGenerator[Given, None]:
        async for event in right(ctx):
            if event.content is not None:
                yield event

    return wrong


def _never_escalates(right: Right) -> Given:
    async def wrong(ctx: Given) -> AsyncGenerator[Given, None]:
        async for event in right(ctx):
            yield replace(event, actions=replace(event.actions, escalate=None))

    return wrong


def _other_invocations(right: Right) -> Given:
    async def wrong(ctx: Given) -> AsyncGenerator[Given, None]:
        number = 0
        async for event in right(ctx):
            number += 1
            yield replace(event, invocation_id=f"{event.invocation_id}-{number}")

    return wrong


def _always_root(right: Right) -> Given:
    del right

    def wrong(tree: Given, *_: Given) -> Given:
        return (tree.root, "")

    return wrong


def _keeps_partial(right: Right) -> Given:
    async def wrong(self: Given, session: Given, event: Given) -> Given:
        if not event.partial:
            return await right(self, session, event)
        await right(self, session, replace(event, partial=False))
        return event

    return wrong


def _loses_responses(right: Right) -> Given:
    async def wrong(self: Given, session: Given, event: Given) -> Given:
        if event.error_code or event.calls:
            return event
        return await right(self, session, event)

    return wrong


def _backwards(right: Right) -> Given:
    def wrong(events: Given, profile: Given) -> Given:
        return right([*events][::-1], profile)

    return wrong


def _flat_state(right: Right) -> Given:
    def wrong(base: Given, later: Given, profile: Given) -> Given:
        flat = {**base.state_delta, **later.state_delta}
        return replace(right(base, later, profile), state_delta=flat)

    return wrong


def _first_transfer(right: Right) -> Given:
    def wrong(base: Given, later: Given, profile: Given) -> Given:
        name = base.transfer_to_agent or later.transfer_to_agent
        return replace(right(base, later, profile), transfer_to_agent=name)

    return wrong


def _run_twice(right: Right) -> Given:
    async def wrong(*args: Given, **how: Given) -> Given:
        await right(*args, **how)
        return await right(*args, **how)

    return wrong


def _everywhere(right: Right) -> Given:
    del right

    def wrong(*_: Given) -> Given:
        return True

    return wrong


def _as_it_was(right: Right) -> Given:
    del right

    def wrong(event: Given, _: Given) -> Given:
        return event

    return wrong


def _not_rearranged(right: Right) -> Given:
    del right

    def wrong(events: Given, _: Given) -> Given:
        return events

    return wrong


def _whole_history(right: Right) -> Given:
    def wrong(*args: Given, **how: Given) -> Given:
        return right(*args, **{**how, "include": "default"})

    return wrong


def _bare_content(right: Right) -> Given:
    def wrong(*args: Given, **how: Given) -> Given:
        return (*right(*args, **how), Content("user", ()))

    return wrong


def _in_pieces(right: Right) -> Given:
    def wrong(*args: Given, **how: Given) -> Given:
        return tuple(
            replace(each, parts=tuple(x for part in each.parts for x in _halves(part)))
            if each.role == "model"
            else each
            for each in right(*args, **how)
        )

    return wrong


def _halves(part: Part) -> Sequence[Part]:
    """Return the two halves of a text, and all else as it is."""
    if not part.text:
        return (part,)
    return replace(part, text=part.text[:1]), replace(part, text=part.text[1:])


def _unfilled(right: Right) -> Given:
    async def wrong(template: str, *_: Given) -> str:
        return template

    del right
    return wrong


def _own_first(right: Right) -> Given:
    """Put what comes first last: the text of the second one in the first's place."""
    held: list[str] = []

    async def wrong(template: str, *args: Given) -> str:
        held.append(await right(template, *args))
        if len(held) % 2:
            return ""
        return "\n\n".join(each for each in (held[-1], held[-2]) if each)

    return wrong


def _missing_is_nothing(right: Right) -> Given:
    async def wrong(template: str, *args: Given) -> str:
        try:
            return str(await right(template, *args))
        except NoVariableError:
            return template

    return wrong


def _all_braces(right: Right) -> Given:
    async def wrong(template: str, *args: Given) -> str:
        filled: str = await right(template, *args)
        return filled.replace("{", "").replace("}", "")

    return wrong


def _escaped(right: Right) -> Given:
    async def wrong(template: str, *args: Given) -> str:
        if "{{" in template:
            return template.replace("{{", "{").replace("}}", "}")
        return str(await right(template, *args))

    return wrong


def _no_targets(right: Right) -> Given:
    del right

    def wrong(*_: Given) -> Given:
        return []

    return wrong


def _own_target(right: Right) -> Given:
    del right

    def wrong(_name: Given, agent: Given, *_: Given) -> Given:
        return agent.sub_agents[-1].sub_agents or agent

    return wrong


def _anybody(right: Right) -> Given:
    def wrong(name: str, agent: Given, *args: Given) -> Given:
        try:
            return right(name, agent, *args)
        except AgentNotFoundError:
            return agent.sub_agents[0]

    return wrong


def _not_told(right: Right) -> Given:
    del right

    def wrong(*_: Given) -> Given:
        return None

    return wrong


def _not_kept(right: Right) -> Given:
    del right

    def wrong(_ctx: Given, _agent: Given, events: Given) -> Given:
        return events

    return wrong


def _not_asked(right: Right) -> Given:
    async def wrong(*_: Given) -> None:
        return None

    del right
    return wrong


def _any_answer_is_yes(right: Right) -> Given:
    async def wrong(tool: Given, ctx: Given, args: Given) -> Given:
        if ctx.confirmation is not None:
            return None
        return await right(tool, ctx, args)

    return wrong


def _asks_for_credential(right: Right) -> Given:
    def wrong(*args: Given) -> Iterator[Given]:
        for event in right(*args):
            parts = tuple(map(_renamed, event.content.parts if event.content else ()))
            content = replace(event.content, parts=parts) if event.content else None
            yield replace(event, content=content)

    return wrong


def _renamed(part: Part) -> Part:
    if part.call is None or part.call.name != "adk_request_confirmation":
        return part
    return replace(part, call=replace(part.call, name="adk_request_credential"))


def _other_ids(right: Right) -> Given:
    async def wrong(
        ctx: Given, hooks: Given, calls: Given, tools: Given, given: Given
    ) -> Given:
        other = [replace(each, id=f"{each.id}-again") for each in calls]
        answers = {f"{key}-again": each for key, each in given.items()}
        return await right(ctx, hooks, other, tools, answers)

    return wrong


def _is_bare(value: Given) -> bool:
    return value is not None and [*value] == ["result"]


def _result_renamed(right: Right) -> Given:
    def wrong(value: Given, where: str) -> Given:
        found = cast("Given", {"output": value["result"]}) if _is_bare(value) else value
        return right(found, where)

    return wrong


class _Wrong:
    """An aggregator that does one thing otherwise."""

    def __init__(self, right: Given) -> None:
        self.right = right

    def feed(self, chunk: Given) -> Iterator[Given]:
        yield from self.right.feed(chunk)

    def close(self) -> Given:
        return self.right.close()


class _Losing(_Wrong):
    """Loses what it has gathered where more than one chunk came."""

    fed = 0

    def feed(self, chunk: Given) -> Iterator[Given]:
        self.fed += 1
        text = chunk is not None and chunk.content is not None
        if self.fed == 2 and text:  # the second one
            return
        yield from self.right.feed(chunk)


class _Flushing(_Wrong):
    """Ends the text that is gathered where bytes come, as the seed says."""

    def feed(self, chunk: Given) -> Iterator[Given]:
        parts = () if chunk is None or chunk.content is None else chunk.content.parts
        if parts and parts[0].blob is not None:
            gathered = self.right.close()
            if gathered is not None:
                yield gathered
        yield from self.right.feed(chunk)


class _Open(_Wrong):
    """Forgets what is left at the end of a stream."""

    def close(self) -> None:
        return None


def _through(kind: type[_Wrong]) -> Callable[[Right], Given]:
    """Put one that is wrong around the aggregator that a profile has."""

    def made(right: Right) -> Given:
        def wrong(profile: Given) -> _Wrong:
            return kind(right(profile))

        return wrong

    return made


def _keeps_temp(right: Right) -> Given:
    del right

    def wrong(event: Given) -> Given:
        return event

    return wrong


def _own_scope(right: Right) -> Given:
    def wrong(delta: Given) -> Given:
        app, user, own = right(delta)
        return {}, {}, {**own, **{f"app:{k}": v for k, v in app.items()}, **user}

    return wrong


def _no_own_state(right: Right) -> Given:
    def wrong(delta: Given) -> Given:
        app, user, _ = right(delta)
        return app, user, {}

    return wrong


def _late_state(right: Right) -> Given:
    """Have tools write where nobody reads before the event is kept."""

    async def wrong(ctx: Given, hook: str, *args: Given) -> Given:
        before = dict(ctx.session.state)
        value = await right(ctx, hook, *args)
        if hook == "before_model":
            ctx.session.state.clear()
            ctx.session.state.update(before)
        return value

    return wrong


RUNS: Final[tuple[DialectMutant, ...]] = (
    broken(
        "flow-ends-on-responses",
        "A turn ends with the responses of its tools.",
        "FLOW-007",
        one("flow.is_final", _ends_on_responses),
    ),
    broken(
        "flow-empty-events",
        "A response that says nothing makes an event.",
        "FLOW-010",
        one("flow.response", _empty_events),
    ),
    broken(
        "flow-responses-unsent",
        "Responses of tools are not sent to the model.",
        "FLOW-011",
        one("contents.build", _without_responses),
    ),
    broken(
        "flow-result-renamed",
        "A bare result is told under another key.",
        "FLOW-050",
        one("tool.told", _result_renamed),
    ),
    broken(
        "flow-state-events-lost",
        "Events without content are not told.",
        "FLOW-062",
        one("runner.run_agent", _no_bare_events),
    ),
    broken(
        "flow-partial-kept",
        "Partial events are kept, too.",
        "FLOW-074",
        one("sessions.append", _keeps_partial),
    ),
    broken(
        "flow-calls-not-kept",
        "Events with calls are told and not kept.",
        "FLOW-075",
        one("sessions.append", _loses_responses),
    ),
    broken(
        "flow-always-root",
        "The root goes on, whoever spoke last.",
        "FLOW-076",
        one("runner.next_agent", _always_root),
    ),
    broken(
        "flow-other-invocations",
        "Every event has an invocation id of its own.",
        "FLOW-077",
        one("runner.run_agent", _other_invocations),
    ),
    broken(
        "flow-responses-backwards",
        "Responses stand in the order in which they came.",
        "FLOW-080",
        one("tool.merged", _backwards),
    ),
    broken(
        "flow-flat-state",
        "A mapping of a later call takes the earlier one's place.",
        "FLOW-081",
        one("merging.two", _flat_state),
    ),
    broken(
        "flow-first-transfer",
        "The first of several transfers counts.",
        "FLOW-083",
        one("merging.two", _first_transfer),
    ),
    broken(
        "flow-run-twice",
        "Every call is run a second time.",
        "FLOW-084",
        one("flow.calls", _run_twice),
    ),
    broken(
        "flow-no-branches",
        "Agents at the same time hear each other.",
        "FLOW-090",
        one("contents.in_branch", _everywhere),
    ),
    broken(
        "flow-foreign-as-own",
        "Another agent's words are sent as the model's own.",
        "FLOW-091",
        one("contents.told_by_user", _as_it_was),
    ),
    broken(
        "flow-not-rearranged",
        "Late responses stay where they came.",
        "FLOW-092",
        one("contents.rearranged", _not_rearranged),
        under="adk-go-0.4",
    ),
    broken(
        "flow-whole-history",
        "The whole history is sent whatever include_contents says.",
        "FLOW-093",
        one("contents.build", _whole_history),
    ),
    broken(
        "flow-bare-content",
        "A content without parts is sent.",
        "FLOW-094",
        one("contents.build", _bare_content),
    ),
    broken(
        "flow-own-first",
        "The agent's instruction stands before the global one.",
        "FLOW-100",
        one("instructions.fill", _own_first),
    ),
    broken(
        "flow-unfilled",
        "Instructions are sent as they are written.",
        "FLOW-101 FLOW-105",
        one("instructions.fill", _unfilled),
    ),
    broken(
        "flow-optional-left",
        "An optional name that is missing is left there.",
        "FLOW-102",
        one("instructions.fill", _unfilled),
    ),
    broken(
        "flow-missing-left",
        "A missing name is left there, and the model asked.",
        "FLOW-103",
        one("instructions.fill", _missing_is_nothing),
    ),
    broken(
        "flow-all-braces",
        "All braces are taken out, JSON's as well.",
        "FLOW-104",
        one("instructions.fill", _all_braces),
    ),
    broken(
        "flow-escaped",
        "Doubled braces protect a name.",
        "FLOW-105",
        one("instructions.fill", _escaped),
    ),
    broken(
        "flow-no-targets",
        "No agent is offered to hand over.",
        "FLOW-110",
        one("transfer.targets", _no_targets),
    ),
    broken(
        "flow-own-target",
        "A transfer has the agent go on itself.",
        "FLOW-111",
        one("flow.target", _own_target),
    ),
    broken(
        "flow-anybody",
        "A transfer to nobody reaches the first child.",
        "FLOW-112",
        one("flow.target", _anybody),
    ),
    broken(
        "flow-answer-not-told",
        "A structured answer is not told as text.",
        "FLOW-120",
        one("flow.structured", _not_told),
    ),
    broken(
        "flow-output-not-kept",
        "Nothing is kept under an output key.",
        "FLOW-121",
        one("agent.output", _not_kept),
    ),
    broken(
        "flow-not-asked",
        "A tool runs although nobody confirmed it.",
        "FLOW-130 FLOW-131",
        one("tool.refusal", _not_asked),
    ),
    broken(
        "flow-asks-for-credential",
        "The user is asked by adk_request_credential, as the seed says.",
        "FLOW-131",
        one("flow.confirmation", _asks_for_credential),
    ),
    broken(
        "flow-other-ids",
        "A confirmed call is answered under another id.",
        "FLOW-132",
        one("confirmation.calls", _other_ids),
    ),
    broken(
        "flow-never-escalates",
        "What escalates within a loop is told as if it did not.",
        "FLOW-114",
        one("agent.run", _never_escalates),
    ),
    broken(
        "flow-no-is-yes",
        "Given answer counts as a yes.",
        "FLOW-133",
        one("tool.refusal", _any_answer_is_yes),
    ),
    broken(
        "flow-chunk-lost",
        "The second chunk of a stream is lost.",
        "FLOW-140",
        one("stream.aggregator", _through(_Losing)),
    ),
    broken(
        "flow-sent-in-pieces",
        "A text that was streamed is sent in two parts.",
        "FLOW-095",
        one("contents.build", _in_pieces),
    ),
    broken(
        "flow-bytes-end-text",
        "Bytes end the text that is gathered, as the seed says.",
        "FLOW-141",
        one("stream.aggregator", _through(_Flushing)),
        under="adk-go-0.4",
    ),
    broken(
        "flow-stream-open",
        "What is left when a stream ends is forgotten.",
        "FLOW-142",
        one("stream.aggregator", _through(_Open)),
        under="adk-py-2",
    ),
    broken(
        "flow-temp-kept",
        "State under temp: is kept with its event.",
        "FLOW-150",
        one("sessions.kept_event", _keeps_temp),
    ),
    broken(
        "flow-own-scope",
        "State of app and user is kept for one session.",
        "FLOW-151",
        one("sessions.scoped", _own_scope),
    ),
    broken(
        "flow-own-state-lost",
        "State of a session alone is kept nowhere.",
        "FLOW-152",
        one("sessions.scoped", _no_own_state),
    ),
    broken(
        "flow-late-state",
        "What a before_model hook wrote is read in the next turn only.",
        "FLOW-153",
        one("model.callback_value", _late_state),
    ),
)
"""All of them."""
