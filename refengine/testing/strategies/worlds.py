"""Whole worlds: an agent, what its model answers, and the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, TypeVar

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from refengine.messages import Message, ToolCall
from refengine.testing.clock import Ids
from refengine.testing.notation import parse_message, show_message
from refengine.testing.ops import ToolSpec
from refengine.testing.scenario import (
    AgentSpec,
    HandlerSpec,
    MiddlewareSpec,
    ModelChunks,
    ModelFailure,
    RunSpec,
    Scenario,
    ScriptEntry,
    ToolWrapSpec,
)
from refengine.testing.strategies.extensions import (
    HANDLER_HOOKS,
    handlers,
    middlewares,
    tools,
)
from refengine.testing.strategies.operations import tool_wraps
from refengine.testing.strategies.stopping import asking, cancelled, retrying
from refengine.testing.strategies.variants import recut
from refengine.testing.strategies.words import (
    NAMES,
    WorldChoices,
    answers,
    calls,
    instructions,
    messages,
    run_options,
    texts,
    tool_names,
)

HISTORY: Final = 40
"""So many messages are more than a limit in somebody's code."""


def tell(scenario: Scenario) -> None:
    """Put down what was generated, for the statistics of a search."""
    for agent in scenario.all_agents:
        for fact in {*_facts_of(agent), *_facts_of_session(scenario)}:
            event(fact)


def calls_of(entry: ScriptEntry) -> int:
    """Return how many tools an answer calls."""
    if isinstance(entry, ModelFailure):
        return 0
    if not isinstance(entry, str) and not entry.chunks:
        return 0  # it fails before it begins
    last = entry if isinstance(entry, str) else entry.chunks[-1]
    return len(parse_message(last).tool_calls)


def _facts_of(agent: AgentSpec) -> set[str]:
    names = [tool.name for tool in agent.tools]
    length = len(agent.instruction)
    size = "none" if not length else "short" if length < 1_000 else "very long"
    facts = {f"tool kind: {tool.kind}" for tool in agent.tools}
    facts |= {f"handler hook: {h}" for each in agent.handlers for h in _hooks(each)}
    facts |= {f"struct field: {f}" for each in agent.middlewares for f in _fields(each)}
    if agent.tool_call_middlewares:
        facts.add("tool_call_middlewares")
    if len(names) != len(set(names)):
        facts.add("equal tool names")
    return facts | {f"instruction: {size}"}


def _facts_of_session(scenario: Scenario) -> set[str]:
    each = [calls_of(entry) for entry in scenario.model_script]
    modes = {run.streaming for run in scenario.runs}
    forms = {_form(entry) for entry in scenario.model_script}
    longest = max(len(run.input) for run in scenario.runs)
    return {
        f"runs: {len(scenario.runs)}",
        f"streaming: {', '.join(sorted(map(str, modes)))}",
        f"answers that call tools: {sum(map(bool, each))}",
        f"calls of one answer: {max(each, default=0)}",
        f"history: {'long' if longest >= HISTORY else 'short'}",
        f"script end: {scenario.script_end}",
        *(f"answers: {form}" for form in forms),
    }


def _form(entry: ScriptEntry) -> str:
    if isinstance(entry, str):
        return "plain"
    if isinstance(entry, ModelFailure):
        return "failing"
    return "chunks" if entry.stream_error is None else "failing midway"


def _hooks(handler: HandlerSpec) -> list[str]:
    return [hook for hook in HANDLER_HOOKS if getattr(handler, hook) is not None]


def _fields(middleware: MiddlewareSpec) -> set[str]:
    return middleware.model_fields_set - {"id"}


T = TypeVar("T")

ABSENT: Final = ("no-such-tool", "t ", "wörk", *NAMES)
"""Names that perhaps no tool has; who guesses which one is meant is found out."""
AGENTS: Final = ("agent", "agent", " A\u0308gent 1 ")
PREFIXES: Final = ("c", "c", " C ", None)
"""What the ids of calls begin with; without one they are ``NearIds``."""
NEAR: Final = ("c{}", "C{}", " c{}", "c{} ", "c\u0301{}", "\u0107{}")
"""Forms of ids that are one id to who trims, lowers or composes them."""
MANY: Final = 3
"""So many tools, and extensions of one kind, an agent has at most."""
FEW: Final = 2
"""So many extensions of a kind a small agent has at most."""

_BOOLEANS: Final = st.booleans()
_AGENT: Final = st.sampled_from(AGENTS)
_PREFIX: Final = st.sampled_from(PREFIXES)
_ITERATIONS: Final = st.sampled_from([20, 20, 3, 2, 1])
_UNKNOWN: Final = st.none() | st.just("there is no <name> for <args>")
_FAILURE: Final = st.sampled_from(["no-model", "büm"])


