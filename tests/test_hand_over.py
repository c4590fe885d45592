"""Runs that OLD kept in LangGraph's checkpointers, and that NEW goes on with."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from compat.cli.main import main
from compat.migration.check import check_all
from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.report.divergence_sentence import sentence
from compat.report.migration import lines
from refengine.testing.hand_over import LeftSession, SessionHalf
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subjects import play_alone
from refengine.testing.trace import Trace
from refengine.testing.world import World
from tests.few_worlds import checking_in_few

DESK = '''
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt


class Desk(MessagesState):
    booked: bool
    asked: Any


def result(call, text):
    return {"messages": [ToolMessage(text, tool_call_id=call["id"])]}


def desk(world, *, ask="ask", book=None, asking=None, saver=None):
    """Book what the model calls for, and ask a person whether that is all right."""
    lc = world.as_langchain()
    tools = {each.name: each for each in lc.tools}

    def think(state):
        return {"messages": [lc.model.bind_tools(lc.tools).invoke(state["messages"])]}

    def run(call):
        return tools[call["name"]].invoke({**call, "type": "tool_call"}).content

    def books(state):
        world.effect("booked", run(state["messages"][-1].tool_calls[0]))
        return {"asked": {"who": ("a", "person")}}

    def asks(state):
        call = state["messages"][-1].tool_calls[0]
        return result(call, "kept" if interrupt({"tool": call["name"]}) else "undone")

    def calls(state):
        return "book" if state["messages"][-1].tool_calls else END

    graph = StateGraph(Desk)
    graph.add_node("think", think)
    graph.add_node("book", book(books) if book else books)
    graph.add_node(ask, asking(asks, run) if asking else asks)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", calls, ["book", END])
    graph.add_edge("book", ask)
    graph.add_edge(ask, "think")
    return graph.compile(checkpointer=saver or InMemorySaver())


def old(world):
    return desk(world)


def right(world):
    return desk(world, book=lambda books: lambda state: books(state))


def renamed(world):
    return desk(world, ask="confirm")


def guarded(world):
    """Book only where that was not done, by a key that no run of OLD has."""

    def book(books):
        return lambda state: {**books(state), "booked": True}

    def asking(asks, run):
        def guarded(state):
            if not state.get("booked"):
                run(state["messages"][-1].tool_calls[0])
            return asks(state)

        return guarded

    return desk(world, book=book, asking=asking)


class Strict(JsonPlusSerializer):
    """Refuse what it did not write itself."""

    def dumps_typed(self, obj):
        kind, data = super().dumps_typed(obj)
        return f"2 {kind}", data

    def loads_typed(self, data):
        version, _, kind = data[0].partition(" ")
        if version != "2":
            raise ValueError("these runs are of version 1: run migrate_runs.py first")
        return super().loads_typed((kind, data[1]))


def strict(world):
    return desk(world, saver=InMemorySaver(serde=Strict()))


def closing(world, saver=None):
    """Forget who was asked as soon as there is an answer."""

    def asking(asks, run):
        return lambda state: {**asks(state), "asked": None}

    return desk(world, asking=asking, saver=saver)


class Others(JsonPlusSerializer):
    """Read somebody else than who was asked."""

    def loads_typed(self, data):
        value = super().loads_typed(data)
        return {"who": "b"} if isinstance(value, dict) and "who" in value else value


def others(world):
    return closing(world, InMemorySaver(serde=Others()))


class Tuples(JsonPlusSerializer):
    """Read who was asked as a tuple, as it was, and not as a list."""

    def loads_typed(self, data):
        value = super().loads_typed(data)
        is_who = isinstance(value, dict) and "who" in value
        return {"who": tuple(value["who"])} if is_who else value


def tuples(world):
    return desk(world, saver=InMemorySaver(serde=Tuples()))


class Unread(JsonPlusSerializer):
    """Write what it cannot read."""

    def loads_typed(self, data):
        value = super().loads_typed(data)
        if isinstance(value, dict) and "who" in value:
            raise ValueError("unreadable")
        return value


def unread(world):
    return desk(world, saver=InMemorySaver(serde=Unread()))


def remembering(world):
    """Remember in a store what was booked, and look there before a person is asked."""
    store = InMemoryStore()

    def book(books):
        def booked(state):
            store.put(("booked",), "c", {"who": "a"})
            return books(state)

        return booked

    def asking(asks, run):
        def looking(state):
            known = store.get(("booked",), "c")
            world.effect("known", None if known is None else known.value)
            return asks(state)

        return looking

    graph = desk(world, book=book, asking=asking)
    graph.store = store
    return graph


def forgetful(world):
    graph = desk(world)
    graph.checkpointer = None
    return graph
'''
CALL = ['assistant:[c1:book({"at": "nine"})]', "assistant:done"]
SEED = 0


def world(*script: str, **more: Any) -> MigrationWorld:
    data = {
        "agent": {
            "tools": [{"name": "book", "result": "booked", **more.pop("does", {})}]
        },
        "model_script": [*script],
        "runs": [{"input": ["user:hi"]}],
        "way": "sync",
        **more,
    }
    return MigrationWorld(read_scenario(data, "a world"), "own", fixed=True)


TURNS = [{"input": ["user:hi"]}, {"input": ["user:and"], "continues": True}]
WORLDS = (
    world(*CALL),
    world(*CALL, runs=[{"input": ["user:hi"], "denies": ["c1"]}]),
    world("assistant:a", "assistant:b", runs=TURNS),
    world(*CALL, does={"error": "boom"}),
)
"""One that asks, one that is denied, one with two turns, one that fails in a tool."""


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("desk") / "desk.py"
    made.write_text(DESK)
    return made


FEW = ("--examples", "1", "--sharpness-plays", "0", "--search-plays", "0")


def judged(file: Path, old: str, new: str, require: str = "same-effects") -> Any:
    refs = [parse_ref(f"{file}:{name}") for name in (old, new)]
    how = CheckOptions(hand_over=True)
    corpus = Corpus(WORLDS, SEED, slow=True)
    news = {"new": (refs[1], Terms(require))}
    return check_all(refs[0], news, corpus, how, explain=True)["new"].verdict


def test_port_that_is_right_goes_on_with_every_run_that_old_kept(file) -> None:
    verdict = judged(file, "old", "right")

    assert (verdict.holds, verdict.fault) == ("identical", None)
    assert verdict.hand_over.played == {
        "interrupted": 2,
        "between turns": 1,
        "failed": 1,
    }
    assert verdict.hand_over.stores == ("InMemorySaver",)
    told = " ".join(map(str, lines(verdict)))
    assert "4 runs that OLD kept were resumed by NEW" in told


def test_node_with_another_name_loses_what_waits_in_it(file) -> None:
    verdict = judged(file, "old", "renamed")

    assert (verdict.divergence.code, verdict.world.hand_over) == (
        "HAND_OVER_LOST",
        "interrupted",
    )
    assert "NEW loses the run that OLD kept" in sentence(
        verdict.divergence, verdict.world
    )
    ((side, cause),) = verdict.divergence.causes
    assert (side, "nothing waits there" in cause) == ("new", True)


def test_key_that_no_kept_run_has_makes_a_tool_run_twice(file) -> None:
    verdict = judged(file, "old", "guarded")

    assert verdict.divergence.code == "HAND_OVER_TWICE"
    assert verdict.divergence.difference.new["call_id"] == "c1"
    assert sentence(verdict.divergence, verdict.world) == (
        "NEW runs `lookup` a second time in a run that OLD kept after it ran."
    )


def test_run_that_new_refuses_is_told_as_that_with_its_own_words(file) -> None:
    verdict = judged(file, "old", "strict")

    assert verdict.divergence.code == "HAND_OVER_REFUSED"
    assert (
        "new",
        "ValueError: these runs are of version 1: run migrate_runs.py first",
    ) in (verdict.divergence.causes)
    assert verdict.hand_over.diverging == 4


def test_run_that_old_itself_refuses_is_no_divergence(file) -> None:
    verdict = judged(file, "unread", "unread")

    assert (verdict.holds, verdict.hand_over.diverging) == ("identical", 0)
    assert "interrupted" not in verdict.hand_over.played
    assert verdict.outside == {"its checkpointer cannot be read: unreadable": 2}


def test_value_of_another_type_is_told_though_nothing_else_differs(file) -> None:
    verdict = judged(file, "old", "tuples", "same-up-to-volatile")

    assert (verdict.holds, verdict.divergence.code) == (
        "same-effects",
        "HAND_OVER_TYPE",
    )
    assert sentence(verdict.divergence, verdict.world) == (
        'What OLD kept comes back as "tuple" in NEW, and as "list" in OLD.'
    )


def test_value_that_only_the_kept_run_had_is_told_where_it_is_another(file) -> None:
    verdict = judged(file, "closing", "others", "same-up-to-volatile")

    assert (verdict.holds, verdict.divergence.code) == (
        "same-effects",
        "HAND_OVER_CHANGED",
    )
    assert verdict.divergence.difference.path.endswith(".values.asked")


def test_type_that_old_does_not_get_back_is_told_though_the_sides_agree(file) -> None:
    verdict = judged(file, "old", "right")

    assert verdict.hand_over.changed == {"asked.who": ("tuple", "list")}
    told = " ".join(map(str, lines(verdict)))
    assert "asked.who is a tuple in the run, and comes back to OLD as a list" in told


def test_items_of_a_store_in_memory_go_along(file, monkeypatch) -> None:
    monkeypatch.syspath_prepend(file.parent)
    subject = import_module("desk").remembering
    scenario = WORLDS[0].scenario.model_copy(update={"hand_over": "interrupted"})

    def played(half: SessionHalf) -> Trace:
        def graph(world: World) -> object:
            world.half = half
            return subject(world)

        return play_alone(scenario, graph).trace

    first = SessionHalf()
    played(first)
    assert first.left is not None
    trace = played(SessionHalf(LeftSession(**first.left.json)))

    seen = [e.data["data"] for e in trace.of("effect") if e.data["name"] == "known"]
    assert seen == [{"who": "a"}]


def test_sides_that_keep_nothing_have_nothing_to_hand_over(file) -> None:
    neither = judged(file, "forgetful", "forgetful")
    one = judged(file, "old", "forgetful")

    assert neither.hand_over.absent == "neither side keeps a run"
    assert one.hand_over.absent == "NEW keeps no run, and OLD does"
    told = " ".join(map(str, lines(neither)))
    assert "hand-over does not concern this subject: neither side keeps a run" in told


def test_same_pairs_hold_where_no_run_is_handed_over(file) -> None:
    refs = [
        parse_ref(f"{file}:{name}") for name in ("old", "renamed", "guarded", "strict")
    ]
    news = {str(each): (each, Terms()) for each in refs[1:]}
    found = check_all(
        refs[0], news, Corpus(WORLDS, SEED, slow=True), CheckOptions(), explain=False
    )

    assert {each.verdict.sufficient for each in found.values()} == {True}
    assert {each.verdict.hand_over for each in found.values()} == {None}


OWN = """
from refengine import interrupt


