"""A program as a side: its folder, its environment, and sessions played with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from compat.migration.options import Reach
from compat.migration.programs.commands import ProgramCommand
from compat.migration.programs.process import ProgramProcess
from compat.migration.programs.traces import (
    Entry,
    ProgramFiles,
    SessionOver,
    TurnBegun,
    TurnOver,
    trace_of,
)
from compat.migration.programs.turns import (
    HOST,
    PORT,
    AskedTurn,
    PlainLines,
    PostedTurns,
    SessionLines,
    TurnAnswer,
    TurnProtocol,
    free_port,
    stream_socket,
)
from compat.migration.session_copy import (
    HOME,
    TEMPORARY,
    session_copy,
)
from compat.migration.subject_process import environment
from compat.wire.server.programs import (
    EFFECTS,
    SERVICES,
    AskedModel,
    PostedEffect,
    ProgramServer,
)
from refengine.testing.isolation.folder import SessionFolder
from refengine.testing.notation import parse_message
from refengine.testing.scenario import Scenario

START: Final = 30.0
"""Seconds that the first turn after a start may take at least."""
ADDRESS: Final = "REFENGINE_TURNS_URL"
"""The variable that tells a program where its turns are posted to."""
LEFT: Final = "processes left running"
KEY: Final = "refengine"
"""The key that all programs are given: nobody is asked who takes it."""
KEYS: Final = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
)
BASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "OPENAI_BASE_URL": "/v1",
        "ANTHROPIC_BASE_URL": "",
        "GOOGLE_GEMINI_BASE_URL": "",
    }
)
"""Variables that the official clients read, and what follows the address of a key."""
PACKAGES: Final = ("node_modules", ".venv", "venv")
"""Folders of what is installed: no copy is made of them, and they are linked."""


@dataclass(frozen=True, slots=True)
class ProgramPlayed:
    """A session of a program, as its trace; ``requests`` were asked of the model."""

    jsonl: str
    requests: int
    log: tuple[Entry, ...]
    refused: str | None = None
    way: str | None = None


class ProgramSide:
    """Plays sessions with a program, in a copy of its folder; ends all that it began.

    Methods that play raise ProgramFault.
    """

    def __init__(
        self,
        command: ProgramCommand,
        server: ProgramServer,
        reach: Reach,
        *,
        hash_seed: int,
        timeout: float,
    ) -> None:
        """Copy the folder; raises RefError or OSError."""
        self._server = server
        self._network = server.network
        self._key = server.key()
        self._timeout = timeout
        self._turns = command.turns
        self._protocol: TurnProtocol = (
            PlainLines() if command.turns == "lines" else SessionLines()
        )
        self._program: ProgramProcess | None = None
        self._sessions = 0
        self.log = ""
        self._opened = ExitStack()
        place = self._opened.enter_context(session_copy(*command.subject))
        self._top = Path(place.isolation or place.cwd)
        _link(command, place.cwd, place.folder, self._top)
        self._cwd = place.cwd
        self._words = command.words_in(place)
        self._folder = SessionFolder(
            str(self._top), str(place.cwd), str(place.folder), closed=False
        )
        self._folder.ready()
        self._folder.keep_all()
        self._files = ProgramFiles(self._folder)
        self._variables = command.variables
        self._env = self._environment(hash_seed, reach)

    def close(self) -> None:
        """End the program and all that it started, and remove the folder."""
        self._end()
        self._server.end(self._key)
        self._opened.close()

    def play(self, world: Scenario) -> ProgramPlayed:
        """Play one world; raises ProgramFault."""
        log: list[Entry] = []
        self._sessions += 1
        self._server.begin(self._key, world, log.append)
        try:
            self._play(world, log)
        except BaseException:
            self._end()
            raise
        finally:
            self._server.end(self._key)
            self._folder.written = True
            self._folder.put_back()
            self._files.forget()
        requests = sum(isinstance(each, AskedModel) for each in log)
        return ProgramPlayed(trace_of(log).to_jsonl(), requests, tuple(log))

    def _play(self, world: Scenario, log: list[Entry]) -> None:
        for number, run in enumerate(world.runs, 1):
            text = "\n".join(parse_message(each).content for each in run.input)
            log.append(TurnBegun(number))
            over = self._turn(number, text)
            log += self._files.changed()
            log.append(over)
            if over.answer.text is None and over.answer.error is None:
                break  # it has ended, and hears no more
        if self._turns == "lines":
            self._finished(log)

    def _turn(self, number: int, text: str) -> TurnOver:
        program, limit = self._running()
        asked = AskedTurn(self._sessions, number, text, limit)
        program.begin_turn()
        answer = self._protocol.take(program, asked)
        if answer.text is None and answer.error is None:
            status, _ = program.finish(limit)
            log = program.log_of_turn
            self._end()
            return TurnOver(TurnAnswer(chunks=answer.chunks), status, log)
        return TurnOver(answer, log=program.log_of_turn)

    def _running(self) -> tuple[ProgramProcess, float]:
        """Return the program, started if it is not there, and how long it may take."""
        if self._program is not None:
            return self._program, self._timeout
        words, env = self._words, self._env
        network = self._network
        if self._turns == "http":
            opened = stream_socket if network is None else network.socket
            port = str(free_port(opened))
            self._protocol = PostedTurns(int(port), opened)
            words = [each.replace(PORT, port) for each in words]
            env = {**env, "PORT": port, ADDRESS: f"http://{HOST}:{port}/"}
        words = words if network is None else network.inside(words)
        self._program = ProgramProcess(words, self._cwd, env)
        return self._program, max(START, self._timeout)

    def _finished(self, log: list[Entry]) -> None:
        """Have a program that plays one session end, and what it left behind."""
        if self._program is None:
            return
        status, rest = self._program.finish(self._timeout)
        log.append(SessionOver(status, tuple(rest)))
        left = self._end()
        if left:
            log.append(PostedEffect(LEFT, left))

    def _end(self) -> int:
        """End the program; return how many others it left running."""
        if self._program is None:
            return 0
        self.log = self._program.log
        left = self._program.end()
        self._program = None
        return left

    def _environment(self, hash_seed: int, reach: Reach) -> dict[str, str]:
        address = f"{self._server.root}/{self._key}"
        return {
            **environment(hash_seed, reach.env),
            **self._variables,
            **{name: f"{address}{path}" for name, path in BASES.items()},
            **dict.fromkeys(KEYS, KEY),
            "HOME": str(self._top / HOME),
            "TMPDIR": str(self._top / TEMPORARY),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
            "REFENGINE_EFFECTS": f"{address}/{EFFECTS}",
            **{name: f"{address}/{SERVICES}/{name}" for name in reach.services},
            "REFENGINE_TURNS": self._turns,
        }


def _link(command: ProgramCommand, cwd: Path, copy: Path, top: Path) -> None:
    """Link what is installed, in the folder and around it, since no copy has it."""
    folder = Path(os.path.realpath(command.folder))
    here = Path(os.path.realpath(command.cwd))
    for name in PACKAGES:
        for place, target in ((folder, copy), (here, cwd), *_around(folder, top)):
            found, link = place / name, target / name
            if found.is_dir() and not link.exists():
                link.symlink_to(found, target_is_directory=True)


def _around(folder: Path, top: Path) -> list[tuple[Path, Path]]:
    """Return the folders above, nearest first, which all stand for the top here."""
    return [(each, top) for each in folder.parents]
