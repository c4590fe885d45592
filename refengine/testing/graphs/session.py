"""Playing a scenario with a graph that a subject compiled, as a caller of it would.

Runs are ``invoke`` or ``stream``, plain or async. A graph with a checkpointer keeps its
own threads; without one, a later turn is given what the one before left. The first way
in which the graph can be run is the one that counts.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Self, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.errors import (
    GraphBubbleUp,
    GraphRecursionError,
    InvalidUpdateError,
)

from refengine.testing.clock import no_waiting, run_on
from refengine.testing.graphs.bridge import bridge_of
from refengine.testing.graphs.calls import (
    Doors,
    GivenTo,
    cannot_run,
    is_of_own_schema,
    sources_of,
)
from refengine.testing.graphs.halves import (
    bring,
    left_session,
    put_down,
    types_of,
    waits_of,
)
from refengine.testing.graphs.messages import as_langchain, said
from refengine.testing.graphs.nodes import GraphWatch
from refengine.testing.graphs.savers import files_of_saver, kind_of, saver_of
from refengine.testing.graphs.turn import (
    Consumer,
    GraphCall,
    GraphTurn,
    RunWaits,
    stored_in,
)
from refengine.testing.hand_over import LeftSession
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import parse_message
from refengine.testing.points import refusal
from refengine.testing.recorder import Recorder
from refengine.testing.scenario import (
    AgentSpec,
    HandOverPoint,
    RunSpec,
    Scenario,
)
from refengine.testing.session import MODEL_SECONDS
from refengine.testing.subject_worlds.named_values import doors_of, looks_for_a_context
from refengine.testing.subjects import Played, Subject, SubjectError, Way, is_graph
from refengine.testing.world import World

NO_DOORS: Final[Doors] = MappingProxyType({})
STEPS: Final = 500
"""Steps of a graph in one run, where neither a caller nor the subject says less."""
MODES: Final = ("messages", "custom", "updates", "values")

ANSWERED: Final = (GraphBubbleUp, GraphRecursionError, InvalidUpdateError)
"""What says something of what a graph did, and not of what it was given."""

BETWEEN: Final[HandOverPoint] = "between turns"

State: TypeAlias = "dict[str, Any]"


def _answered() -> tuple[type[BaseException], ...]:
    """Return these, with what a tool node raises of arguments that do not fit.

    Only where the subject has one: a release of LangGraph may come without a name for
    it, or with a newer langgraph-prebuilt that cannot be imported beside it.
    """
    node = sys.modules.get("langgraph.prebuilt.tool_node")
    unfit: type[BaseException] | None = getattr(node, "ToolInvocationError", None)
    return ANSWERED if unfit is None else (*ANSWERED, unfit)


class WrongWayError(Exception):
    """The graph cannot be run in this way; it may be in the other one."""

    def __init__(self, way: Way, cause: BaseException) -> None:
        self.way: Way = way
        super().__init__(f"no {way} run: {' '.join(str(cause).split())}")


class GraphSession:
    """One scenario, played with one graph in one way."""

    def __init__(  # noqa: PLR0913  # all that a session is of
        self,
        scenario: Scenario,
        world: World,
        graph: Any,  # noqa: ANN401  # a graph of any framework
        way: Way,
        *,
        doors: Doors = NO_DOORS,
        looks: bool = False,
        last: bool = False,
        lost: str | None = None,
    ) -> None:
        """Play ``scenario`` with the graph that a subject built in ``world``.

        Its source looks for a caller's values through ``doors``, and ``looks`` whether
        there is a context at all. In the ``last`` way
        there is, that it is the wrong one is an error like others. ``lost`` is why it
        could not be played in the way that was asked for.
        """
        self._scenario = scenario
        self._world = world
        self._graph = graph
        self._way: Way = way
        self._last = last
        self._lost = lost
        self._watch = GraphWatch(world)
        self._watch.expect(graph)
        self._given = GivenTo(graph, doors, bridge_of(world).moved, looks=looks)
        self._left: Sequence[BaseMessage] = ()
        self._values: Mapping[str, Any] = {}
        self._thread = 0
        self._broken = True
        self._half = world.half
        world.recorder.kept_in = files_of_saver(saver_of(graph))
        self.refused: str | None = None
        """Why the framework refused what it was given, if it did."""

    @property
    def hooks(self) -> Mapping[str, int]:
        """How often each node ran, and each tool of its own was called."""
        answers = self._world.recorder.trace().of("model_response")
        said: list[Any] = [each.data["message"] for each in answers]
        calls = (call for each in said for call in each.get("tool_calls", ()))
        return self._watch.counted(calls)

    def play(self) -> None:
        """Play the runs; the world's recorder has the trace.

        Raises WrongWayError, EffectError and what answering an interrupt raises.
        """
        world = self._world
        preferred = self._scenario.way
        lost = {} if self._lost is None else {"lost": self._lost}
        world.recorder.add("build", {"asked": preferred, "way": self._way, **lost})
        with warnings.catch_warnings(), no_waiting(world.clock.sleep):
            warnings.simplefilter("ignore")  # of deprecation, which is not behaviour
            if self._way == "sync":
                self._sync()
            else:
                run_on(world.clock, self._async())
        if world.misused is not None:
            raise world.misused
        if self._watch.stranger is not None:
            why = f"it asks {self._watch.stranger}, which nobody sees: build it from"
            raise SubjectError(self._graph, f"{why} world.as_langchain().model")

    def _sync(self) -> None:
        for number, spec in self._runs():
            turn = self._begun(spec, number)
            while turn.ask is not None:
                try:
                    state = self._called(turn.ask)
                except Exception as error:  # noqa: BLE001  # how a run ends is data
                    self._failed(turn, turn.ask, error)
                else:
                    self._took(turn, turn.ask, state)
            self._ended(turn, number)

    async def _async(self) -> None:
        for number, spec in self._runs():
            turn = self._begun(spec, number)
            while turn.ask is not None:
                try:
                    state = await self._acalled(turn.ask)
                except Exception as error:  # noqa: BLE001  # how a run ends is data
                    self._failed(turn, turn.ask, error)
                else:
                    self._took(turn, turn.ask, state)
            self._ended(turn, number)

    def _runs(self) -> Iterator[tuple[int, RunSpec]]:
        """Yield the runs that are played here, each with its number."""
        for number, spec in enumerate(self._scenario.runs, 1):
            if self._half is None or self._half.plays(number):
                yield number, spec

    def _took(self, turn: GraphTurn, ask: GraphCall, state: State) -> None:
        waiting = self._waiting(state, ask)
        if waiting.any and self._is_left("interrupted"):
            self._leave(turn, waiting, state)
        else:
            turn.took(state, stored_in(self._graph), waiting)

    def _ended(self, turn: GraphTurn, number: int) -> None:
        """Keep what a run left; after one that failed, a new thread starts from that.

        What a failed run leaves in a thread is answered differently by the frameworks.
        """
        self._broken = turn.left is None
        if turn.left is not None:
            self._left, self._values = turn.left, turn.values
        later = self._scenario.runs[number : number + 1]
        goes_on = any(each.continues for each in later) and not self._broken
        if goes_on and self._is_left(BETWEEN):
            self._leave(turn, RunWaits(), self._values)

    # A session that is handed over

    def _is_left(self, point: HandOverPoint) -> bool:
        """Tell whether a session whose first half is played here is left there."""
        half = self._half
        if half is None or half.given or half.left or not self._keeps_threads:
            return False
        return self._scenario.hand_over == point

    def _leave(
        self, turn: GraphTurn, waits: RunWaits, values: Mapping[str, Any]
    ) -> None:
        """Leave the session here, with all that another process needs to go on."""
        assert self._half is not None  # noqa: S101  # or nobody would leave
        turn.ask = None
        kept = {"number": self._thread, "types": types_of(values)}
        more = {**kept, **bridge_of(self._world).standing}
        where = self._world, self._graph, self._thread_id
        between = self._scenario.hand_over == BETWEEN
        try:
            left = left_session(*where, waits, more, ended=between)
            self._half.left = left
        except Exception as error:  # noqa: BLE001  # a checkpointer of anybody's
            self.refused = f"its checkpointer cannot be read: {error}"

    def _begun(self, spec: RunSpec, number: int) -> GraphTurn:
        """Return a run that begins, or that goes on where another process left it."""
        left = None if self._half is None else self._half.given
        if left is None or number > left.run:
            return self._turn(spec, number)
        return self._handed(spec, left)

    def _handed(self, spec: RunSpec, left: LeftSession) -> GraphTurn:
        self._world.stand(left.world)
        self._world.run = left.run - 1
        self._thread, self._broken = left.session["number"], False
        error = self._refusal_of(left)
        kept = self._kept(self._config(spec))
        values: Mapping[str, Any] = getattr(kept, "values", {})
        if self._scenario.hand_over == BETWEEN:
            turn = self._turn(spec, left.run)
        else:
            turn = self._resumed_turn(spec, left, values)
        waits = self._waits_in(kept, ())
        put_down(self._world, values, waits, left)
        if error is not None and turn.ask is not None:
            self._failed(turn, turn.ask, error)
        elif self._scenario.hand_over == "interrupted":
            turn.took({}, {}, waits if waits.any else waits_of(left))
        return turn

    def _resumed_turn(
        self, spec: RunSpec, left: LeftSession, values: Mapping[str, Any]
    ) -> GraphTurn:
        """Return the run that another process left in its middle; it has no input."""
        world = self._world
        self._begins(spec, left.run)
        bridge_of(world).stand(left.session)
        calls: Sequence[Mapping[str, Any]] = left.session["calls"]
        world.recorder.earlier_calls = [str(each["id"]) for each in calls]
        given = list(values.get("messages") or ())
        continued = {"continues": True} if spec.continues else {}
        world.recorder.add("run_start", {"messages": said(given), **continued})
        context = self._given.context(spec)
        ask = GraphCall(None, self._config(spec), context, spec.streaming, resumes=True)
        return GraphTurn(world, ask, given, self._watch)

    def _refusal_of(self, left: LeftSession) -> Exception | None:
        """Have the graph hold what was left; return what it refuses that with."""
        try:
            bring(self._graph, left)
        except Exception as error:  # noqa: BLE001  # as above
            return error
        return None

    def _turn(self, spec: RunSpec, number: int) -> GraphTurn:
        world = self._world
        self._begins(spec, number)
        keeps = self._keeps_threads and spec.continues and not self._broken
        if not keeps:
            self._thread += 1
        alone = spec.continues == "thread" and not (self._keeps_threads or self._broken)
        hands_on = spec.continues and not keeps and not alone
        earlier = self._left if hands_on else ()
        new = [as_langchain(parse_message(text)) for text in spec.input]
        given = [*earlier, *new]
        continued = {"continues": True} if spec.continues else {}
        world.recorder.add("run_start", {"messages": said(given), **continued})
        ask = GraphCall(
            self._given.input(given, self._values if hands_on else {}, spec),
            self._config(spec),
            self._given.context(spec),
            spec.streaming,
        )
        return GraphTurn(world, ask, given, self._watch)

    def _begins(self, spec: RunSpec, number: int) -> None:
        world = self._world
        world.recorder.run = number
        world.run += 1
        bridge_of(world).begins(frozenset(spec.denies), spec.replies)
        self._watch.begin_run()

    @property
    def _keeps_threads(self) -> bool:
        return bool(getattr(self._graph, "checkpointer", None))

    @property
    def _thread_id(self) -> str:
        return f"thread-{self._thread}"

    def _config(self, spec: RunSpec) -> Mapping[str, Any]:
        config: dict[str, Any] = {
            "configurable": {
                **self._given.configurable(spec),
                "thread_id": self._thread_id,
            },
            "callbacks": [self._watch],
            "recursion_limit": self._steps(spec),
        }
        metadata = self._given.metadata(spec)
        if metadata:
            config["metadata"] = metadata
        if self._way == "sync" and not spec.streaming:
            # Threads come in any order; one at a time is that of the calls. A stream
            # that is waited for takes up a thread, and would wait for ever.
            config["max_concurrency"] = 1
        return config

    def _steps(self, spec: RunSpec) -> int:
        """Return the most steps of a run: the caller's, else the subject's own.

        A framework's own limit is far above ours, which ends what would have no end.
        """
        config: Mapping[str, Any] = getattr(self._graph, "config", None) or {}
        own: object = config.get("recursion_limit")
        wanted = own if spec.steps is None else spec.steps
        return min(wanted, STEPS) if type(wanted) is int else STEPS

    def _called(self, ask: GraphCall) -> State:
        given = (ask.input, ask.config)
        resumes = ask.resumes and self._keeps_threads
        some = self._resumed(ask.config) if resumes else None
        self._watch.turns.anew(some)
        if not ask.streaming:
            return self._result(self._graph.invoke(*given, context=ask.context))
        taken = Taken(Consumer(self._world.recorder))
        with taken:
            for part in self._graph.stream(
                *given, context=ask.context, stream_mode=[*MODES], subgraphs=True
            ):
                taken.take(part)
        return taken.state

    async def _acalled(self, ask: GraphCall) -> State:
        given = (ask.input, ask.config)
        if not ask.streaming:
            return self._result(await self._graph.ainvoke(*given, context=ask.context))
        taken = Taken(Consumer(self._world.recorder))
        with taken:
            async for part in self._graph.astream(
                *given, context=ask.context, stream_mode=[*MODES], subgraphs=True
            ):
                taken.take(part)
        return taken.state

    def _waiting(self, state: State, ask: GraphCall) -> RunWaits:
        """Return what a run waits for; interrupts in the order of calls.

        A stream brings interrupts one by one, as threads come to them.
        """
        pending: Sequence[Any] = state.get("__interrupt__") or ()
        if not self._keeps_threads or not (pending or self._may_stop):
            return RunWaits([(each, None) for each in pending])
        return self._waits_in(self._kept(ask.config), pending)

    def _waits_in(self, kept: object, pending: Sequence[Any]) -> RunWaits:
        """Return what a run waits for by what its thread holds, or is told to."""
        calls = _unanswered(getattr(kept, "values", {}))
        tasks: Sequence[Any] = getattr(kept, "tasks", ())
        found: list[tuple[Any, Mapping[str, Any] | None]]
        found = [
            (each, _call_at(_task_path(task), calls))
            for task in sorted(tasks, key=_task_path)
            for each in task.interrupts
        ]
        if found or pending:
            return RunWaits(found or [(each, None) for each in pending])
        return RunWaits((), calls) if getattr(kept, "next", ()) else RunWaits()

    @property
    def _may_stop(self) -> bool:
        """Whether the graph stops at nodes that its builder named."""
        names = ("interrupt_before_nodes", "interrupt_after_nodes")
        return any(getattr(self._graph, name, None) for name in names)

    def _resumed(self, config: Mapping[str, Any]) -> Sequence[int]:
        """Return the places of the calls that an interrupted run has still to make."""
        tasks = getattr(self._kept(config), "tasks", ())
        paths = [each.path for each in tasks if each.result is None]
        return [path[1] for path in paths if len(path) > 1 and isinstance(path[1], int)]

    def _first_of(self, error: Exception) -> Exception:
        """Return the error of the first call that failed, if this is one of theirs.

        Which of several comes out is luck, too.
        """
        failed = self._failed_calls(error)
        self._watch.failed.clear()
        first = self._world.recorder.forget_after(failed)
        mine = any(error is each for each in failed.values())
        found = failed.get(first or "")
        return found if mine and isinstance(found, Exception) else error

    @property
    def _tool_failed(self) -> bool:
        """Whether nothing was answered since a tool failed, in whosever call."""
        last = self._world.recorder.last("tool_error", "tool_end", "model_response")
        return last is not None and last.kind == "tool_error"

    def _failed_calls(self, error: Exception) -> Mapping[str, BaseException]:
        """Return the errors of calls that failed, by the ids of the calls.

        A node that makes all calls of an answer does not say which of them failed; the
        tool that raised what came out does.
        """
        raised = self._watch.raised.items()
        of_tools = {call: each for call, each in raised if each is error}
        return dict(self._watch.failed) or of_tools

    def _result(self, state: object) -> State:
        return dict(state) if is_mapping(state) else vars(state)

    def _failed(self, turn: GraphTurn, ask: GraphCall, error: Exception) -> None:
        if not self._last and cannot_run(self._way, error):
            raise WrongWayError(self._way, error) from error
        of_a_call = bool(self._failed_calls(error))
        error = self._first_of(error)
        if not is_of_own_schema(error, self._graph):
            self.refused = self.refused or refusal(error, _answered())
        if (of_a_call or self._tool_failed) and self._is_left("failed"):
            self._leave(turn, RunWaits(), {})
            return
        if not self._keeps_threads:
            turn.failed(error, None)
            return
        state: State = dict(getattr(self._kept(ask.config), "values", {}))
        if of_a_call:
            state["messages"] = _without_results(state.get("messages") or ())
        turn.failed(error, state)

    def _kept(self, config: Mapping[str, Any]) -> object:
        """Return what the graph's thread holds, None if it keeps none or cannot say.

        A checkpointer is the subject's own, and may fail; that it does is told by the
        run itself, and looking at it must not be what ends a session.
        """
        if not self._keeps_threads:
            return None
        try:
            found: object = self._graph.get_state(config)
        except Exception:  # noqa: BLE001  # as above
            return None
        return found


def _task_path(task: Any) -> tuple[int, ...]:  # noqa: ANN401  # a task of any framework
    return tuple(each for each in task.path if type(each) is int)


def _call_at(
    path: tuple[int, ...], calls: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """Return the call whose own node it is, if it is one's."""
    return calls[path[0]] if path and path[0] < len(calls) else None


