"""Recording a cassette, from a scenario or between a program and a vendor.

From a scenario: official client, scripted server, vcrpy. The file then holds what
really went over a wire, in the shapes of OpenAI; the model's part was written by hand,
and the manifest beside the file says so.

Between a program and a vendor a server hands on what they say. Any program can be
pointed at it, in any language: it has one address to be told. Each exchange is written
when it has ended, scrubbed, whatever streams beside it are still open. Where its
request came before another had ended, the file says so.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from compat.wire.cassette_files import read_cassette
from compat.wire.client import Client, check_playable, play
from compat.wire.errors import (
    NoManifestError,
    ScrubbingError,
    WireError,
    check_absent,
    nothing_recorded,
)
from compat.wire.exchanges import Exchange
from compat.wire.manifest import (
    NAME,
    Manifest,
    ManifestEntry,
    hash_of,
    manifest_text,
    read_manifest,
)
from compat.wire.scrubbing import Scrubber
from compat.wire.server.passing import BegunExchange, FailedExchange, Heard
from compat.wire.server.scripted import ScriptedServer
from compat.wire.strict import strict_cassette
from compat.wire.writing import AppendedCassette, write_cassette
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import load_scenario

ROOT: Final = "http://scripted.test"
"""Stands in a cassette for the server's address, whose port is another each time."""
BASE_URL: Final = f"{ROOT}/v1"
"""What a client is given that replays such a cassette."""
SOURCE: Final = "scripted server"
KEY: Final = "scripted-key-of-no-account"
FORMATS: Final = (".yaml", ".json")


class MissingClientError(WireError, ImportError):
    """The official client is not installed."""

    def __init__(self) -> None:
        super().__init__("recording needs the official client: pip install openai")


class CassetteNameError(WireError, ValueError):
    """A name that no manifest can have."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"{name!r} names no cassette: give a name that ends in .yaml or .json"
        )


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of a recording: a line for each run, and the manifest's entry."""

    outcomes: tuple[str, ...]
    entry: ManifestEntry


def record(source: Path, path: Path, *, day: date, overwrite: bool = False) -> Recorded:
    """Record a scenario file as a cassette, and enter it in the manifest beside it.

    Raises ScenarioError, CassetteNameError, ManifestError, RecordingError,
    NotPlayableError, NothingToPlayError, MissingClientError, and what the server and
    the cassette raise. Nothing is written then.
    """
    scenario = load_scenario(source)
    if path.suffix not in FORMATS or path.name.startswith("."):
        raise CassetteNameError(path.name)
    check_absent(path, overwrite=overwrite)
    manifest = _manifest(path.parent)
    scrubber = Scrubber([KEY])
    outcomes, exchanges = recorded(scenario, scrubber)
    write_cassette(path, exchanges, scrubber)
    entry = ManifestEntry(
        file=path.name,
        sha256=hash_of(path),
        interactions=len(exchanges),
        source=SOURCE,
        sdk="openai",
        sdk_version=version("openai"),
        date=day,
        command=f"refengine cassette record {_named(source, path)} {path.name}",
    )
    _enter(path.parent, manifest, entry)
    return Recorded(outcomes, entry)


def recorded(
    scenario: Scenario, scrubber: Scrubber
) -> tuple[tuple[str, ...], list[Exchange]]:
    """Play a scenario against a server of its own; return outcomes and exchanges.

    Agents have a session each, as each plays the whole script.
    """
    check_playable(scenario)
    with TemporaryDirectory() as folder, ScriptedServer(scenario) as server:
        path = Path(folder, "recorded.yaml")
        with ExitStack() as stack:
            names = [f"agent{at}" for at in range(1, len(scenario.all_agents))]
            urls = [server.base_url, *(server.session(name).base_url for name in names)]
            clients = [stack.enter_context(_client(url)) for url in urls]
            stack.enter_context(strict_cassette(path, record=True, scrubber=scrubber))
            outcomes = play(scenario, clients)
        return outcomes, [_placed(each, server.root) for each in read_cassette(path)]


@contextmanager
def _client(url: str) -> Generator[Client]:
    try:
        import httpx2  # noqa: PLC0415  # of the extra ``wire``
        from openai import OpenAI  # noqa: PLC0415  # of the extra ``dev``
    except ModuleNotFoundError as error:
        raise MissingClientError from error
    direct = httpx2.Client(trust_env=False)  # no proxy between us and ourselves
    with OpenAI(base_url=url, api_key=KEY, http_client=direct) as client:
        yield client


def _placed(exchange: Exchange, root: str) -> Exchange:
    """Return the exchange with the address that stands for the server's."""
    request, answered = exchange.request, exchange.response
    return replace(
        exchange,
        request=replace(request, url=request.url.replace(root, ROOT, 1)),
        response=replace(answered, url=answered.url.replace(root, ROOT, 1)),
    )


def _manifest(folder: Path) -> Manifest:
    try:
        return read_manifest(folder)
    except NoManifestError:
        return Manifest(version=1)


def _enter(folder: Path, manifest: Manifest, entry: ManifestEntry) -> None:
    others = [each for each in manifest.cassette if each.file != entry.file]
    entries = sorted([*others, entry], key=lambda each: each.file)
    text = manifest_text(manifest.model_copy(update={"cassette": tuple(entries)}))
    (folder / NAME).write_text(text, "utf-8")


def _named(source: Path, path: Path) -> str:
    """Return how a scenario is called from the folder of the cassette.

    One that stands elsewhere is told by its name: the way to it is this machine's.
    """
    scenario, folder = source.resolve(), path.parent.resolve()
    inside = scenario.is_relative_to(folder)
    return scenario.relative_to(folder).as_posix() if inside else scenario.name


_NOBODY: Final = Scrubber()
"""Takes what looks like a key out of lines that are shown."""


@dataclass(slots=True)
class ProxyRecorder:
    """Writes each exchange when it has ended, and counts those it cannot.

    ``say`` is told in a line what is not in the file, and why.
    """

    cassette: AppendedCassette
    say: Callable[[str], None]
    lost: int = 0
    _open: dict[int, int] = field(default_factory=dict[int, int])
    """Requests that have not ended, and how many were written when each came."""

    def hear(self, each: Heard) -> None:
        """Take what a server tells of one request."""
        if isinstance(each, BegunExchange):
            self._open[each.number] = self.cassette.written
            return
        after = self._open.pop(each.number)
        if isinstance(each, FailedExchange):
            self._lose(each.number, each.problem)
            return
        overlaps = after < self.cassette.written
        exchange = replace(each.exchange, after=after if overlaps else None)
        try:
            self.cassette.add(exchange)
        except (ScrubbingError, OSError) as error:
            self._lose(each.number, str(error))

    def end(self) -> None:
        """Tell of what never ended.

        Raises RecordingError if no request came at all.
        """
        for number in sorted(self._open):
            self._lose(number, "it has not ended")
        if not self.cassette.written and not self.lost:
            raise nothing_recorded(self.cassette.path.name)

    def _lose(self, number: int, problem: str) -> None:
        self.lost += 1
        self.say(_NOBODY.text(f"request {number} is not in the file: {problem}"))


def secrets_named(names: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    """Return the values of variables; raises ScrubbingError for one without any."""
    found: list[str] = []
    for name in names:
        value = environment.get(name, "")
        if not value:
            raise ScrubbingError(
                f"the variable {name} is not set, so its value cannot be taken out:"
                " set it, or leave it out"
            )
        found.append(value)
    return found
