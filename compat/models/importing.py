"""A user's own sessions as scenarios: one importer for every command that takes them.

    found = import_file(Path("chats.jsonl"))

What a file holds is told by its content, not by its name:

- scenarios, one or a list of them, also those of a corpus or of derived scripts;
- chats, ``{"messages": […]}`` or a list of messages, or one message a line;
- JSON lines of these;
- spans of OpenTelemetry with the messages of model calls, alone or in batches of OTLP;
- a corpus, as ``refengine corpus import`` writes it;
- cassettes of vcrpy's format, with exchanges of the interfaces that ``READ`` names.

Nothing is skipped: a line that is none of these is named, with what would be right.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from compat.corpora.entries import (
    CorpusFileError,
    SampledFrom,
    is_corpus,
    read_entries,
    sample_of,
)
from compat.models.chat_logs import chat_messages, is_message, tools_of
from compat.models.errors import BadPlace, GivenFileError, ShapeError, TrafficError
from compat.models.exchanges import READ, ExchangeReader, RecordedStep, api_of
from compat.models.scripts import chat_scenario, sessions
from compat.models.spans import SpanHistories, holds_spans
from compat.verdicts.migration import GivenWorlds
from compat.wire.cassette_files import parsed
from compat.wire.errors import WireError
from compat.wire.exchanges import GZIP, Exchange
from refengine.testing.given_text import read_json
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.notation import NotationError, parse_message
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import ScenarioError, read_scenario

Kind: TypeAlias = Literal["scenario", "chat", "cassette"]

SCENARIO: Final = frozenset(("agent", "agents", "model_script", "runs"))
INSTEAD: Final = (
    'write a scenario ("agent", "model_script", "runs"), a chat {"messages": [...]},'
    ' or one message {"role": "user", "content": "..."} a line'
)
TELL: Final = (
    "have the instrumentation capture the messages of model calls, in the attributes"
    " gen_ai.input.messages and gen_ai.output.messages"
)
_LISTS: Final = ("worlds", "sessions", "scenarios")
"""Under which names files of ours hold several."""


@dataclass(frozen=True, slots=True)
class ImportedWorld:
    """One session of a file as a scenario, and where in the file it stands."""

    scenario: Scenario
    where: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What a file holds; ``not_read`` counts exchanges of other APIs by their names.

    ``sample`` says of what larger corpus it is a sample.
    """

    name: str
    worlds: tuple[ImportedWorld, ...]
    not_read: Mapping[str, int] = field(default_factory=dict[str, int])
    sample: SampledFrom | None = None


def import_file(path: Path) -> ImportedFile:
    """Return the worlds of a file; raises GivenFileError or OSError.

    One without a world is an error, and so is one of which any part is not a world.
    """
    if is_corpus(path):
        return _corpus(path)
    data = path.read_bytes()
    if not data.strip():
        raise wrong_file(path, "", f"the file is empty; {INSTEAD}")
    found = json_items(path, data)
    if found is None:
        return _cassette(path, data)
    reading = _Reading()
    for where, item in _without_spans(partial(iter, found)):
        reading.take(where, item)
    reading.end()
    if reading.problems:
        raise GivenFileError(str(path), reading.problems)
    if not reading.worlds:
        spans = any(holds_spans(item) for _, item in found)
        raise wrong_file(path, "", f"it holds no session; {TELL if spans else INSTEAD}")
    return ImportedFile(path.name, tuple(reading.worlds))


def import_lines(path: Path) -> Iterator[ImportedWorld]:
    """Yield the worlds of a file one by one; JSON lines are never held as a whole.

    Raises GivenFileError, after the last line for all that is wrong with any of them,
    or OSError.
    """
    if not _has_lines(path):
        yield from import_file(path).worlds
        return
    reading = _Reading()
    for where, item in _without_spans(partial(_line_items, path)):
        reading.take(where, item)
        yield from reading.taken()
    reading.end()
    yield from reading.taken()
    if reading.problems:
        raise GivenFileError(str(path), reading.problems)


def _line_items(path: Path) -> Iterator[tuple[str, object]]:
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        for number, line in enumerate(file, 1):
            yield f"line {number}", _item(line)


def _without_spans(
    items: Callable[[], Iterator[tuple[str, object]]],
) -> Iterator[tuple[str, object]]:
    """Yield the parts of a file; of spans the chats, which takes a pass more."""
    _, first = next(items(), ("", None))
    if not holds_spans(first):
        yield from items()
        return
    histories = SpanHistories()
    for _, item in items():
        if holds_spans(item):
            histories.take(item)
    for where, item in items():
        if holds_spans(item):
            yield from ((where, each) for each in histories.chats(item))
        else:
            yield where, item


