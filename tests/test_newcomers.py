"""Five small engines as a newcomer may write them, each wrong in its own way.

Each is what ``refengine init engine`` writes, with one piece of it replaced. What the
skeleton itself does not keep is not news: it is judged once, and left out.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from compat.verdicts.conformance import ClauseFailure, ClauseResult, SmokeResult
from tests.commands import read_stream, refengine
from tests.few_worlds import judging_in

pytestmark = pytest.mark.one_in(2)

DOOR = "door.py:Door"
HOOKS = """
        for each in self.handlers:
            if hook in each:
"""
WRAPS = """
        for each in reversed(self.handlers):
            if WRAP in each:
"""
GATHERED = """
        got = await asyncio.gather(*done, return_exceptions=True)
"""
FINISHED = """
        got = []

        async def finish(call):
            got.append(await call)

        await asyncio.gather(*map(finish, done))
"""
CAUGHT = """
            except Exception as error:
                blame(error, ToolError(call.name, call.id, error))
                raise
"""
TOLD_AS_TEXT = """
            except Exception as error:
                return ToolCallResult(f"Error: {error}")
"""


@dataclass(frozen=True)
class Broken:
    """One mistake: what to replace in which file, and the clause that names it."""

    name: str
    clause: str
    file: str
    edits: Mapping[str, str]


BROKEN = (
    Broken(
        "hooks run in reverse order",
        "ORD-001",
        "loop.py",
        {HOOKS: HOOKS.replace("self.handlers", "reversed(self.handlers)")},
    ),
    Broken(
        "the second call of a message goes around the wrappers",
        "WRAP-001",
        "loop.py",
        {
            WRAPS: "\n        first = self.history[-1].tool_calls[0]"
            + WRAPS.replace("in each:", "in each and call is first:")
        },
    ),
    Broken(
        "results are told as they finish",
        "CONC-004",
        "loop.py",
        {GATHERED: FINISHED},
    ),
    Broken(
        "the history of the last run is kept",
        "CONC-008",
        "door.py",
        {
            "        def start": "        kept = []\n\n        def start",
            "agent.run(messages,": "agent.run([*kept, *messages],",
            "                return doors.ended": (
                "                kept[:] = agent.history\n"
                "                return doors.ended"
            ),
        },
    ),
    Broken(
        "the error of a tool becomes a text",
        "ERR-007",
        "loop.py",
        {CAUGHT: TOLD_AS_TEXT},
    ),
)
FAMILIES = sorted({each.clause.partition("-")[0] for each in BROKEN})


@dataclass(frozen=True)
class Judged:
    """What a command said of an engine."""

    broken: Broken
    folder: Path
    code: int
    text: str
    door: tuple[bool, ...]
    results: Mapping[str, ClauseResult]

    @property
    def failing(self) -> set[str]:
        return {id_ for id_, each in self.results.items() if each.verdict == "fail"}

    @property
    def failure(self) -> ClauseFailure:
        found = self.results[self.broken.clause].failure
        assert found is not None, self.text
        return found


def judged(broken: Broken, folder: Path, *arguments: str) -> Judged:
    options = ("--jobs", "1", "--events", "events.jsonl")
    done = refengine(*arguments, *options, at=folder)
    events = read_stream((folder / "events.jsonl").read_text("utf-8"))
    return Judged(
        broken,
        folder,
        done.returncode,
        done.stdout + done.stderr,
        tuple(each.passed for each in events if isinstance(each, SmokeResult)),
        {each.clause: each for each in events if isinstance(each, ClauseResult)},
    )


def chosen(*families: str) -> list[str]:
    words = [word for each in families for word in ("-k", each)]
    return ["conform", DOOR, *words, "--examples", "0"]


@pytest.fixture(scope="module")
def few_worlds() -> Iterator[None]:
    """Judge in the cases of these families, each of which has its mistake's."""
    with judging_in(*FAMILIES):
        yield


@pytest.fixture(scope="module")
def skeleton(few_worlds, tmp_path_factory) -> Judged:
    """Write the skeleton and judge it as it is."""
    top = tmp_path_factory.mktemp("newcomer")
    done = refengine("init", "engine", "mine", "--for", "async", at=top)
    assert done.returncode == 0, done.stderr
    return judged(BROKEN[0], top / "mine", *chosen(*FAMILIES))


@pytest.fixture(scope="module", params=BROKEN, ids=lambda each: each.name)
def engine(request, skeleton, tmp_path_factory) -> Judged:
    """Break a copy of the skeleton and judge that, by the family of its mistake."""
    broken = request.param
    folder = tmp_path_factory.mktemp("broken")
    for name in ("loop.py", "door.py"):
        text = (skeleton.folder / name).read_text("utf-8")
        for old, new in broken.edits.items() if name == broken.file else ():
            assert text.count(old) == 1, f"{name} has no {old!r} any more"
            text = text.replace(old, new)
        (folder / name).write_text(text, "utf-8")
    return judged(broken, folder, *chosen(broken.clause.partition("-")[0]))


def test_the_engine_is_blamed_and_not_its_door(engine) -> None:
    assert engine.code == 1, engine.text
    assert engine.door
    assert all(engine.door)


def test_the_clause_that_names_the_mistake_fails_because_of_it(
    engine, skeleton
) -> None:
    assert engine.broken.clause in engine.failing - skeleton.failing
    assert engine.broken.clause in skeleton.results


def test_what_was_asked_expected_and_got_is_shown(engine) -> None:
    told = engine.text.partition(f"FAIL  {engine.broken.clause}  MUST")[2]
    told = re.split(r"^FAIL|^BLOCKED", told, maxsplit=1, flags=re.MULTILINE)[0]

    for name, value in (
        ("asked", engine.failure.asked),
        ("expected", json.dumps(engine.failure.expected)),
        ("got", json.dumps(engine.failure.got)),
    ):
        [line] = re.findall(rf"^  {name} +(.*(?:\n {{12}}.*)*)", told, re.MULTILINE)
        assert " ".join(value.split()) in " ".join(line.split())


def test_the_world_is_small(engine) -> None:
    world = json.loads(json.dumps(engine.failure.scenario))
    agent = world["agent"]
    extensions = [*agent.get("handlers", ()), *agent.get("middlewares", ())]

    assert len(extensions) <= 2
    assert len(agent.get("tools", ())) <= 2
    assert len(world.get("model_script", ())) <= 2
    assert len(world["runs"]) <= 2
    assert len(json.dumps(world)) <= 250


def test_nobody_is_shown_a_traceback(engine) -> None:
    assert "Traceback" not in engine.text


def test_the_printed_command_shows_the_same_failure_again(engine) -> None:
    printed = engine.failure.reproduce
    assert f"  again     {printed}\n" in engine.text

    name, *arguments = shlex.split(printed)
    again = judged(engine.broken, engine.folder, *arguments)

    assert name == "refengine"
    assert again.code == 1, again.text
    assert again.failure == engine.failure
