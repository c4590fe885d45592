"""Recordings: what an agent was seen to do, as the world and as the trace of a side.

    file = read_recording(Path("session.yaml"))
    file.sessions[0].scenario  # what the model said, and what tools gave
    file.sessions[0].runs      # what the agent sent and called

A cassette shows requests and calls, a chat calls and answers; what a format does not
show is compared by nobody, so each file says what it ``shown``. Whatever an agent did
between two requests is in neither: a result is what it sent on, not what a tool gave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from compat.models.chat_logs import tools_of
from compat.models.chat_requests import body_of
from compat.models.conversations import Conversation, echo_of, link_of
from compat.models.errors import BadPlace, GivenFileError, ShapeError
from compat.models.exchanges import RecordedStep
from compat.models.importing import (
    ImportedWorld,
    import_file,
    json_items,
    lifted,
    read_cassette,
    wrong_file,
)
from compat.models.logged_calls import (
    LANGFUSE,
    LANGSMITH,
    SPANS,
    LoggedCall,
    kind_of_log,
    logged_calls,
)
from compat.models.scripts import NOT_RECORDED, run_steps, scenario_of
from compat.wire.exchanges import Exchange
from compat.wire.leaks import scrubber_of
from compat.wire.scrubbing.scrubber import Scrubber
from refengine.messages import Message, ToolCall
from refengine.testing.notation import parse_message
from refengine.testing.scenario import ModelFailure, Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subject_worlds.declared import DeclaredTool, with_schemas

CASSETTE: Final = "cassette"
CHAT: Final = "chat"
REQUESTS: Final = "requests"
ANSWERS: Final = "answers"
SHOWN: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        (CASSETTE, SPANS, LANGSMITH, LANGFUSE), (REQUESTS, "model calls", "tool calls")
    ),
    CHAT: ("model calls", "tool calls", ANSWERS),
}
"""What each kind of file shows of a session."""
INSTEAD: Final = (
    "give the cassettes, chats or spans of what OLD did; worlds for two sides that run"
    " go with --worlds"
)
TAKE_OUT: Final = (
    "holds what looks like a secret, which a report would show: take it out first"
)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One model call: the messages and tools of its request, and what came after it.

    ``executed`` are the calls of its answer of which a result is known.
    """

    messages: tuple[Message, ...] = ()
    tools: tuple[str, ...] = ()
    executed: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The model calls of one run; the ``answer`` that its model gave last, if any.

    A chat shows that the agent gave it as well, which others do not. One that has not
    ``ended`` is open: nobody knows what came after its last request.
    """

    calls: tuple[RecordedCall, ...]
    ended: bool
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class SeenSession:
    """One session: the world that it was in, and what the agent did there.

    It ``tells_tools`` if its requests say which tools were offered.
    """

    scenario: Scenario
    runs: tuple[RecordedRun, ...]
    kind: str
    where: str = ""
    tells_tools: bool = True

    @property
    def calls(self) -> int:
        """How many model calls it has."""
        return sum(len(run.calls) for run in self.runs)

    def prefix(self, calls: int) -> SeenSession:
        """Return its beginning up to a model call, of which all that follows is open.

        Where a run ends with that call, its end belongs to it.
        """
        runs: list[RecordedRun] = []
        left = calls
        for run in self.runs:
            if left <= 0:
                break
            cut = len(run.calls) > left
            some = run.calls[:left]
            runs.append(RecordedRun(some, ended=False) if cut else run)
            left -= len(run.calls)
        script = [*self.scenario.model_script[:calls]]
        if not runs[-1].ended:
            script.append(ModelFailure(error=NOT_RECORDED))
        changed = {
            "model_script": tuple(script),
            "runs": self.scenario.runs[: len(runs)],
        }
        world = self.scenario.model_copy(update=changed)
        return replace(self, scenario=world, runs=tuple(runs))


@dataclass(frozen=True, slots=True)
class RecordingFile:
    """The sessions of a file; ``not_read`` counts exchanges of other APIs by name."""

    name: str
    kind: str
    sessions: tuple[SeenSession, ...]
    not_read: Mapping[str, int] = field(default_factory=dict[str, int])


def read_recording(path: Path) -> RecordingFile:
    """Return what a file has recorded; raises GivenFileError or OSError."""
    data = path.read_bytes()
    if not data.strip():
        raise wrong_file(path, "", f"the file is empty; {INSTEAD}")
    items = json_items(path, data)
    if items is None:
        found = _of_cassette(path, data)
    else:
        kind = next(filter(None, (kind_of_log(each) for _, each in items)), None)
        found = _of_chats(path) if kind is None else _of_log(path, items, kind)
    if not any(map(_is_answered, found.sessions)):
        raise wrong_file(
            path,
            "",
            "holds no answer of a model, so there is no world in it; record OLD"
            " while it is answered",
        )
    return found


def _is_answered(session: SeenSession) -> bool:
    script = session.scenario.model_script
    return any(not isinstance(each, ModelFailure) for each in script)


def _refuse_secrets(
    path: Path, sessions: Sequence[SeenSession], scrubber: Scrubber, instead: str
) -> None:
    """Raise GivenFileError for a session that cannot be shown as it is."""
    for each in sessions:
        text = each.scenario.model_dump_json(exclude_defaults=True)
        if scrubber.text(text) != text:
            raise wrong_file(path, each.where, instead)


def _of_log(
    path: Path, items: Sequence[tuple[str, object]], kind: str
) -> RecordingFile:
    """Return the sessions of model calls that a tool logged, in their order of time."""
    problems: list[BadPlace] = []
    calls: list[tuple[str, LoggedCall]] = []
    for where, item in items:
        if item is not None and kind_of_log(item) is None:
            problems.append(BadPlace(where, f"is not of an {kind}, as others here are"))
            continue
        try:
            calls += [(where, each) for each in logged_calls(item)]
        except ShapeError as error:
            problems.append(BadPlace(where, str(error)))
    calls.sort(key=lambda each: each[1].began)
    steps: list[RecordedStep] = []
    for number, (where, call) in enumerate(calls, 1):
        try:
            steps.append(call.step(number))
        except ShapeError as error:
            problems.append(BadPlace(where, str(error)))
    if problems:
        raise GivenFileError(str(path), problems)
    known = any(call.tools is not None for _, call in calls)
    declared = _declared(call.tools for _, call in calls)
    found = tuple(
        replace(each, tells_tools=known)
        for each in _sessions(path, steps, kind, declared)
    )
    _refuse_secrets(path, found, Scrubber(()), TAKE_OUT)
    return RecordingFile(path.name, kind, found)


def _of_cassette(path: Path, data: bytes) -> RecordingFile:
    read = read_cassette(path, data)
    declared = _declared(_tools_sent(each) for each in read.exchanges)
    found = tuple(_sessions(path, read.steps, CASSETTE, declared))
    mend = f"{TAKE_OUT}, with refengine cassette scan --mend"
    _refuse_secrets(path, found, scrubber_of(read.exchanges), mend)
    return RecordingFile(path.name, CASSETTE, found, read.other)


def _tools_sent(exchange: Exchange) -> object:
    """Return what a request says of its tools; nothing where it is of no model."""
    try:
        return body_of(exchange.request.body).get("tools")
    except ShapeError:
        return None


def _declared(lists: Iterable[object]) -> Mapping[str, DeclaredTool]:
    """Return the tools of requests by name, as each is declared first.

    What is declared in a vendor's own language is known by its name alone.
    """
    found: dict[str, DeclaredTool] = {}
    for each in lists:
        with suppress(ShapeError):
            for tool in tools_of(each or (), "tools"):
                found.setdefault(tool.name, tool)
    return found


def _sessions(
    path: Path,
    steps: Sequence[RecordedStep],
    kind: str,
    declared: Mapping[str, DeclaredTool],
) -> Iterator[SeenSession]:
    for each in conversations_of(path, steps):
        numbers = ", ".join(str(step.number) for step in each.steps)
        made = lifted(scenario_of(each, plays_client=False))
        data = made.model_dump(mode="json", exclude_defaults=True)
        world = read_scenario(with_schemas(data, declared, calls=False))
        runs = tuple(_runs(each))
        yield SeenSession(world, runs, kind, f"model call {numbers}")


def conversations_of(path: Path, steps: Sequence[RecordedStep]) -> list[Conversation]:
    """Put steps into conversations, also where a side rewrote what it had sent.

    A request that was sent once more because it failed counts once; nobody knows what
    became of another one that failed, so what follows is a session of its own. Raises
    GivenFileError for one that goes on with several conversations equally well.
    """
    found: list[Conversation] = []
    for step in steps:
        if again := _failed_before(found, step):
            again.steps[-1] = step
            continue
        fitting = [
            ((1, link.likeness, len(last.request.messages)), each, link)
            for each in found
            if (last := each.steps[-1]).answer.whole is not None
            and (link := link_of(last, step)) is not None
        ] or [
            ((0, link.likeness, _common(last, step)), each, link)
            for each in found
            if (link := echo_of(last := each.steps[-1], step)) is not None
        ]
        if not fitting:
            found.append(Conversation([step]))
            continue
        best = max(rank for rank, *_ in fitting)
        chosen = [(each, link) for rank, each, link in fitting if rank == best]
        if len(chosen) > 1 and not best[0]:
            began = " and ".join(str(each.steps[0].number) for each, _ in chosen)
            raise wrong_file(
                path,
                f"model call {step.number}",
                f"goes on with the sessions that began at {began}, which cannot be told"
                " apart: record each into a file of its own",
            )
        conversation, link = chosen[-1]
        conversation.steps.append(step)
        conversation.links.append(link)
    return found


def _failed_before(
    found: Sequence[Conversation], step: RecordedStep
) -> Conversation | None:
    """Return the conversation whose last request failed and is sent again here."""
    for each in found:
        last = each.steps[-1]
        if last.answer.whole is None and last.request == step.request:
            return each
    return None


def _common(last: RecordedStep, step: RecordedStep) -> int:
    """Return how many messages of a request were in the one before, too."""
    return sum(each in last.request.messages for each in step.request.messages)


def _runs(conversation: Conversation) -> Iterator[RecordedRun]:
    after = [*conversation.links, None]
    links = iter(after)
    for steps in run_steps(conversation):
        calls: list[RecordedCall] = []
        for step in steps:
            link = next(links)
            within = link is not None and not link.turn
            executed = tuple(c for c, _ in link.results) if link and within else ()
            request = step.request
            calls.append(RecordedCall(request.messages, request.tools, executed))
        said = steps[-1].answer.whole
        ended = said is not None and not said.tool_calls
        text = said.content if ended and said is not None else None
        yield RecordedRun(tuple(calls), ended, text)


def _of_chats(path: Path) -> RecordingFile:
    file = import_file(path)
    wrong = [
        BadPlace(each.where, f"is a scenario, which says nothing of OLD; {INSTEAD}")
        for each in file.worlds
        if each.kind != CHAT
    ]
    if wrong:
        raise GivenFileError(str(path), wrong)
    found = tuple(map(_chat_session, file.worlds))
    _refuse_secrets(path, found, Scrubber(()), TAKE_OUT)
    return RecordingFile(file.name, CHAT, found)


def _chat_session(world: ImportedWorld) -> SeenSession:
    runs = tuple(_chat_runs(world.scenario))
    return SeenSession(world.scenario, runs, CHAT, world.where)


def _chat_runs(scenario: Scenario) -> Iterator[RecordedRun]:
    """Yield what was done in each turn of a chat: for each answer a model call."""
    answers = iter([parse_message(str(each)) for each in scenario.model_script])
    known = {
        (tool.name, id_)
        for tool in scenario.all_agents[0].tools
        for id_ in tool.by_call
    }
    for _ in scenario.runs:
        calls: list[RecordedCall] = []
        said: Message | None = None
        for said in answers:
            executed = [c for c in said.tool_calls if (c.name, c.id) in known]
            calls.append(RecordedCall(executed=tuple(executed)))
            if not said.tool_calls:
                break
        text = None if said is None or said.tool_calls else said.content
        unsaid = text is None or text == f"({NOT_RECORDED})"
        yield RecordedRun(tuple(calls), not unsaid, None if unsaid else text)
