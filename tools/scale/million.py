"""A large corpus from chats to a report, by the commands that a user has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from refengine.testing.machine import facts
from tools.scale.commands import RanCommands, Words, ran
from tools.scale.figures import ROOT, CorpusStep, LargeCorpus
from tools.scale.sessions import write_chats

SAMPLE: Final = 500
_PORT: Final = ROOT / "examples" / "first_run"
_FEW: Final = ("--examples", "1", "--search-plays", "0", "--sharpness-plays", "0")


def large_corpus(
    sessions: int, folder: Path, tell: Callable[[str], None]
) -> LargeCorpus:
    """Measure each step with so many sessions; raises StepFailedError.

    Chats are in two files, which are imported side by side, as on two machines.
    """
    halves = range(sessions // 2), range(sessions // 2, sessions)
    files = [folder / f"chats-{at}.jsonl" for at in (1, 2)]
    for file, numbers in zip(files, halves, strict=True):
        write_chats(file, numbers)
    size = sum(each.stat().st_size for each in files)
    tell(f"{sessions} chats, {size / 1e6:.0f} MB")
    imports = [
        ("corpus", "import", file.name, "--out", f"{at}.gz")
        for at, file in enumerate(files, 1)
    ]
    check = ("migrate", "check", _PORT / "old.py", _PORT / "right.py")
    steps: tuple[tuple[Words, ...], ...] = (
        tuple(imports),
        (("corpus", "dedupe", "1.gz", "2.gz", "--out", "once.gz"),),
        (("corpus", "info", "once.gz"),),
        (("corpus", "sample", "once.gz", "--size", SAMPLE, "--out", "sample.gz"),),
        ((*check, "--worlds", "sample.gz", *_FEW),),
    )
    found: list[CorpusStep] = []
    for commands in steps:
        found.append(_step(commands, ran(folder, *commands)))
        tell(f"{found[-1]}")
    return LargeCorpus(
        machine=facts(), sessions=sessions, bytes=size, steps=tuple(found)
    )


def _step(commands: tuple[Words, ...], took: RanCommands) -> CorpusStep:
    told = [_told(each) for each in took.said]
    return CorpusStep(
        command="refengine " + " ".join(_shown(each) for each in commands[0]),
        seconds=took.seconds,
        megabytes=took.megabytes,
        said=" and ".join(told),
    )


def _shown(word: object) -> str:
    """Return a word of a command as a reader of the repository would write it."""
    return str(word.relative_to(ROOT)) if isinstance(word, Path) else str(word)


def _told(said: str) -> str:
    """Return the line that says what came of it: a promise, else the first one."""
    lines = said.splitlines()
    promises = [each.strip() for each in lines if "at most" in each]
    return (promises or [each.strip() for each in lines])[0]
