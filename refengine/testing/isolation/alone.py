"""One side played by itself, as a check plays it: in a copy, with its side doors.

    with apart(HERE / "old") as side:
        ...  # import the subject from side.folder
        print(side.play(world, subject, profile).to_jsonl())

For a script with a process of its own: what is heard of cannot be unheard.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from refengine.profile import SEED_001, Profile
from refengine.testing.isolation.isolated import Isolation
from refengine.testing.loading import Own
from refengine.testing.owned import folder_prefix
from refengine.testing.scenario import Scenario
from refengine.testing.subjects import Subject, play_alone
from refengine.testing.trace import Trace
from refengine.testing.world import World


@dataclass(frozen=True, slots=True)
class ApartSide:
    """A side's folder, and this process isolated in it."""

    folder: Path
    isolation: Isolation

    def play(
        self, world: Scenario, subject: Subject, profile: Profile = SEED_001
    ) -> Trace:
        """Play a world with a subject of the folder; raises as ``play_alone``."""
        self.isolation.ready(Own((str(self.folder),)))

        def entered(world: World) -> object:
            self.isolation.enters(world.recorder)
            return subject(world)

        with self.isolation.session(None):
            played = play_alone(world, entered, profile)
        return Trace.from_jsonl(self.isolation.masked(played.trace.to_jsonl()))


@contextmanager
def apart(source: Path) -> Generator[ApartSide, None, None]:
    """Isolate this process in a copy of a folder, which is removed afterwards."""
    sys.dont_write_bytecode = True
    temporary = Path(os.path.realpath(tempfile.mkdtemp(prefix=folder_prefix())))
    top = temporary / "session"
    folder = top / "folder"
    try:
        shutil.copytree(source, folder)
        for each in ("home", "tmp"):
            (top / each).mkdir()
        os.chdir(folder)
        yield ApartSide(folder, Isolation.begin({"top": str(top)}, str(folder)))
    finally:
        os.chdir(source)  # whoever called may stand in a folder that is gone
        shutil.rmtree(temporary, ignore_errors=True)