def scenarios(  # noqa: PLR0913  # choices by name, and all have a default
    *,
    middlewares: bool = True,
    handlers: bool = True,
    tool_call_middlewares: bool = True,
    failures: bool = False,
    streaming: bool | None = None,
    distributes: bool = False,
    unknown_calls: bool = False,
    counting: bool = False,
    delays: bool = True,
    options: bool = False,
    retry: bool = False,
    asks: bool = False,
    cancels: bool = False,
    small: bool = False,
    max_runs: int = 2,
    words: Sequence[str] = (),
) -> SearchStrategy[Scenario]:
    """Scenarios of one agent: tools, extensions, a model's script, one or more runs.

    The first three say which extensions there are.

    - ``failures``: model, tools, hooks and factories may raise, and handlers may leave
      what some profile refuses.
    - ``streaming``: all runs or none; by default each run chooses.
    - ``distributes``: only operations of which ``distributes`` is true.
    - ``unknown_calls``: the model may call tools that nobody gave it, or that were
      removed or hidden.
    - ``counting``: operations may depend on how often something has run before, or on
      the number of the run.
    - ``delays``: tools may take time, on a virtual clock.
    - ``options``: runs have options for model and tools.
    - ``retry``: the model fails now and then, and is asked again.
    - ``asks``: hooks, wrappers and tools stop to ask; the first run is kept, resumed.
    - ``cancels``: one of the runs is cancelled.
    - ``small``: few extensions, short texts, and nothing that hides a call or a result.
    - ``words`` join the neutral names and texts, as a subject's own literals should.
    """
    return _scenarios(
        WorldChoices(
            middlewares=middlewares,
            handlers=handlers,
            tool_call_middlewares=tool_call_middlewares,
            failures=failures,
            streaming=streaming,
            distributes=distributes,
            unknown_calls=unknown_calls,
            counting=counting,
            delays=delays,
            options=options,
            retry=retry,
            asks=asks,
            cancels=cancels,
            small=small,
            max_runs=max_runs,
            words=tuple(words),
        )
    )


@st.composite
def rechunked(draw: DrawFn, scenario: Scenario) -> Scenario:
    """Draw the scenario with its plain answers in chunks, cut anywhere."""
    script = [draw(_recut(entry)) for entry in scenario.model_script]
    return scenario.model_copy(update={"model_script": tuple(script)})


@st.composite
def _scenarios(draw: DrawFn, choices: WorldChoices) -> Scenario:
    parts = _parts(choices)
    agent = draw(parts.agent)
    names = tuple(sorted(_callable(agent, choices)))
    runs = draw(parts.runs)
    prefix = draw(_PREFIX)
    number = NearIds() if prefix is None else Ids(prefix)
    script: list[ScriptEntry] = []
    for _ in runs:
        said = [_numbered(each, number) for each in draw(_turns(names, choices))]
        script += [draw(_entries(text, choices)) for text in said]
    calling = [entry for entry in script if calls_of(entry)]
    # The same answer again has the same call ids, which is for other worlds.
    may = bool(calling) and not choices.small
    endless = may and draw(_between(0, 4)) == 4
    if endless:  # the last answer calls tools for ever, up to a low limit
        agent = agent.model_copy(update={"max_iterations": draw(_between(1, 4))})
        script = calling
    scenario = Scenario(
        agent=agent,
        model_script=tuple(script),
        script_end="repeat_last" if endless else "exhausted",
        runs=runs,
    )
    for wanted, happening in (
        (choices.retry, retrying),
        (choices.asks, asking),
        (choices.cancels, cancelled),
    ):
        if wanted:
            scenario = draw(happening(scenario))
    tell(scenario)
    return scenario


@dataclass(frozen=True, slots=True)
class _Parts:
    """What worlds of the same choices are drawn from.

    Made once: Hypothesis looks through a new strategy before it draws from it, which
    takes longer than to draw.
    """

    agent: SearchStrategy[AgentSpec]
    runs: SearchStrategy[tuple[RunSpec, ...]]


@cache
def _parts(choices: WorldChoices) -> _Parts:
    each_run = partial(_each_run, choices)
    return _Parts(_agents(choices), _up_to(choices.max_runs, each_run, 1))


@cache
def _each_run(choices: WorldChoices, at: int) -> SearchStrategy[RunSpec]:
    return _runs(choices, at)


@dataclass(frozen=True, slots=True)
class _AgentParts:
    """What agents of the same choices are drawn from, made once as well."""

    instruction: SearchStrategy[str]
    tools: SearchStrategy[tuple[ToolSpec, ...]]
    return_directly: SearchStrategy[dict[str, bool]]
    tool_call_middlewares: SearchStrategy[tuple[ToolWrapSpec, ...]]
    middlewares: SearchStrategy[tuple[MiddlewareSpec, ...]]
    handlers: SearchStrategy[tuple[HandlerSpec, ...]]