class Gate:
    name = "gate"

    def __init__(self, world):
        self.world = world

    async def wrap_invokable_tool_call(self, ctx, input, next):
        if not interrupt({"tool": input.name}):
            raise PermissionError(input.name)
        return await next(ctx, input)


def old(world):
    return [Gate(world)]


class Approval(Gate):
    name = "approval"


def renamed(world):
    return [Approval(world)]


def right(world):
    class Same(Gate):
        async def wrap_invokable_tool_call(self, ctx, input, next):
            yes = interrupt({"tool": input.name})
            if yes:
                return await next(ctx, input)
            raise PermissionError(input.name)

    return [Same(world)]
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("own") / "own.py"
    made.write_text(OWN)
    return made


def test_run_of_our_own_store_goes_on_in_a_port_that_is_right(own) -> None:
    verdict = judged(own, "old", "right")

    assert (verdict.holds, verdict.fault) == ("identical", None)
    assert verdict.hand_over.played == {"interrupted": 2}
    assert verdict.hand_over.stores == ("refengine.state",)


def test_handler_with_another_name_is_refused_the_run_that_it_asked_in(own) -> None:
    verdict = judged(own, "old", "renamed")

    assert verdict.divergence.code == "HAND_OVER_REFUSED"
    assert sentence(verdict.divergence, verdict.world) == (
        "NEW refuses the run that OLD kept, with `ChangedAgentError`; OLD goes on with"
        " it."
    )


