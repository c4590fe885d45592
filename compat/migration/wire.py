"""A check over the wire: graphs ask a real server by a vendor's own client.

    world → a session of the server → its base URL, with the request to play → a child

The bodies that the clients send are what is compared. A vendor refuses some requests
whatever a subject does, and then both sides get the same error: such a world would
count as one that was played. So worlds are left out that the scripted server's own
checks refuse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from compat.migration.corpus import Corpus, MigrationWorld
from compat.verdicts.migration import OverTheWire
from compat.wire.errors import MissingWireExtraError
from compat.wire.interfaces.chat import chat_message
from compat.wire.server.refusals import ApiError
from compat.wire.server.requests import check_request
from compat.wire.server.sessions import NotAnAnswerError, check_script
from refengine.messages import Message, join_chunks
from refengine.testing.notation import decoded, parse_chunk, parse_message
from refengine.testing.own_tools import with_own_tools
from refengine.testing.scenario import ModelChunks, Scenario, ScriptEntry
from refengine.testing.subject_worlds.graph_worlds import fits_a_graph
from refengine.testing.subject_worlds.words import Words
from refengine.testing.world import WorldExtraError

if TYPE_CHECKING:
    from compat.wire.server.programs import Logged, ProgramServer

LONGEST: Final = 8
"""A world with more answers of the model is left out: each takes milliseconds."""
SHORTENED: Final = frozenset(("own tools",))
"""Families whose long worlds are made short: no other one does what they do."""
REPEATED: Final = 3
"""One with more is played once; in process it is played often enough to find noise."""
LONG: Final = f"more than {LONGEST} answers of the model"
TOOLS: Final = "tools that a vendor refuses"
HISTORY: Final = "histories that a vendor refuses"
ANSWER: Final = "an answer that no vendor gives"

USER: Final = Message("user", "a")
OWN: Final = {"name": "own"}
"""A tool of some subject, whose name is known when it is called."""


class NoWorldsError(ValueError):
    """None of a corpus' worlds can be played over the wire."""

    def __init__(self, left_out: Mapping[str, int]) -> None:
        self.left_out = left_out
        why = ", ".join(f"{count} with {each}" for each, count in left_out.items())
        super().__init__(
            f"no world can be played over the wire ({why});"
            " ask for more --examples, or leave --wire out"
        )


def sendable(words: Words) -> Words:
    """Return a subject's words without the names that no vendor takes for a tool."""
    names = tuple(name for name in words.names if not _refused([USER], [name]))
    return replace(words, names=names)


def over_the_wire(corpus: Corpus) -> tuple[Corpus, Counter[str]]:
    """Return the worlds that say something there, and how many others by the reason.

    All are run plain: virtual time and real sockets do not go together. Raises
    NoWorldsError.
    """
    left_out: Counter[str] = Counter()
    found: list[MigrationWorld] = []
    for each in corpus.worlds:
        world = each.scenario
        if each.family in SHORTENED:
            world = shortened(world)
        why = unfit(world)
        if why is None:
            plain = world.model_copy(update={"way": "sync"})
            found.append(replace(each, scenario=plain))
        else:
            left_out[why] += 1
    if not found:
        raise NoWorldsError(left_out)
    made = replace(corpus, worlds=tuple(found), fits=fits_the_wire, repeated=REPEATED)
    return made, left_out


def shortened(world: Scenario) -> Scenario:
    """Return a world with its first answers, and the runs that these are for.

    A run is over with an answer that calls nothing.
    """
    script = world.model_script[:LONGEST]
    ends = [at for at, each in enumerate(script) if not _calls(each)]
    if len(script) == len(world.model_script) or not ends:
        return world
    cut = {"model_script": script[: ends[-1] + 1], "runs": world.runs[: len(ends)]}
    return world.model_copy(update=cut)


def _calls(entry: ScriptEntry) -> bool:
    return isinstance(entry, str) and bool(parse_message(entry).tool_calls)


def fits_the_wire(world: Scenario) -> bool:
    """Tell whether a world is one of such a corpus, after it was made smaller."""
    return world.way == "sync" and fits_a_graph(world) and unfit(world) is None