def _has_lines(path: Path) -> bool:
    """Tell whether a file has a JSON value in its first line, and another one below."""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            first, second = file.readline(), file.readline()
            read_json(first)
    except ValueError:  # also of no text
        return False
    return bool(second.strip())


def _item(line: str) -> object:
    if not line.strip():
        return None
    try:
        return read_json(line)
    except ValueError as bad:
        return bad


def _corpus(path: Path) -> ImportedFile:
    try:
        found = [
            ImportedWorld(read_scenario(dict(each.scenario)), each.source, "scenario")
            for each in read_entries(path)
        ]
    except (CorpusFileError, ScenarioError) as error:
        raise wrong_file(path, "", str(error)) from error
    if not found:
        raise wrong_file(path, "", f"it holds no session; {INSTEAD}")
    return ImportedFile(path.name, tuple(found), sample=sample_of(path))


def import_files(paths: Sequence[Path]) -> tuple[ImportedFile, ...]:
    """Return the worlds of several files, none of which is given twice; as above."""
    refuse_twice(paths)
    return tuple(map(import_file, paths))


def refuse_twice(paths: Sequence[Path]) -> None:
    """Raise GivenFileError for a path that is there a second time."""
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise wrong_file(path, "", "is given twice: leave one out")
        seen.add(path.resolve())


def wrong_file(path: Path, where: str, problem: str) -> GivenFileError:
    """Return the error of one place of a file, or of all of it."""
    return GivenFileError(str(path), [BadPlace(where, problem)])


def json_items(path: Path, data: bytes) -> list[tuple[str, object]] | None:
    """Return the parts of a file of JSON, or None if it is a cassette."""
    if data.startswith(GZIP) or path.suffix in {".yaml", ".yml"}:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise wrong_file(path, "", f"is not UTF-8 text ({error.reason})") from None
    try:
        tree = read_json(text)
    except ValueError as error:
        return list(_lines(path, text, error))
    if is_mapping(tree) and "interactions" in tree:
        return None
    return list(_parts(tree))


def _parts(tree: object) -> Iterator[tuple[str, object]]:
    if is_mapping(tree):
        listed = next((tree[key] for key in _LISTS if is_list(tree.get(key))), None)
        if listed is None:
            yield "", tree
            return
        tree = listed
    if is_list(tree) and tree and all(map(is_message, tree)):
        yield "", tree
    elif is_list(tree):
        yield from ((f"item {at}", each) for at, each in enumerate(tree, 1))
    else:
        yield "", tree


def _lines(path: Path, text: str, error: ValueError) -> Iterator[tuple[str, object]]:
    """Yield what each line holds; one that is not JSON is a problem of its own."""
    if text.lstrip()[:1] not in {"{", "["}:
        raise wrong_file(
            path, "line 1", f"is not JSON; {INSTEAD}, or a cassette as .yaml"
        )
    lines = text.split("\n")  # not splitlines: U+2028 may stand in a text of JSON
    if isinstance(error, json.JSONDecodeError) and lines[0].strip() in {"{", "["}:
        where = f"line {error.lineno}"
        raise wrong_file(path, where, f"is not JSON: {error.msg}") from None
    for number, line in enumerate(lines, 1):
        yield f"line {number}", _item(line)


class _Reading:
    """Takes the parts of a file one after the other."""

    def __init__(self) -> None:
        self.worlds: list[ImportedWorld] = []
        self.problems: list[BadPlace] = []
        self._chat: list[object] = []
        self._begun = ""

    def taken(self) -> list[ImportedWorld]:
        """Return the worlds that were read since this was asked last."""
        found, self.worlds = self.worlds, []
        return found

    def take(self, where: str, item: object) -> None:
        """Take one part; messages are gathered until their chat ends."""
        if item is not None and is_message(item):
            if _role(item) == "system":
                self.end()  # an instruction stands first: another chat begins
            self._begun = self._begun or where
            self._chat.append(item)
            return
        self.end()
        if item is None:
            return
        try:
            world, kind = _world(item)
        except ShapeError as error:
            self.problems.append(BadPlace(where, str(error)))
        except ScenarioError as error:
            problems = "; ".join(error.problems)
            self.problems.append(BadPlace(where, f"is not a scenario: {problems}"))
        else:
            self.worlds.append(ImportedWorld(world, where, kind))

    def end(self) -> None:
        """End the chat that is being gathered, if there is one."""
        chat, where = self._chat, self._begun
        self._chat, self._begun = [], ""
        if not chat:
            return
        try:
            scenario = read_scenario(chat_scenario(chat_messages(chat)))
        except ShapeError as error:
            place = f"the chat that begins at {where}" if where else ""
            self.problems.append(BadPlace(place, str(error)))
        else:
            self.worlds.append(ImportedWorld(scenario, where, "chat"))