FILE_SAVER = '''
import sqlite3

from langgraph.checkpoint.base import WRITES_IDX_MAP as NUMBERS
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from desk import desk

TABLES = """
create table if not exists steps(thread, id, before, kind, step, kind_of_about, about);
create table if not exists writes(id, task, at, channel, kind, value);
"""


class FileSaver(BaseCheckpointSaver):
    """Keeps the steps of threads in a file of SQLite, as SqliteSaver does."""

    def __init__(self, file, mode="wal"):
        super().__init__()
        self.conn = sqlite3.connect(file, check_same_thread=False)
        self.conn.execute(f"pragma journal_mode={mode}")
        self.conn.executescript(TABLES)
        self.me = self  # objects that hold each other stay until they are collected

    def put(self, config, checkpoint, metadata, new_versions):
        at = config["configurable"]
        row = [at["thread_id"], checkpoint["id"], at.get("checkpoint_id")]
        row += [*self.serde.dumps_typed(checkpoint), *self.serde.dumps_typed(metadata)]
        self.conn.execute("insert into steps values (?,?,?,?,?,?,?)", row)
        self.conn.commit()
        return self.place(at["thread_id"], checkpoint["id"])

    def put_writes(self, config, writes, task_id, task_path=""):
        id_ = config["configurable"]["checkpoint_id"]
        for at, (channel, value) in enumerate(writes):
            number = NUMBERS.get(channel, at)
            row = [id_, task_id, number, channel, *self.serde.dumps_typed(value)]
            self.conn.execute("insert into writes values (?,?,?,?,?,?)", row)
        self.conn.commit()

    def place(self, thread, id_):
        given = {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": id_}
        return {"configurable": given}

    def get_tuple(self, config):
        at = config["configurable"]
        asked = "select * from steps where thread = ? and (? is null or id = ?)"
        given = [at["thread_id"], *[at.get("checkpoint_id")] * 2]
        rows = self.conn.execute(f"{asked} order by id desc limit 1", given).fetchall()
        for thread, id_, before, *two, kind, about in rows:
            asked = "select task, channel, kind, value from writes where id = ?"
            found = self.conn.execute(f"{asked} order by task, at", [id_]).fetchall()
            return CheckpointTuple(
                self.place(thread, id_),
                self.serde.loads_typed(two),
                self.serde.loads_typed((kind, about)),
                before and self.place(thread, before),
                [(t, c, self.serde.loads_typed(each)) for t, c, *each in found],
            )


def old(world):
    return desk(world, saver=FileSaver("runs.db"))


def renamed(world):
    return desk(world, ask="confirm", saver=FileSaver("runs.db"))


def at_once(world):
    return desk(world, saver=FileSaver("runs.db", "delete"))


def elsewhere(world):
    return desk(world, saver=FileSaver("others.db"))
'''


