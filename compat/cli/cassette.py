"""``refengine cassette``: models over HTTP, served, recorded and replayed.

What needs an extra is imported where it is used: a missing one is a mistake, reported.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from compat.cli.command import argument, flag, group, option, refuse, refusing
from compat.cli.values import DAY, OUTPUT, PATH, at_least
from compat.verdicts.exit_codes import DIFFERS, NOTHING_RAN, OK

if TYPE_CHECKING:
    from compat.wire.comparing import ComparedRecordings

HIGHEST: Final = 65_535
LONGEST: Final = 100
"""So many characters of a value are shown."""
LOOKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "id": "looks like an id that is drawn anew",
        "time": "looks like the time of the recording",
        "text": "only an id or a time within the text differs, so no option leaves it"
        " out: have your program take it from the session",
        "": "differs",
    }
)

app = group("Serve a scenario as a model over HTTP, record the wire, replay it.")


@app.command()
@argument("file", "a scenario (JSON), or a cassette (YAML, JSON)", PATH)
@option(
    "--port", about="0 takes one that is free", kind=at_least(0, HIGHEST), default=0
)
@option(
    "--model",
    about="the model that GET /v1/models lists; of a scenario only",
)
@option(
    "--secret-env",
    about="a variable whose value was taken out of the cassette; may be repeated",
    multiple=True,
)
@option(
    "--field", about="a field whose value was taken out; may be repeated", multiple=True
)
def serve(
    file: Path,
    port: int,
    model: str | None,
    secret_env: tuple[str, ...],
    field: tuple[str, ...],
) -> int:
    """Serve a scenario's model, or replay a cassette to a program; on 127.0.0.1 only.

    The first line printed is the base URL to give a client; any key will do. Ends on
    Ctrl-C or SIGTERM.

    A scenario is served as OpenAI chat completions. The n-th call gets the n-th answer
    of the script. A client with a base URL of http://127.0.0.1:PORT/NAME/v1 is a
    session of its own, and begins at the first answer. At the end the server tells how
    far each session came.

    A cassette is replayed strictly: the same requests, in the same order, all of them,
    each once. The first request that differs is reported, with the place where it does.
    Secrets that were named when it was recorded have to be named again.

    Exit codes: 0 ended as asked, 1 a cassette was not played as it was recorded, 2 a
    file or port that cannot be served.
    """
    with _mistakes("serve"):
        from compat.wire.cassette_files import is_cassette

        if is_cassette(file):
            if model is not None:
                refuse("cassette serve", "--model is of a scenario: leave it out")
            return _replayed(file, port, secret_env, field)
        if secret_env or field:
            text = "--secret-env and --field are of a cassette: leave them out"
            refuse("cassette serve", text)
        return _scripted(file, port, model)


def _replayed(
    cassette: Path, port: int, secret_env: tuple[str, ...], field: tuple[str, ...]
) -> int:
    """Replay a cassette until a signal; return the exit code."""
    from compat.report.conform_text import counted
    from compat.wire.errors import PlayingError
    from compat.wire.matching import recording_of
    from compat.wire.recording import secrets_named
    from compat.wire.scrubbing import Scrubber
    from compat.wire.server.replaying import ReplayServer

    scrubber = Scrubber(secrets_named(secret_env, os.environ), fields=field)
    server = ReplayServer(recording_of(cassette, scrubber), _say, port=port)
    server.serve(lambda: _say(server.base_url))
    try:
        server.playback.assert_played()
    except PlayingError as error:
        if server.playback.error is None:
            _say(str(error))
        return DIFFERS
    played = counted(server.playback.played, "interaction")
    _say(f"{played} played, none left")
    return OK


def _scripted(scenario: Path, port: int, model: str | None) -> int:
    """Serve a scenario's model until a signal; return the exit code."""
    from compat.report.conform_text import counted
    from compat.wire.server.scripted import MODEL, ScriptedServer
    from refengine.testing.scenario_files import load_scenario

    found = load_scenario(scenario)
    server = ScriptedServer(found, port=port, model=model or MODEL)
    server.serve(lambda: _say(server.base_url))
    for each in server.sessions:
        answered = f"{counted(each.calls, 'call')} answered"
        left = f"{counted(len(each.unplayed), 'answer')} left"
        _say(f"session {each.name}: {answered}, {left}")
    return OK


