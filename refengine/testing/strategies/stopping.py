"""Runs that fail and are tried again, that stop to ask, and that are cancelled.

Each strategy takes a scenario that was drawn and lets it happen there: nothing else in
it changes, so the plainest draw of each is a world that could have been without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from pydantic import JsonValue

from refengine.testing.kept_runs import ADDRESS
from refengine.testing.notation import parse_message
from refengine.testing.ops import (
    Ask,
    AskSpec,
    Interrupts,
    InterruptSpec,
    Op,
    RunLocalRead,
    RunLocalSet,
    Spec,
)
from refengine.testing.scenario import (
    AgentSpec,
    CancelSpec,
    HandlerSpec,
    ModelChunks,
    ModelFailure,
    ModelWrapSpec,
    RetrySpec,
    RunSpec,
    Scenario,
    ScriptEntry,
)

KEY: Final = "k"
"""The key that runs are kept under."""
FAILURES: Final = ("no-model", "büm", "no-model")
MOST_RETRIES: Final = 3
LATER_MODELS: Final = ((), (), ("second",), ("second", "third"))
"""The models to fall back on, by name."""
MOST_QUESTIONS: Final = 3
"""So many places of an agent ask at most."""
RESUMES: Final = (1, 2, 3, 4, 5, 6)
"""How often a run is resumed, if it asks as often; most of them come to an end."""
RESUMES_BETWEEN: Final = (2, 4, 8)
"""As often where every attempt at a model asks."""
POINTS: Final = (
    *("tool_start", "model_request", "tool_start", "hook_enter", "tool_start"),
    *("model_chunk", "tool_chunk"),
)
"""Kinds of observations at which a run gives way, so that it can be cancelled there."""
PASSES: Final = ("before_model", "after_model", "after_agent")
WRAPS: Final = ("wrap_model", "wrap_invokable", "wrap_streamable")
STATE_HOOKS: Final = ("before_chat_model", "after_chat_model")
EMPTY: Final[Sequence[JsonValue]] = (False, 0, "", None, [], {})
"""Values that a careless engine takes for none."""
ANSWERS: Final[Sequence[JsonValue]] = (True, "yes", 1.0, ["a", {"b": " "}], *EMPTY)
NOTE: Final = "note"
"""The key of a run-local value that hooks before a question set, and others read."""


@st.composite
def retrying(draw: DrawFn, scenario: Scenario) -> Scenario:
    """Draw the scenario with a policy, and with answers that fail before they come.

    Where wrappers stand around its models, one of them may fail as well.
    """
    others = draw(st.sampled_from(LATER_MODELS))
    policy = RetrySpec(
        max_retries=draw(st.integers(0, 1 if others else MOST_RETRIES)),
        retry_on=draw(st.sampled_from([None, None, "no-model"])),
        backoff=draw(st.sampled_from(["record", None])),
        wait_ms=draw(st.sampled_from([0, 20, 20])),
        fall_back=others,
    )
    script: list[ScriptEntry] = []
    for entry in scenario.model_script:
        before = range(draw(st.sampled_from([0, 1, 1, 2, 3])))
        script += [*(draw(_failing(entry)) for _ in before), entry]
    error = draw(st.sampled_from([*[None] * 7, *FAILURES]))
    agents = [
        _failing_wrapper(agent, error).model_copy(update={"retry": policy})
        for agent in scenario.all_agents
    ]
    return _with_agents(scenario, agents, model_script=tuple(script))


def _failing_wrapper(agent: AgentSpec, error: str | None) -> AgentSpec:
    """Return the agent whose last wrapper around the model raises that, if it has one.

    One that raises is asked as often as a model that does.
    """
    wraps = [at for at, each in enumerate(agent.handlers) if each.wrap_model]
    if error is None or not wraps:
        return agent
    own = list(agent.handlers)
    wrap = own[wraps[-1]].wrap_model
    failing = None if wrap is None else wrap.model_copy(update={"error": error})
    own[wraps[-1]] = own[wraps[-1]].model_copy(update={"wrap_model": failing})
    return agent.model_copy(update={"handlers": tuple(own)})


@st.composite
def _failing(draw: DrawFn, entry: ScriptEntry) -> ScriptEntry:
    """Draw how an answer fails: at once, or after any of its chunks."""
    name = draw(st.sampled_from(FAILURES))
    cut = draw(st.none() | st.integers(0, 3))
    if cut is None or isinstance(entry, ModelFailure):
        return ModelFailure(error=name)
    chunks = (entry,) if isinstance(entry, str) else entry.chunks
    if len(chunks) == 1 and not chunks[0].startswith("{"):
        content = parse_message(chunks[0]).content
        chunks = ("assistant:", f"assistant:{content[:2]}", f"assistant:{content[2:]}")
    return ModelChunks(chunks=chunks[:cut], stream_error=name)


Question: TypeAlias = "AskSpec | InterruptSpec"
Place: TypeAlias = "tuple[str, int, str]"
"""Where an agent can ask: a list of it, the place in that list, and the hook."""


@st.composite
def asking(draw: DrawFn, scenario: Scenario) -> Scenario:
    """Draw the scenario with places that ask, its first run kept and resumed in turn.

    It is resumed as often as it asks, or less often: then it stays interrupted; or more
    often: then it has come to its end. What has no place to ask stays as it is.
    """
    agent = scenario.all_agents[0]
    places = _places(agent)
    if not places:
        return scenario
    some = st.lists(
        st.sampled_from(places), min_size=1, max_size=MOST_QUESTIONS, unique=True
    )
    counts = draw(st.booleans())  # objects that are made anew count from one again
    for place in draw(some):
        nth = draw(st.sampled_from([1, 2, 2, 3])) if counts else None
        agent = _put(agent, place, draw(_questions(place, counts)), nth)
    if draw(st.booleans()):
        agent = _noting(agent, draw(st.sampled_from([*EMPTY, "kept", 1.0])))
    first = scenario.runs[0].model_copy(update={"checkpoint": KEY})
    resumed = _resumed(first, anew=not counts)
    more = [draw(resumed) for _ in range(draw(st.sampled_from(RESUMES)))]
    return _with_agents(scenario, (agent,), runs=(first, *more))


@st.composite
def asking_between(draw: DrawFn, scenario: Scenario) -> Scenario:
    """Draw the scenario asked again, with a wrapper that asks around each attempt.

    So a run is interrupted in a later attempt, and goes on from there with those that
    are left of it, and no more.
    """
    failing = draw(retrying(scenario))
    agent = failing.all_agents[0]
    ask = AskSpec(payload="this once?")
    own = list(agent.handlers)
    who = HandlerSpec(id="asks", wrap_model=ModelWrapSpec(ask=ask))
    own.insert(draw(st.integers(0, len(own))), who)
    first = failing.runs[0].model_copy(update={"checkpoint": KEY})
    resumed = _resumed(first, anew=draw(st.booleans()))
    more = [draw(resumed) for _ in range(draw(st.sampled_from(RESUMES_BETWEEN)))]
    agent = agent.model_copy(update={"handlers": tuple(own)})
    return _with_agents(failing, (agent,), runs=(first, *more))


@st.composite
def _resumed(draw: DrawFn, first: RunSpec, *, anew: bool) -> RunSpec:
    alone: dict[str, JsonValue] = {"*": draw(st.sampled_from(ANSWERS))}
    apart: dict[str, JsonValue] = {"*": ADDRESS}
    other: dict[str, JsonValue] = {"o": "resumed"}
    options = draw(st.sampled_from([first.options, first.options, other]))
    answers: list[dict[str, JsonValue] | Literal["all"]] = [apart, alone, "all"]
    return RunSpec(
        resume=KEY,
        answers=draw(st.sampled_from(answers)),
        rebuild=anew and draw(st.booleans()),
        options=options if first.options else {},
    )


def _questions(place: Place, counts: bool) -> SearchStrategy[Question]:
    name = " ".join(map(str, place))
    payloads: list[JsonValue] = [f"{name}?", {"of": name}, f"  {name} é ", "sure?"]
    asked = st.sampled_from(payloads)
    asks = st.builds(AskSpec, payload=asked, after=st.booleans())
    return asks | st.builds(InterruptSpec, info=asked) if counts else asks


def _places(agent: AgentSpec) -> list[Place]:
    """Return every place of an agent that can ask."""
    found: list[Place] = [("tools", at, "body") for at in range(len(agent.tools))]
    found += [
        ("handlers", at, hook)
        for at, each in enumerate(agent.handlers)
        for hook in (*PASSES, *WRAPS)
        if getattr(each, hook) is not None
    ]
    found += [
        ("middlewares", at, hook)
        for at, each in enumerate(agent.middlewares)
        for hook in STATE_HOOKS
        if getattr(each, hook)
    ]
    calls = range(len(agent.tool_call_middlewares))
    return [*found, *(("tool_call_middlewares", at, "") for at in calls)]


def _put(
    agent: AgentSpec, place: Place, question: Question, nth: int | None
) -> AgentSpec:
    """Return the agent that asks there, where it counts the nth time that it can."""
    kind, at, hook = place
    own = list(getattr(agent, kind))
    own[at] = _asking(own[at], hook, question, nth)
    return agent.model_copy(update={kind: tuple(own)})


def _asking(each: Spec, hook: str, question: Question, nth: int | None) -> Spec:
    if not hook:
        return _wrapped(each, question)
    todo = getattr(each, hook)
    if isinstance(todo, Spec):
        return each.model_copy(update={hook: _wrapped(todo, question)})
    if hook == "body" and isinstance(question, InterruptSpec):
        return each.model_copy(update={"interrupt": question})
    count = None if hook == "body" else nth
    return each.model_copy(update={hook: (*todo, _op(question, count))})


def _wrapped(wrap: Spec, question: Question) -> Spec:
    name = "ask" if isinstance(question, AskSpec) else "interrupt"
    return wrap.model_copy(update={name: question})


def _op(question: Question, nth: int | None) -> Op:
    if isinstance(question, InterruptSpec):
        return Interrupts(op="interrupt", info=question.info, on_call=nth)
    return Ask(op="ask", payload=question.payload, on_call=nth)


def _noting(agent: AgentSpec, value: JsonValue) -> AgentSpec:
    """Return the agent whose first hook sets a value of the run that others read."""
    handlers = list(agent.handlers)
    hooks = [at for at, each in enumerate(handlers) if each.before_model is not None]
    if not hooks:
        return agent
    first = hooks[0]
    set_ = RunLocalSet(op="runlocal_set", key=NOTE, value=value)
    todo = (set_, *(handlers[first].before_model or ()))
    handlers[first] = handlers[first].model_copy(update={"before_model": todo})
    changed = {"handlers": tuple(map(_reading, handlers))}
    return agent.model_copy(update=changed)


def _reading(handler: HandlerSpec) -> HandlerSpec:
    """Return the handler that looks for that value in all that comes later."""
    read = RunLocalRead(op="runlocal_get", key=NOTE)
    hooks = {
        hook: (*todo, read)
        for hook in ("after_model", "after_agent")
        if (todo := getattr(handler, hook)) is not None
    }
    wraps = {
        hook: wrap.model_copy(update={"runlocal_get": NOTE})
        for hook in ("wrap_invokable", "wrap_streamable")
        if (wrap := getattr(handler, hook)) is not None
    }
    return handler.model_copy(update={**hooks, **wraps})


@st.composite
def killed(draw: DrawFn, scenario: Scenario) -> Scenario:
    """Draw the scenario with its first run kept, cancelled at any point, and resumed.

    For what is kept that is as if its process had ended there.
    """
    first = scenario.runs[0]
    scenario = scenario.model_copy(update={"runs": (first,)})
    ended = draw(cancelled(scenario))
    kept = ended.runs[0].model_copy(update={"checkpoint": KEY})
    again = RunSpec(resume=KEY, rebuild=draw(st.booleans()), options=first.options)
    return ended.model_copy(update={"runs": (kept, again)})


@st.composite
def cancelled(draw: DrawFn, scenario: Scenario) -> Scenario:
    """Draw the scenario with one of its runs cancelled, at any point there is."""
    at = draw(st.integers(0, len(scenario.runs) - 1))
    when = draw(st.sampled_from(POINTS))
    cancel = CancelSpec(when=when, nth=draw(st.integers(1, 3)))
    runs = list(scenario.runs)
    runs[at] = runs[at].model_copy(update={"cancel": cancel})
    agents = [_giving_way(agent) for agent in scenario.all_agents]
    return _with_agents(scenario, agents, runs=tuple(runs))


def _giving_way(agent: AgentSpec) -> AgentSpec:
    """Return the agent with hooks that wait where they are cancelled: no plain ones."""
    handlers = [each.model_copy(update={"plain": False}) for each in agent.handlers]
    structs = [each.model_copy(update={"waits": True}) for each in agent.middlewares]
    changed = {"handlers": tuple(handlers), "middlewares": tuple(structs)}
    return agent.model_copy(update=changed)


def _with_agents(
    scenario: Scenario, agents: Sequence[AgentSpec], **more: object
) -> Scenario:
    one = {"agents": tuple(agents)} if scenario.agents else {"agent": agents[0]}
    return scenario.model_copy(update={**one, **more})
