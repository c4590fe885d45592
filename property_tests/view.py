"""A trace, read as what it tells of: runs, iterations, passes through hooks, calls.

Checks decide from these. A view never refuses a trace, however wrong the engine that
made it: what does not fit anywhere stands in no part, and a check misses it there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from refengine.messages import Message, ToolCall
from refengine.profile import Profile
from refengine.testing.scenario import AgentSpec, RunSpec, Scenario
from refengine.testing.trace import Observation, Trace

BEFORE: Final = frozenset(("before_chat_model", "before_model"))
AFTER: Final = frozenset(("after_chat_model", "after_model"))
HOOKS: Final = frozenset(("hook_enter", "hook_exit"))
OF_RUN: Final = frozenset(("run_start", "run_end", "event"))
"""The kinds of entries that may belong to a whole run; hooks may, too."""


@dataclass(slots=True, eq=False)
class HookView:
    """One hook that was entered, and left unless something was raised in it."""

    enter: Observation
    exit: Observation | None = None

    @property
    def name(self) -> str:
        """The hook, in a scenario's words, such as ``before_model``."""
        return str(self.enter.data["hook"])

    @property
    def extension(self) -> str:
        """The extension whose hook it is."""
        return str(self.enter.data["extension"])

    @property
    def position(self) -> int:
        """The place of the extension in its list."""
        return cast("int", self.enter.data["position"])

    @property
    def seen(self) -> Any:  # noqa: ANN401  # messages, a configuration, a request, a call
        """What it was given."""
        return self.enter.data.get("seen")

    @property
    def left(self) -> Any:  # noqa: ANN401  # as seen
        """What it returned; None if it did not return."""
        return None if self.exit is None else self.exit.data.get("value")


@dataclass(slots=True, eq=False)
class Call:
    """One call of a tool, with all that was observed under its id.

    ``call`` is what the model asked for; None if no call of the response has that id.
    """

    id: str
    call: ToolCall | None = None
    hooks: list[HookView] = field(default_factory=list[HookView])
    starts: list[Observation] = field(default_factory=list[Observation])
    ends: list[Observation] = field(default_factory=list[Observation])
    errors: list[Observation] = field(default_factory=list[Observation])
    events: list[Observation] = field(default_factory=list[Observation])
    entries: list[Observation] = field(default_factory=list[Observation])


@dataclass(slots=True, eq=False)
class Iteration:
    """One model call and the tools it leads to. ``number`` counts from 1 in its run.

    Where the model is asked again all is told of the last attempt; those before it are
    ``failed``: each is what the iteration was until then, with the same hooks before.
    """

    number: int
    before: list[HookView] = field(default_factory=list[HookView])
    model_wraps: list[HookView] = field(default_factory=list[HookView])
    request: Observation | None = None
    response: Observation | None = None
    model_error: Observation | None = None
    after: list[HookView] = field(default_factory=list[HookView])
    model_events: list[Observation] = field(default_factory=list[Observation])
    calls: dict[str, Call] = field(default_factory=dict[str, Call])
    entries: list[Observation] = field(default_factory=list[Observation])
    failed: list[Iteration] = field(default_factory=list["Iteration"])
    read: dict[object, object] = field(default_factory=dict[object, object])
    """As that of a view."""

    @property
    def message(self) -> Message | None:
        """What the model itself answered."""
        return None if self.response is None else _message(self.response)

    @property
    def sent(self) -> Sequence[Message] | None:
        """The messages that the model was sent."""
        if self.request is None:
            return None
        return cast("Sequence[Message]", self.request.data["messages"])

    @property
    def asks_around_model(self) -> bool:
        """Whether a wrapper around the model was entered last, and never left."""
        left = {_who(each.enter): each.exit for each in self.model_wraps}
        return any(each is None for each in left.values())

    @property
    def attempts(self) -> tuple[Iteration, ...]:
        """Its attempts at the model: those that failed, and the last one."""
        return (*self.failed, self)

    def ask_again(self) -> None:
        """Begin another attempt at the model, after one that failed."""
        had = replace(self, failed=[], read={})
        self.failed.append(had)
        self.model_wraps, self.model_events, self.read = [], [], {}
        self.request = self.model_error = None
        opened = [each.enter for each in had.model_wraps]
        first = min(e.seq for e in (*opened, had.request) if e is not None)
        self.entries = [each for each in had.entries if each.seq < first]

    @property
    def tool_events(self) -> list[Observation]:
        """The events of its tool results, as they came."""
        return [e for e in self.entries if e.kind == "event" and _kind(e) == "tool"]