def _role(message: object) -> str:
    if not is_mapping(message):
        return ""
    return str(message.get("role") or message.get("type"))


def _world(item: object) -> tuple[Scenario, Kind]:
    """Return a part as a scenario; raises ShapeError or ScenarioError."""
    if isinstance(item, ShapeError):  # of a span
        raise item
    if isinstance(item, ValueError):
        raise ShapeError("is not JSON", f"({item}); write one JSON value a line")
    if is_list(item) and item and all(map(is_message, item)):
        return read_scenario(chat_scenario(chat_messages(item))), "chat"
    if not is_mapping(item):
        raise ShapeError(f"is {_short(item)};", INSTEAD)
    inner = item.get("scenario")
    tree = inner if is_mapping(inner) else item
    if SCENARIO & tree.keys():
        return _scenario(tree), "scenario"
    if is_list(tree.get("messages")):
        return _chat(tree), "chat"
    if "messages" in tree:
        listed = f"its messages are {_short(tree['messages'])}, which is no list;"
        raise ShapeError(listed, INSTEAD)
    keys = ", ".join(sorted(map(repr, tree))) or "no key"
    raise ShapeError(f"has {_short(keys)};", INSTEAD)


def _scenario(item: Mapping[str, Any]) -> Scenario:
    world = read_scenario(dict(item))
    for at, run in enumerate(world.runs):
        for text in run.input:
            try:
                parse_message(text)
            except NotationError as error:
                raise ShapeError(f"runs[{at}].input:", str(error)) from None
    if not world.runs:
        raise ShapeError("runs", "are missing: a session without a run shows nothing")
    return world


def _chat(item: Mapping[str, Any]) -> Scenario:
    messages = chat_messages(item["messages"], item.get("system"))
    given = item.get("tools") or item.get("functions") or ()
    tools = [each.spec for each in tools_of(given, "tools")]
    return read_scenario(chat_scenario(messages, tools))


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _cassette(path: Path, data: bytes) -> ImportedFile:
    read = read_cassette(path, data)
    found = tuple(
        ImportedWorld(
            lifted(each.scenario),
            f"exchange {', '.join(map(str, each.exchanges))}",
            "cassette",
        )
        for each in sessions(read.steps)
    )
    return ImportedFile(path.name, found, read.other)


@dataclass(frozen=True, slots=True)
class CassetteSteps:
    """The exchanges of a cassette, those of models as steps, and counts of others."""

    exchanges: Sequence[Exchange]
    steps: Sequence[RecordedStep]
    other: Mapping[str, int]


def read_cassette(path: Path, data: bytes) -> CassetteSteps:
    """Return what a cassette holds; raises GivenFileError where no step is in it."""
    try:
        exchanges = parsed(data, path.name).exchanges
        steps, other = _steps(exchanges, path.name)
    except (WireError, TrafficError) as error:
        raise wrong_file(path, "", str(error)) from error
    if not steps:
        spoken = ", ".join(f"{api} ({count})" for api, count in other.items())
        problem = f"its exchanges are of {spoken or 'nobody'}"
        raise wrong_file(path, "", f"{problem}; {', '.join(READ)} are read")
    return CassetteSteps(exchanges, steps, other)


def _steps(
    exchanges: Sequence[Exchange], name: str
) -> tuple[list[RecordedStep], dict[str, int]]:
    """Return the steps of a cassette, and how many exchanges speak which other API.

    Raises TrafficError.
    """
    steps: list[RecordedStep] = []
    other: Counter[str] = Counter()
    reader = ExchangeReader(name)
    for number, exchange in enumerate(exchanges, 1):
        api = api_of(exchange)
        if api in READ and not exchange.request.url.endswith("/count_tokens"):
            steps.append(reader.read(exchange, api, number))
        else:
            other[api] += 1
    return steps, other


def lifted(world: Scenario) -> Scenario:
    """Return a recorded session whose instruction is the agent's, not its input's."""
    first = world.runs[0].input[:1]
    agent = world.all_agents[0]
    if agent.instruction or not first or not first[0].startswith("system:"):
        return world
    data = world.model_dump(mode="json", exclude_defaults=True)
    data["agent"]["instruction"] = first[0].removeprefix("system:")
    data["runs"][0]["input"] = data["runs"][0]["input"][1:]
    return read_scenario(data)


def given_worlds(file: ImportedFile, played: int, made: int) -> GivenWorlds:
    """Return what a report says of a file that is in so many worlds."""
    sample = file.sample or SampledFrom(0, 0.0)
    return GivenWorlds(
        file.name, played, made, dict(file.not_read), sample.entries, sample.bound
    )
