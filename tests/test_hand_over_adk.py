"""Sessions that OLD kept with services of ADK, and that NEW goes on with.

They skip where the extra ``adk`` is not installed; CI runs them where it is.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from compat.migration.check import check_all
from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.report.divergence_sentence import sentence
from refengine.testing.clock import run
from refengine.testing.scenario_files import read_scenario

INSTALLED = find_spec("google") is not None and find_spec("google.adk") is not None
pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs the extra 'adk'")

DESK = '''
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool, ToolContext


def desk(world, service, *, app="desk", note=None, asks=True):
    """Book after a confirmation, and remember what was booked."""
    adk = world.as_adk()

    def book(at: str, tool_context: ToolContext) -> dict:
        """Book a table."""
        before = tool_context.state.get("booked", [])
        tool_context.state["booked"] = [*before, at]
        if note is not None:
            tool_context.state["note"] = note
        world.effect("booked", {"at": at, "before": len(before)})
        return {"status": "booked"}

    tools = [*adk.tools, FunctionTool(book, require_confirmation=asks)]
    agent = LlmAgent(name="desk", model=adk.model, tools=tools)
    return Runner(app_name=app, agent=agent, session_service=service)


def old(world):
    return desk(world, SqliteSessionService("sessions.db"))


def right(world):
    service = SqliteSessionService("sessions.db")
    return desk(world, service=service)


def other_file(world):
    return desk(world, SqliteSessionService("other.db"))


def other_app(world):
    return desk(world, SqliteSessionService("sessions.db"), app="desk2")


class Strict(SqliteSessionService):
    """Refuse what it did not write itself."""

    def __init__(self, file):
        super().__init__(file)
        self.made = set()

    async def create_session(self, **given):
        self.made.add(given["session_id"])
        return await super().create_session(**given)

    async def get_session(self, **given):
        if given["session_id"] not in self.made:
            raise ValueError("these sessions are of version 1: migrate them first")
        return await super().get_session(**given)


def strict(world):
    return desk(world, Strict("sessions.db"))


def memory(world):
    return desk(world, InMemorySessionService())


def memory_right(world):
    return desk(world, service=InMemorySessionService())


def tuples(world):
    return desk(world, InMemorySessionService(), note=("a", "b"))


def closed(world):
    return desk(world, InMemorySessionService(), note=object())
'''
BOOK = 'assistant:[c{0}:book({{"at": "nine"}})]'
TURNS = [{"input": ["user:hi"]}, {"input": ["user:and"], "continues": True}]


def world(*script: str, **more: Any) -> MigrationWorld:
    data = {"model_script": [*script], "agent": {}, "runs": [{"input": ["user:hi"]}]}
    return MigrationWorld(read_scenario({**data, **more}, "own"), "own", fixed=True)


WORLDS = (
    world(BOOK.format(1), "assistant:done"),
    world(BOOK.format(1), "assistant:no", runs=[{**TURNS[0], "denies": ["c1"]}]),
    world(BOOK.format(1), "assistant:a", BOOK.format(2), "assistant:b", runs=TURNS),
    world(
        "assistant:[c1:fail({})]",
        agent={"tools": [{"name": "fail", "error": "boom"}]},
    ),
)
"""One that asks, one that is denied, two turns that ask, one that fails in a tool."""


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("desk") / "desk.py"
    made.write_text(DESK)
    return made


def judged(file: Path, old: str, new: str, *, hand_over: bool = True) -> Any:
    refs = [parse_ref(f"{file}:{name}") for name in (old, new)]
    news = {"new": (refs[1], Terms("same-effects"))}
    corpus, how = Corpus(WORLDS, 0), CheckOptions(hand_over=hand_over)
    return check_all(refs[0], news, corpus, how, explain=True)["new"].verdict


@pytest.mark.parametrize(
    ("old", "new", "store"),
    [
        ("old", "right", "SqliteSessionService"),
        ("memory", "memory_right", "InMemorySessionService"),
    ],
)
def test_port_that_is_right_goes_on_with_every_session(file, old, new, store) -> None:
    verdict = judged(file, old, new)

    assert (verdict.holds, verdict.fault) == ("identical", None)
    assert verdict.hand_over.stores == (store,)
    assert verdict.hand_over.played == {
        "interrupted": 2,
        "between turns": 1,
        "failed": 1,
    }
    assert verdict.outside == {}


@pytest.mark.parametrize("new", ["other_file", "other_app"])
def test_sessions_that_new_does_not_find_are_refused(file, new) -> None:
    verdict = judged(file, "old", new)

    assert (verdict.divergence.code, verdict.hand_over.diverging) == (
        "HAND_OVER_REFUSED",
        4,
    )
    assert "SessionNotFoundError" in sentence(verdict.divergence, verdict.world)
    assert judged(file, "old", new, hand_over=False).holds == "identical"


def test_sessions_that_new_refuses_to_read_are_told_in_its_own_words(file) -> None:
    verdict = judged(file, "old", "strict")

    assert (verdict.divergence.code, verdict.hand_over.diverging) == (
        "HAND_OVER_REFUSED",
        4,
    )
    assert (
        "new",
        "ValueError: these sessions are of version 1: migrate them first",
    ) in verdict.divergence.causes


def test_type_that_json_does_not_have_is_told_of_the_state_of_a_session(file) -> None:
    verdict = judged(file, "tuples", "tuples")

    assert verdict.holds == "identical"
    assert verdict.hand_over.changed == {"note": ("tuple", "list")}


def test_session_that_has_no_form_as_json_is_not_handed_over(file) -> None:
    verdict = judged(file, "closed", "closed")

    assert verdict.fault is None
    (why,) = verdict.outside
    assert why.startswith("its session service cannot be read")


def test_what_is_not_set_is_not_written_so_that_another_release_reads_it() -> None:
    from google.adk.events import Event
    from google.adk.sessions import InMemorySessionService
    from google.genai import types

    from refengine.testing.adk.kept import held_by, put_back

    place = {"app_name": "desk", "user_id": "user", "session_id": "s"}

    async def handed() -> tuple[str, Any]:
        first, second = InMemorySessionService(), InMemorySessionService()
        made = await first.create_session(**place, state={"left": None})
        said = types.Content(role="user", parts=[types.Part(text="hi")])
        await first.append_event(made, Event(author="user", content=said))
        (text,) = await held_by(first, [place])
        await put_back(second, [text])
        return str(text), await second.get_session(**place)

    text, found = run(handed())

    assert text.count("null") == 1  # of the state
    assert found.state == {"left": None}
    assert [each.content.parts[0].text for each in found.events] == ["hi"]