@dataclass(slots=True, eq=False)
class RunView:
    """One run. ``end`` is its ``run_end``; ``error`` the event of what it raised."""

    number: int
    spec: RunSpec
    agent: AgentSpec
    start: Observation | None = None
    end: Observation | None = None
    error: Observation | None = None
    before_agent: list[HookView] = field(default_factory=list[HookView])
    iterations: list[Iteration] = field(default_factory=list[Iteration])
    after_agent: list[HookView] = field(default_factory=list[HookView])
    entries: list[Observation] = field(default_factory=list[Observation])

    @property
    def given(self) -> Sequence[Message]:
        """The messages that it was started with."""
        if self.start is None:
            return ()
        return cast("Sequence[Message]", self.start.data["messages"])

    @property
    def status(self) -> str | None:
        """How it ended: None if nothing says so."""
        return None if self.end is None else str(self.end.data["status"])

    @property
    def final(self) -> Sequence[Message]:
        """The messages that it left."""
        if self.end is None:
            return ()
        return cast("Sequence[Message]", self.end.data["messages"])

    @property
    def answer(self) -> Message | None:
        """Its answer, if it has one."""
        return None if self.end is None else cast("Any", self.end.data["answer"])

    @property
    def events(self) -> list[Observation]:
        """What its consumer received, in order."""
        return [each for each in self.entries if each.kind == "event"]

    @property
    def is_edited(self) -> bool:
        """Whether a hook of a pass left other messages than it was given."""
        hooks = (h for each in self.iterations for h in (*each.before, *each.after))
        return any(h.exit is not None and h.left != h.seen for h in hooks)

    @property
    def is_left(self) -> bool:
        """Whether it was left in the middle: it waits for an answer, or was cancelled.

        What had begun then has no end.
        """
        return self.status in {"interrupted", "cancelled"}

    def left_in(self, now: Iteration) -> bool:
        """Tell whether it was left in that iteration, in which much may be missing."""
        return self.is_left and now is self.iterations[-1]

    @property
    def failed_as(self) -> str | None:
        """The class of the error that it ended with."""
        return None if self.error is None else str(self.error.data.get("class"))


@dataclass(slots=True, eq=False)
class View:
    """One scenario played once on an engine under a profile."""

    scenario: Scenario
    profile: Profile
    trace: Trace
    variant: str = "played"
    built: list[HookView] = field(default_factory=list[HookView])
    """The hooks that ran while the agent was built."""
    build: list[Observation] = field(default_factory=list[Observation])
    """Everything observed before the first run."""
    build_error: Observation | None = None
    runs: list[RunView] = field(default_factory=list[RunView])
    resumed: bool = False
    """Whether some runs are put together from the parts they were kept in."""
    late: bool = False
    """Whether an event came when another iteration than its own had begun, maybe."""
    read: dict[object, object] = field(default_factory=dict[object, object])
    """What checks have read of it, by the function that reads (``remembering``)."""

    @property
    def agent(self) -> AgentSpec:
        """The first agent, in most scenarios the only one."""
        return self.scenario.all_agents[0]

    @property
    def iterations(self) -> list[Iteration]:
        """The iterations of all runs."""
        return [each for run in self.runs for each in run.iterations]

    @property
    def calls(self) -> list[Call]:
        """The tool calls of all runs."""
        return [call for each in self.iterations for call in each.calls.values()]


def view(
    scenario: Scenario, profile: Profile, trace: Trace, variant: str = "played"
) -> View:
    """Read a trace of a scenario."""
    found = View(scenario, profile, trace, variant)
    reader = _Reader(found)
    for each in trace:
        reader.take(each)
    return found