@app.command()
@argument("scenario", "a scenario (JSON) with runs", PATH)
@argument("cassette", "the file to write (.yaml, .json)", PATH)
@option("--date", "day", about="for the manifest; today if left out", kind=DAY)
@flag("--overwrite", about="write over a cassette that is there")
def record(scenario: Path, cassette: Path, day: date | None, *, overwrite: bool) -> int:
    """Record a scenario's runs: the official client against a scripted server.

    Writes the cassette, scrubbed, and its entry in manifest.toml beside it. Prints what
    came of each run. Only what a client without extensions does can be recorded:
    messages, tools with their scripted results, streaming, several turns and agents.

    Exit codes: 0 recorded, 2 a file that cannot be read, played or written.
    """
    with _mistakes("record"):
        from compat.report.conform_text import counted
        from compat.wire import recording

        day = day or datetime.now(UTC).date()
        found = recording.record(scenario, cassette, day=day, overwrite=overwrite)
    for number, outcome in enumerate(found.outcomes, 1):
        _say(f"run {number}: {outcome}")
    _say(f"{counted(found.entry.interactions, 'exchange')} in {cassette.name}")
    return OK


@app.command()
@argument("cassette", "a cassette (YAML, JSON)", PATH)
def replay(cassette: Path) -> int:
    """Send a cassette's own requests through the transport that replays it.

    A line for each exchange: method, path, status, and in short what was answered.

    Exit codes: 0 all were played, 1 the file does not play as it stands or is not the
    one of its manifest, 2 it cannot be read.
    """
    with _mistakes("replay"):
        from compat.wire.errors import ChangedFileError, PlayingError
        from compat.wire.transport import replay as replayed

        try:
            for each in replayed(cassette):
                _say(str(each))
        except (PlayingError, ChangedFileError) as error:
            _say(str(error))
            return DIFFERS
    return OK


@app.command()
@option("--to", about="the vendor's base URL, as its client has it", required=True)
@option("--out", about="the cassette to write (.yaml)", kind=OUTPUT, required=True)
@option(
    "--port", about="0 takes one that is free", kind=at_least(0, HIGHEST), default=0
)
@option(
    "--secret-env",
    about="a variable whose value is taken out; may be repeated",
    multiple=True,
)
@option(
    "--field", about="a field whose value is taken out; may be repeated", multiple=True
)
@flag("--overwrite", about="write over a cassette that is there")
def proxy(
    to: str,
    out: Path,
    port: int,
    secret_env: tuple[str, ...],
    field: tuple[str, ...],
    *,
    overwrite: bool,
) -> int:
    """Record what a program asks a vendor, through a proxy on 127.0.0.1.

    The first line printed is the base URL to give the program's client in place of the
    vendor's. Answers are handed over as they come, streams piece by piece. Each
    exchange is written when it has ended, without secrets: credentials that the program
    sends are found without help, others are named by --secret-env. Ends on Ctrl-C or
    SIGTERM.

    Exit codes: 0 recorded, 1 a request, which is named, is not in the file, 2 an
    address, file or port that cannot be used, or nothing was asked.
    """
    with _mistakes("proxy"):
        from compat.report.conform_text import counted
        from compat.wire.recording import ProxyRecorder, secrets_named
        from compat.wire.server.passing import PassingServer
        from compat.wire.writing import AppendedCassette

        secrets = secrets_named(secret_env, os.environ)
        cassette = AppendedCassette(
            out, secrets=secrets, fields=field, overwrite=overwrite
        )
        recorder = ProxyRecorder(cassette, _say)
        server = PassingServer(to, recorder.hear, port=port)
        server.serve(lambda: _say(server.base_url))
        recorder.end()
    _say(f"{counted(cassette.written, 'exchange')} in {out.name}")
    return DIFFERS if recorder.lost else OK


