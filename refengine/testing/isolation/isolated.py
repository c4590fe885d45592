"""One child's isolation: begun before its subject is imported, used in each session."""

from __future__ import annotations

import json
import os
import site
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self, cast

from refengine.messages import Json
from refengine.testing.isolation.deeds import Deeds, Tell, nobody
from refengine.testing.isolation.files import SessionFiles
from refengine.testing.isolation.folder import SessionFolder
from refengine.testing.isolation.own_network import leave_network
from refengine.testing.isolation.records import (
    PrintedStream,
    watch_logging,
    watch_prints,
    watch_warnings,
)
from refengine.testing.isolation.side_doors import SideDoors, hear
from refengine.testing.isolation.sockets import SocketGate
from refengine.testing.loading import Own
from refengine.testing.recorder import Recorder
from refengine.testing.trace import ObservationKind, to_json

SESSION: Final = "/session"
"""What stands for the subject's folder in what was observed: the copy has another name
in each process, which would be a difference."""


LOOKED: Final = frozenset(("model_request", "run_end"))
"""Observations before which files are looked at: those of one session of concurrent
calls might be looked at at any time in between."""


@dataclass(slots=True)
class Isolation:
    """What is around a subject: its folder, the sockets and the side doors."""

    folder: SessionFolder
    files: SessionFiles
    gate: SocketGate
    doors: SideDoors
    deeds: Deeds
    streams: Sequence[PrintedStream]
    names: tuple[tuple[str, str], ...]

    @classmethod
    def begin(
        cls, request: Mapping[str, Any], subject: str, tell: Tell = nobody
    ) -> Self:
        """Isolate this process, in which ``subject`` is the folder that was copied.

        ``request`` has ``top``, the temporary folder, the addresses that ``net`` allows
        and whether all ``side_doors`` are put down. ``tell`` hears of what may end the
        process.
        """
        top, cwd = request["top"], os.getcwd()  # noqa: PTH109  # names, as they come
        _turn_home(top)
        if request.get("apart"):  # before there is another thread
            leave_network()
        doors = SideDoors(everything=request.get("side_doors") == "all")
        closed = bool(request.get("closed"))
        folder = SessionFolder(top, cwd, subject, closed=closed, reached=doors.reached)
        allowed = [(host, port) for host, port in request.get("net", ())]
        gate = SocketGate(doors, allowed, folder.inside)
        deeds = Deeds(doors, tell)
        hear(folder.table, gate.table, deeds.table)
        files = SessionFiles(folder)
        files.watch()
        watch_logging(doors)
        watch_warnings(doors)
        streams = watch_prints(doors)
        names = ((subject, SESSION), (cwd, f"{SESSION}.cwd"), (top, f"{SESSION}.top"))
        written = ((json.dumps(name)[1:-1], instead) for name, instead in names)
        return cls(folder, files, gate, doors, deeds, streams, tuple(written))

    def ready(self, own: Own) -> None:
        """Take the folder as it is now, after the import, for a session's start."""
        self.doors.own = own
        self.folder.ready()

    @contextmanager
    def session(self, harness: str | None) -> Generator[None, None, None]:
        """Have sessions played while the block runs; each ``enters`` when it begins.

        ``harness`` is the base URL of the harness' own server.
        """
        self.gate.harness = None if harness is None else _address(harness)
        try:
            yield
        finally:
            self._ends()

    def enters(self, recorder: Recorder) -> None:
        """Begin a session, if its recorder is another one than that of the last."""
        if self.doors.recorder is not recorder:
            self._ends()
            self.doors.recorder = recorder
            recorder.watch = self._looks

    def _ends(self) -> None:
        if self.doors.recorder is not None:
            self.doors.recorder.watch = None
        self.doors.recorder = None
        for each in self.streams:
            each.forget()
        self.files.restore()

    def _looks(self, kind: ObservationKind) -> None:
        """Put down what only shows when it is looked for, before these entries."""
        if kind not in LOOKED or self.doors.recorder is None:
            return
        if kind == "run_end":
            for stream in self.streams:
                stream.end_lines()
        kept = self.doors.recorder.kept_in
        for change in self.files.changes(ended=kind == "run_end", kept=kept):
            self.doors.put_down("file", self._in_order(change))

    def _in_order(self, change: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return what was added with its lines in order where calls were concurrent.

        Which of them comes first is luck.
        """
        added = change.get("added")
        if not isinstance(added, str) or not self._concurrent():
            return change
        return {**change, "added": "".join(sorted(added.splitlines(keepends=True)))}

    def _concurrent(self) -> bool:
        recorder = self.doors.recorder
        last = None if recorder is None else recorder.last("model_response")
        if last is None:
            return False
        message = cast("Mapping[str, Any]", to_json(last.data["message"]))
        return len(message.get("tool_calls", ())) > 1

    @property
    def told(self) -> dict[str, Any]:
        """What reached the world outside, for a reply; nothing of it is undone."""
        sockets = [f"used the socket {each}" for each in self.gate.used]
        reached = [*sockets, *(f"wrote {each}" for each in self.folder.outside)]
        reached += ["started a program"] * self.folder.programs
        return {"outside": reached} if reached else {}

    def masked(self, text: str) -> str:
        """Return JSON without the names of this process' temporary folder."""
        if self.names[-1][0] in text:
            for name, instead in self.names:
                text = text.replace(name, instead)
        return text


def _turn_home(top: str) -> None:
    """Have what is kept for a user, or for a moment, be in the temporary folder."""
    if site.ENABLE_USER_SITE:  # what is installed there is found by the user's home
        os.environ.setdefault("PYTHONUSERBASE", site.getuserbase())
    os.environ["HOME"] = f"{top}/home"
    moments = f"{top}/tmp"  # noqa: S108  # one of our own
    os.environ.update(dict.fromkeys(("TMPDIR", "TEMP", "TMP"), moments))
    tempfile.tempdir = None  # may have been looked up before


def _address(url: str) -> tuple[str, int]:
    host, _, port = url.partition("://")[2].partition("/")[0].rpartition(":")
    return host, int(port)