@pytest.fixture(scope="module")
def files(file) -> Path:
    made = file.with_name("files.py")
    made.write_text(FILE_SAVER)
    return made


@pytest.mark.parametrize("side", ["old", "at_once"])
def test_file_of_sqlite_goes_along_and_is_no_effect_of_a_side(files, side) -> None:
    verdict = judged(files, side, side)

    assert (verdict.holds, verdict.fault) == ("identical", None)
    assert sum(verdict.hand_over.played.values()) == 4
    assert verdict.hand_over.stores == ("FileSaver",)


def test_run_in_a_file_is_lost_by_another_name_of_its_node_or_of_the_file(
    files,
) -> None:
    node, name = (judged(files, "old", new) for new in ("renamed", "elsewhere"))

    assert node.divergence.code == "HAND_OVER_LOST"
    assert (name.sufficient, name.hand_over.diverging) == (False, 4)


@pytest.mark.parametrize(
    ("options", "loses"),
    [((), False), (("--hand-over",), True)],
    ids=["a rewrite", "runs wait on the day of a rewrite"],
)
def test_a_rewrite_is_asked_for_kept_runs_only_on_request(
    file, options, loses, monkeypatch, capfd
) -> None:
    monkeypatch.chdir(file.parent)
    sides = (f"{file.name}:old", f"{file.name}:renamed")
    with checking_in_few(), pytest.raises(SystemExit) as raised:
        main(["migrate", "check", *sides, *FEW, *options])
    told = capfd.readouterr().out

    assert (raised.value.code, "HAND_OVER_LOST" in told) == (int(loses), loses)
    assert (f"{' '.join(options)} --no-hand-over" in told) == loses
    assert "--reproducer" not in told