@cache
def _agent_parts(choices: WorldChoices) -> _AgentParts:
    most = FEW if choices.small else MANY
    names = tool_names(choices)
    return _AgentParts(
        instructions(choices),
        _up_to(MANY, lambda _: tools(choices), choices.small),
        st.dictionaries(names, st.booleans(), max_size=2),
        _up_to(
            most * choices.tool_call_middlewares,
            lambda n: tool_wraps(choices, f"w{n}"),
        ),
        _up_to(most * choices.middlewares, lambda n: middlewares(choices, f"m{n}")),
        _up_to(most * choices.handlers, lambda n: handlers(choices, f"h{n}")),
    )


@st.composite
def _agents(draw: DrawFn, choices: WorldChoices) -> AgentSpec:
    parts = _agent_parts(choices)
    return AgentSpec(
        name=draw(_AGENT),
        instruction=draw(parts.instruction),
        tools=draw(parts.tools),
        return_directly=draw(parts.return_directly),
        tool_call_middlewares=draw(parts.tool_call_middlewares),
        middlewares=draw(parts.middlewares),
        handlers=draw(parts.handlers),
        max_iterations=draw(_ITERATIONS),
        unknown_tools_handler=draw(_UNKNOWN) if choices.unknown_calls else None,
        sequential=draw(_BOOLEANS),
    )


@st.composite
def _up_to(
    draw: DrawFn, most: int, make: Callable[[int], SearchStrategy[T]], least: int = 0
) -> tuple[T, ...]:
    """Draw so many, each made for its place.

    A number and then the elements, not a list: long elements of a list are not dropped
    one by one when a failure shrinks.
    """
    return tuple(draw(make(at)) for at in range(draw(_between(least, most))))


@cache
def _between(least: int, most: int) -> SearchStrategy[int]:
    return st.integers(least, most)


def _callable(agent: AgentSpec, choices: WorldChoices) -> set[str]:
    """Return the names that the model may call."""
    ops = [op for handler in agent.handlers for op in handler.before_agent or ()]
    given = {tool.name for tool in agent.every_tool}
    if choices.unknown_calls:
        return {*given, *ABSENT}
    return given - {op.name for op in ops if op.op == "remove_tool"}


@st.composite
def _runs(draw: DrawFn, choices: WorldChoices, at: int) -> RunSpec:
    given = draw(_given(choices))
    if draw(_between(0, 6)) == 6:
        given = [f"user:{at}" for at in range(HISTORY)] + given
    streaming = choices.streaming
    options = draw(run_options()) if choices.options else {}
    return RunSpec(
        input=tuple(given),
        options=options,
        continues=at > 0 and draw(_between(0, 2)) == 2,
        streaming=draw(_BOOLEANS) if streaming is None else streaming,
    )


@cache
def _given(choices: WorldChoices) -> SearchStrategy[list[str]]:
    return st.one_of(st.just(["user:a"]), st.lists(messages(choices), max_size=3))


@st.composite
def _turns(
    draw: DrawFn, names: tuple[str, ...], choices: WorldChoices
) -> list[Message]:
    """Draw what the model answers in one run: some calls of tools, then an answer."""
    turns: list[Message] = []
    for _ in range(draw(_between(choices.small, 3)) if names else 0):
        content = draw(_beside_calls(choices))
        turns.append(Message("assistant", content, tuple(draw(calls(names, choices)))))
    turns.append(parse_message(draw(answers(choices))))
    return turns


@cache
def _beside_calls(choices: WorldChoices) -> SearchStrategy[str]:
    return st.one_of(st.just(""), texts(choices))


class NearIds:
    """Makes ids that little tells apart, the first of which is empty."""

    def __init__(self) -> None:
        self._made = 0

    def __call__(self) -> str:
        """Return the next one."""
        group, form = divmod(self._made - 1, len(NEAR))
        self._made += 1
        return NEAR[form].format(group + 1) if self._made > 1 else ""


def _numbered(message: Message, number: Callable[[], str]) -> str:
    named = (ToolCall(number(), c.name, c.arguments) for c in message.tool_calls)
    return show_message(Message("assistant", message.content, tuple(named)))


@st.composite
def _entries(draw: DrawFn, text: str, choices: WorldChoices) -> ScriptEntry:
    """Draw how an answer comes: plain, in chunks, or not at all."""
    how = draw(_between(0, 9))
    if how < 6:
        return text
    if how < 8 or not choices.failures:
        return draw(_recut(text))
    name = draw(_FAILURE)
    if choices.distributes or draw(_BOOLEANS):
        # A stream that fails midway has left the wrappers; an invoked model has not.
        return ModelFailure(error=name)
    return ModelChunks(chunks=(text,), stream_error=name)


def _recut(entry: ScriptEntry) -> SearchStrategy[ScriptEntry]:
    if not isinstance(entry, str):
        return st.just(entry)
    length = len(parse_message(entry).content)
    return _cuts(length).map(lambda at: recut(entry, at))


@cache
def _cuts(length: int) -> SearchStrategy[list[int]]:
    return st.lists(st.integers(0, length), max_size=4)