@app.command()
@argument("paths", "cassettes, or folders of them", PATH, nargs=-1, required=True)
@option(
    "--field", about="a field whose value is a secret; may be repeated", multiple=True
)
@flag("--mend", about="write them anew without their secrets")
def scan(paths: tuple[Path, ...], field: tuple[str, ...], *, mend: bool) -> int:
    """Look for secrets in cassettes, by the rules with which a recording is scrubbed.

    A line for each place: file, interaction, and which header, field or address; what
    stands there is not printed. With --mend a cassette that holds some is written anew,
    without them and without headers that no replay needs; change the secrets all the
    same, since the history of a repository keeps them.

    Exit codes: 0 there are none, or no more, 1 there are some, 2 a file that cannot be
    read or written, 4 there is no cassette.
    """
    with _mistakes("scan"):
        from compat.report.conform_text import counted
        from compat.wire import leaks
        from compat.wire.cassette_files import read_cassette

        found = {
            path: list(leaks.leaks_in(read_cassette(path), field))
            for path in leaks.cassettes_in(paths)
        }
        if not found:
            where = ", ".join(map(str, paths))
            refuse("cassette scan", f"{where}: has no cassette", NOTHING_RAN)
        bad = {path: each for path, each in found.items() if each}
        for path, places in bad.items():
            for place in places:
                _say(f"{path}: {place}")
            if mend:
                leaks.mend(path, field)
    done = "mended" if mend else "with secrets"
    _say(f"{counted(len(found), 'cassette')}, {len(bad)} {done}")
    return DIFFERS if bad and not mend else OK


@app.command("compare")
@argument("one", "a cassette", PATH)
@argument("other", "a cassette of the same session, recorded once more", PATH)
@option(
    "--field",
    about="a field that is known to be drawn anew; may be repeated",
    multiple=True,
)
def compare_recordings(one: Path, other: Path, field: tuple[str, ...]) -> int:
    """Compare two recordings of one session, and propose what to leave out on replay.

    A field that is drawn anew each time, such as an id or a time, keeps a cassette from
    being replayed. Requests are compared; each place that differs is told, and the
    option that leaves out what looks drawn, which was tried on both recordings.

    Exit codes: 0 nothing else differs, 1 something does, 2 a file that cannot be read.
    """
    with _mistakes("compare"):
        from compat.wire.cassette_files import read_cassette
        from compat.wire.comparing import compare

        found = compare(read_cassette(one), read_cassette(other), field)
    for line in _compared(found, one, field):
        _say(line)
    return OK if found.alike else DIFFERS


def _compared(
    found: ComparedRecordings, one: Path, given: tuple[str, ...]
) -> Iterator[str]:
    """Yield what came of a comparison."""
    from compat.report.conform_text import counted, does

    yield f"{counted(found.pairs, 'request')} compared"
    for name, many in zip(("the first", "the second"), found.alone, strict=True):
        if many:
            yield f"{counted(many, 'request')} in {name} alone"
    for each in found.fields:
        looks = (
            LOOKS[each.looks] if each.volatile or each.looks == "text" else LOOKS[""]
        )
        of = f"{each.requests} of {counted(found.pairs, 'request')}"
        yield f"{each.path}: {looks}, in {of}"
        yield from (f"  {_shortened(value)}" for value in each.values)
    if found.proposed:
        names = (*given, *found.proposed)
        options = " ".join(f"--field {shlex.quote(name)}" for name in names)
        yield f"to leave out what was drawn: refengine cassette serve {one} {options}"
    if found.unequal:
        still = f"{counted(found.unequal, 'request')} {does(found.unequal, 'differ')}"
        yield f"{still} in other things{' all the same' if found.proposed else ''}"
    elif found.alike:
        yield "the rest is equal" if found.fields or given else "all requests are equal"


def _shortened(value: str) -> str:
    return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"


def _say(line: str) -> None:
    """Print at once: who started the server waits for the line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def _mistakes(name: str) -> Generator[None]:
    """Report what a user can get wrong, and name the extra of a missing library."""
    from compat.wire.errors import MissingWireExtraError, WireError
    from refengine.testing.scenario_files import ScenarioError

    with refusing(f"cassette {name}", ScenarioError, WireError, OSError):
        try:
            yield
        except ModuleNotFoundError as error:
            raise MissingWireExtraError(str(error.name)) from error