def unfit(world: Scenario) -> str | None:
    """Return why a world would say nothing over the wire, None if it would."""
    if len(world.model_script) > LONGEST:
        return LONG
    tools = [tool.name for agent in world.all_agents for tool in agent.tools]
    if _refused([USER], tools):
        return TOOLS
    if not _says_answers(world):
        return ANSWER
    histories = [*_histories(world)]
    if histories and all(map(_refused, histories)):
        return HISTORY
    return None


def _says_answers(world: Scenario) -> bool:
    """Tell whether each answer, with its results, can be sent back to a vendor."""
    try:
        check_script(world.model_script, "a world")
    except NotAnAnswerError:
        return False
    return not any(_refused(_with_results(each)) for each in _answers(world))


def _histories(world: Scenario) -> Iterator[Sequence[Message]]:
    """Yield what each run begins with, as far as the world alone says it.

    Where it says nothing, a subject may still have an instruction of its own.
    """
    for run in world.runs:
        text = decoded(world.all_agents[run.agent].instruction)
        given = [Message("system", text)] if text else []
        given += map(parse_message, run.input)
        if given:
            yield given


def _answers(world: Scenario) -> Iterator[Message]:
    """Yield what the model says, in one piece."""
    for entry in world.model_script:
        if isinstance(entry, str):
            yield with_own_tools(parse_message(entry), [OWN], ())
        elif isinstance(entry, ModelChunks):
            yield join_chunks(map(parse_chunk, entry.chunks))


def _with_results(answer: Message) -> Sequence[Message]:
    """Return the history that an answer leads to."""
    results = [Message("tool", "r", tool_call_id=c.id) for c in answer.tool_calls]
    return [USER, answer, *results]


def _refused(messages: Iterable[Message], tools: Sequence[str] = ()) -> bool:
    """Tell whether a request of these is one that a vendor refuses."""
    body: dict[str, Any] = {
        "model": "any",
        "messages": list(map(chat_message, messages)),
    }
    if tools:
        functions = [{"type": "function", "function": {"name": n}} for n in tools]
        body["tools"] = functions
    try:
        check_request(body)
    except ApiError:
        return True
    return False


CLIENTS: Final = ("langchain-openai", "openai")
"""Distributions of the client, that of ChatOpenAI first."""


class Wire:
    """The server of one check or folder, and what was left out there.

    A check plays thousands of worlds, so each has a key of its own and is forgotten
    when it is over: a client that is left over plays no other world.
    """

    def __init__(self, server: ProgramServer) -> None:
        self._server = server
        self._left_out: list[Counter[str]] = []
        self._cases: list[str] = []

    def words(self, words: Words) -> Words:
        """Return the words without names of tools that no vendor takes."""
        return sendable(words)

    def corpus(self, corpus: Corpus) -> Corpus:
        """Return the worlds that say something over the wire; raises NoWorldsError."""
        found, left_out = over_the_wire(corpus)
        self._left_out.append(left_out)
        return found

    def leave_out(self, case: str) -> None:
        """Note a case that cannot be judged over the wire."""
        self._cases.append(case)

    def begin(self, world: Scenario) -> str:
        """Begin a world; return its base URL. Raises NotAnAnswerError."""
        key = self._server.key()
        self._server.begin(key, world, _unheard)
        return f"{self._server.root}/{key}/v1"

    def end(self, address: str) -> None:
        """Forget a world that was played, or never will be."""
        self._server.end(address.split("/")[-2])

    @property
    def summary(self) -> OverTheWire:
        """What a report says of it, by now."""
        left_out = sum(self._left_out, Counter[str]())
        versions = {name: version(name) for name in CLIENTS}
        return OverTheWire(versions, left_out, sorted(self._cases))


def _unheard(_: Logged) -> None:
    """Hear nothing: what the clients send is put down where they are."""


@contextmanager
def serving() -> Generator[Wire, None, None]:
    """Serve worlds while the block runs.

    Raises MissingExtraError and MissingWireExtraError where an extra is not installed.
    """
    try:
        _ = [version(name) for name in CLIENTS]
    except ImportError as error:
        raise WorldExtraError("--wire", "langchain", error) from error
    try:
        from compat.wire.server.programs import ProgramServer  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as error:
        raise MissingWireExtraError(str(error.name)) from error
    with ProgramServer() as server:
        yield Wire(server)