def _without_results(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return messages up to the last answer.

    Of calls beside one that failed it is luck which results a thread keeps.
    """
    for at in range(len(messages) - 1, -1, -1):
        if not isinstance(messages[at], ToolMessage):
            return messages[: at + 1]
    return messages


def _unanswered(values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the calls of the last answer that have no result yet."""
    answered: set[str] = set()
    messages: Sequence[BaseMessage] = values.get("messages") or ()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            calls = message.tool_calls
            return [dict(call) for call in calls if call["id"] not in answered]
    return ()


class Taken:
    """What was received of a stream: messages for the consumer, and the last state."""

    def __init__(self, consumer: Consumer) -> None:
        self.state: State = {}
        self._consumer = consumer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._consumer.close(failed=kind is not None)

    def take(self, part: tuple[tuple[str, ...], str, Any]) -> None:
        """Take one part: namespace, mode, and what that mode brings."""
        inside, mode, data = part
        if mode == "messages":
            self._consumer.take(*data)
        elif mode == "custom":
            self._consumer.wrote(data)
        elif inside:
            return  # a graph within the graph; its state is not the result
        elif mode == "values":
            interrupts = self.state.get("__interrupt__")
            self.state = dict(data)
            if interrupts:
                self.state.setdefault("__interrupt__", interrupts)
        elif "__interrupt__" in data:
            self.state["__interrupt__"] = data["__interrupt__"]


PLAIN: Final = "give its hooks a plain form, too, or leave the wire out"


def play_graph(
    scenario: Scenario,
    subject: Subject,
    world: World,
    graph: object,
    ways: Sequence[Way],
) -> Played:
    """Play the graph that the subject built in this world, and others if need be.

    Raises as ``play_alone``.
    """
    if len(scenario.all_agents) > 1:
        raise SubjectError(graph, "a world of several agents has no place for a graph")
    if world.wire is not None:
        return _over_the_wire(scenario, subject, world, graph)
    spec = scenario.all_agents[0] if scenario.all_agents else AgentSpec()
    ordered = sorted(ways, key=lambda way: way != scenario.way)
    sources, lost = sources_of(subject), None
    doors, looks = doors_of(sources), looks_for_a_context(sources)
    for way in ordered:
        last = way == ordered[-1]
        session = GraphSession(
            scenario, world, graph, way, doors=doors, looks=looks, last=last, lost=lost
        )
        try:
            session.play()
        except WrongWayError as error:
            lost = str(error)
            world = World(spec, scenario, Recorder(), model_seconds=MODEL_SECONDS)
            world.recorder.elapsed = world.now
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # as where it was called first
                graph = subject(world)
            if not is_graph(graph):
                raise SubjectError(graph, "it was a graph the first time") from None
        else:
            trace = world.recorder.trace()
            keeps = kind_of(graph)
            return Played(trace, session.hooks, way, session.refused, keeps)
    raise AssertionError(ways)


def _over_the_wire(
    scenario: Scenario, subject: Subject, world: World, graph: object
) -> Played:
    """Play it plain: virtual time would jump over what a real socket waits for."""
    sources = sources_of(subject)
    doors, looks = doors_of(sources), looks_for_a_context(sources)
    session = GraphSession(scenario, world, graph, "sync", doors=doors, looks=looks)
    try:
        session.play()
    except WrongWayError as error:
        why = f"over the wire it is run plain, and it can only be run async ({error})"
        raise SubjectError(graph, why, PLAIN) from error
    finally:
        bridge_of(world).close()
    return Played(world.recorder.trace(), session.hooks, "sync")