class _Reader:
    """Puts each observation where it belongs; one for each trace."""

    def __init__(self, found: View) -> None:
        self._found = found
        self._open: dict[tuple[object, ...], list[HookView]] = {}
        self._run: RunView | None = None
        self._told = 0

    def take(self, seen: Observation) -> None:
        """Take the next observation."""
        hook = self._hook(seen) if seen.kind in HOOKS else None
        if seen.run == 0:
            self._built(seen, hook)
            return
        run = self._run
        if run is None or run.number != seen.run:
            run = self._run_of(seen)
        if run is None:
            return
        run.entries.append(seen)
        may_be = hook is not None or seen.kind in OF_RUN
        if not (may_be and self._of_run(run, seen, hook)):
            self._of_iteration(run, seen, hook)

    def _hook(self, seen: Observation) -> HookView | None:
        """Return the hook that an entry enters; one that leaves it is put with it."""
        if seen.kind == "hook_enter":
            hook = HookView(seen)
            self._open.setdefault(_who(seen), []).append(hook)
            return hook
        if seen.kind == "hook_exit":
            entered = self._open.get(_who(seen))
            if entered:
                entered.pop().exit = seen
        return None

    def _built(self, seen: Observation, hook: HookView | None) -> None:
        self._found.build.append(seen)
        if seen.kind == "build_error":
            self._found.build_error = seen
        if hook is not None:
            self._found.built.append(hook)

    def _run_of(self, seen: Observation) -> RunView | None:
        """Return the run that begins with an entry; None if it is not a scenario's."""
        specs = self._found.scenario.runs
        if not 1 <= seen.run <= len(specs):
            return None
        spec = specs[seen.run - 1]
        agent = self._found.scenario.all_agents[spec.agent]
        self._run = RunView(seen.run, spec, agent)
        self._told = 0
        self._found.runs.append(self._run)
        return self._run

    def _of_run(self, run: RunView, seen: Observation, hook: HookView | None) -> bool:
        """Put what belongs to the whole run there, and tell whether it did."""
        if seen.kind == "run_start":
            run.start = seen
        elif seen.kind == "run_end":
            run.end = seen
        elif seen.kind == "event" and _kind(seen) == "error":
            run.error = seen
        elif hook is not None and hook.name == "before_agent":
            run.before_agent.append(hook)
        elif hook is not None and hook.name == "after_agent":
            run.after_agent.append(hook)
        else:
            return False
        return True

    def _of_iteration(
        self, run: RunView, seen: Observation, hook: HookView | None
    ) -> None:
        now = self._iteration(run, seen, hook)
        if now is None:
            return
        now.entries.append(seen)
        if seen.kind == "event":
            self._event(now, seen)
        if hook is not None and hook.name in BEFORE:
            now.before.append(hook)
        elif hook is not None and hook.name in AFTER:
            now.after.append(hook)
        elif hook is not None and hook.name == "wrap_model":
            now.model_wraps.append(hook)
        elif seen.call_id is not None:
            _put(call_of(now, seen.call_id), seen, hook)
        else:
            _model(now, seen)

    def _event(self, now: Iteration, seen: Observation) -> None:
        """Look whether an event may belong to an iteration before this one."""
        late = now.number > max(self._told, 1)
        if _kind(seen) == "model":
            late = now.number != self._told + 1 or now.response is None
            self._told = now.number
        self._found.late |= late

    def _iteration(
        self, run: RunView, seen: Observation, hook: HookView | None
    ) -> Iteration | None:
        """Return the iteration an entry belongs to, a new one if it begins one."""
        last = run.iterations[-1] if run.iterations else None
        if hook is None and seen.kind != "model_request":
            return last
        if last is not None and run.agent.retry and _asks_again(last, seen, hook):
            last.ask_again()
        elif last is None or _begins(last, seen, hook):
            last = Iteration(len(run.iterations) + 1)
            run.iterations.append(last)
        return last


def _asks_again(last: Iteration, seen: Observation, hook: HookView | None) -> bool:
    """Tell whether an entry is the first one of another attempt at the model."""
    if last.response or last.after or _has_begun_calls(last):
        return False
    if seen.kind == "model_request":
        return last.request is not None
    if hook is None or hook.name != "wrap_model":
        return False
    return any(_who(each.enter) == _who(seen) for each in last.model_wraps)


def _begins(last: Iteration, seen: Observation, hook: HookView | None) -> bool:
    """Tell whether an entry is the first one of the iteration after ``last``."""
    if hook is not None and hook.name in BEFORE:
        asked = last.request or last.model_wraps
        return bool(asked or last.after or _has_begun_calls(last))
    if hook is not None and hook.name == "wrap_model":
        return bool(last.request or last.after or _has_begun_calls(last))
    return seen.kind == "model_request" and bool(
        last.response or last.model_error or last.after or _has_begun_calls(last)
    )


def _has_begun_calls(last: Iteration) -> bool:
    """Tell whether calls were begun; a late event tells of those before, maybe."""
    return any(each.hooks or each.starts for each in last.calls.values())


def call_of(now: Iteration, call_id: str) -> Call:
    """Return the call of that id in an iteration, a new one if there is none yet."""
    if call_id not in now.calls:
        calls = now.message.tool_calls if now.message else ()
        call = next((each for each in calls if each.id == call_id), None)
        now.calls[call_id] = Call(call_id, call)
    return now.calls[call_id]


def _put(call: Call, seen: Observation, hook: HookView | None) -> None:
    call.entries.append(seen)
    if hook is not None:
        call.hooks.append(hook)
    elif seen.kind == "tool_start":
        call.starts.append(seen)
    elif seen.kind == "tool_end":
        call.ends.append(seen)
    elif seen.kind == "tool_error":
        call.errors.append(seen)
    elif seen.kind == "event":
        call.events.append(seen)


def _model(now: Iteration, seen: Observation) -> None:
    if seen.kind == "model_request" and now.request is None:
        now.request = seen
    elif seen.kind == "model_response":
        now.response = seen
    elif seen.kind == "model_error":
        now.model_error = seen
    elif seen.kind == "event" and _kind(seen) == "model":
        now.model_events.append(seen)


def _message(seen: Observation) -> Message:
    return cast("Message", seen.data["message"])


def _kind(seen: Observation) -> str:
    return str(seen.data.get("kind"))


def _who(seen: Observation) -> tuple[object, ...]:
    data: Mapping[str, object] = seen.data
    return data["extension"], data["position"], data["hook"], seen.call_id
