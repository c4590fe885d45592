"""A large corpus from chats to a report, by the commands that a user has.

Chats are as a service records them, drawn from their number: the same numbers give the
same chats, and one in ten is a chat that was there before. Each command is a process of
its own, of which is told how long it takes, and how much it holds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

from refengine.errors import RefengineError
from refengine.testing.machine import facts
from tools.scale.page import ROOT, CorpusStep, LargeCorpus

Words: TypeAlias = Sequence[object]


class StepFailedError(RefengineError):
    """A command that did not end as it should."""

    def __init__(self, words: Words, code: int, said: str) -> None:
        line = " ".join(map(str, words))
        super().__init__(f"refengine {line} ended with code {code}: {said.strip()}")


@dataclass(frozen=True, slots=True)
class RanCommands:
    """What commands that ran side by side took.

    ``megabytes`` are the most that any one process of theirs held at any time. Linux
    counts what this process held when it started them, too, so they are no less.
    """

    seconds: float
    megabytes: float
    said: tuple[str, ...]


def ran(folder: Path, *commands: Words) -> RanCommands:
    """Run commands side by side in a folder; raises StepFailedError."""
    began = time.perf_counter()
    children = [
        subprocess.Popen(  # noqa: S603  # our own command
            [sys.executable, "-m", "refengine", *map(str, words)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        for words in commands
    ]
    said: list[str] = []
    most = 0
    for words, child in zip(commands, children, strict=True):
        if child.stdout is None:
            raise AssertionError(words)  # it is a pipe
        with child.stdout as out:
            said.append(out.read())
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise StepFailedError(words, child.returncode, said[-1])
        most = max(most, used.ru_maxrss)  # its own, or that of a child it waited for
    return RanCommands(time.perf_counter() - began, most / 1024, tuple(said))


_Message: TypeAlias = dict[str, Any]

AGAIN: Final = 10
"""Of so many chats one is an earlier one."""
TURNS: Final = (1, 1, 1, 2, 2, 3, 4)
CALLS: Final = (0, 0, 1, 1, 2)


def chat(number: int) -> dict[str, Any]:
    """Return the chat of a number: an instruction, turns, and calls of a tool."""
    dice = Random(f"chat {number}")  # noqa: S311  # a world, no secret
    if number % AGAIN == AGAIN - 1:
        return chat(dice.randrange(number))
    messages: list[_Message] = [{"role": "system", "content": "You help with orders."}]
    for turn in range(dice.choice(TURNS)):
        order = dice.randrange(10**6)
        messages.append({"role": "user", "content": f"Where is order {order}?"})
        for at in range(dice.choice(CALLS)):
            messages += _call(f"call_{turn}_{at}", order, dice.randrange(5))
        messages.append({"role": "assistant", "content": f"Order {order} is packed."})
    return {"messages": messages}


def _call(name: str, order: int, state: int) -> Iterator[_Message]:
    wanted = {"name": "find_order", "arguments": json.dumps({"order": order})}
    calls = [{"id": name, "type": "function", "function": wanted}]
    yield {"role": "assistant", "content": None, "tool_calls": calls}
    yield {"role": "tool", "tool_call_id": name, "content": f"state {state}"}


def write_chats(path: Path, numbers: Iterable[int]) -> None:
    """Write the chats of these numbers as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(chat(each))}\n" for each in numbers)


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
