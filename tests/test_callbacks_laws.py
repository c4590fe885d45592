"""Laws of the callbacks dialect: CB-COMPAT, each owner once, callbacks as a stream."""

import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.adapters.clients import client_v2_of, v1_callbacks
from compat.dialects.callbacks import (
    Client,
    SessionManager,
    SqliteSessionStore,
    callbacks_profile,
)
from refengine.postures import choosing
from refengine.testing.clock import run
from tests.callbacks_support import LISTENED, Noting, agent_of, manager_of, names, shown
from tests.loop_support import Gives

FEW = settings(max_examples=25, deadline=None, derandomize=True, database=None)

ANSWERS = st.text("ab ", max_size=6)
TOOLS = st.lists(
    st.sampled_from(["f", "g", "broken", "missing"]), min_size=1, max_size=3
)
SCRIPTS = st.lists(ANSWERS | TOOLS | st.just(ValueError("model")), max_size=4)
TURNS = st.lists(st.sampled_from(["hi", "more"]), min_size=1, max_size=3)
RAISING = st.sampled_from([(), ("on_agent_step",), ("on_tool_call_start",)])


def tools() -> list[Any]:
    return [Gives("f"), Gives("g", "two"), Gives("broken", RuntimeError("no"))]


class OldClient:
    """A client of the first version that notes what it is told; it may raise."""

    def __init__(self, raising) -> None:
        self.log: list[Any] = []
        self._raising = raising

    def handle_agent_step(self, step_index, messages) -> None:
        self._note("on_agent_step", step_index, tuple(messages))

    def handle_tool_call(self, call) -> None:
        self._note("on_tool_call_start", call)

    def _note(self, name: str, *data: object) -> None:
        self.log.append((name, data))
        if name in self._raising:
            raise ValueError(name)


async def ending(agent, texts) -> str:
    try:
        return repr(await agent.run("s", *texts))
    except Exception as error:  # noqa: BLE001  # it is part of the trace
        return repr(error)


def played_v1(script, texts, raising) -> Any:
    client, agent = OldClient(raising), agent_of(*script, tools=tools())
    manager = SessionManager(agent, profile="callbacks-v1")
    manager.set_callbacks(v1_callbacks(client))
    left = run(ending(agent, texts))
    return client.log, left, agent_requests(agent), stored(manager)


def played_v2(script, texts, raising) -> Any:
    client, agent = OldClient(raising), agent_of(*script, tools=tools())
    profile = choosing(callbacks_profile("callbacks-v2"), "failures", "aborts")
    manager = SessionManager(agent, profile=profile)
    client_v2_of(client).set_session_manager(manager)
    left = run(ending(agent, texts))
    return client.log, left, agent_requests(agent), stored(manager)


def agent_requests(agent) -> Any:
    return agent._model.requests  # the model that the test gave it


def stored(manager) -> Any:
    return run(manager.store.load("s"))


@FEW
@given(script=SCRIPTS, texts=TURNS, raising=RAISING)
def test_an_old_client_is_delivered_the_same_as_a_new_one(
    script, texts, raising
) -> None:
    """CB-COMPAT: under one failure posture, deliveries, requests and what is kept."""
    assert played_v1(script, texts, raising) == played_v2(script, texts, raising)


def test_another_failure_posture_tells_the_versions_apart() -> None:
    client = OldClient(("on_agent_step",))
    manager = manager_of("a")
    manager.set_client(client_v2_of(client))

    assert run(manager.agent.run("s", "hi")).status == "completed"
    with pytest.raises(ValueError, match="on_agent_step"):
        run(v1_manager(OldClient(("on_agent_step",))).agent.run("s", "hi"))


def v1_manager(client) -> SessionManager:
    manager = manager_of("a", profile="callbacks-v1")
    manager.set_callbacks(v1_callbacks(client))
    return manager


@FEW
@given(script=SCRIPTS, texts=TURNS, clients=st.integers(0, 3))
def test_each_owner_hears_each_fact_once_in_the_order_of_the_stream(
    script, texts, clients
) -> None:
    """Callbacks are the stream: what a client with all of them hears is its facts."""
    log: list[Any] = []
    manager = manager_of(*script, tools=tools())
    for number in range(clients):
        manager.set_client(Client(Noting(log, f"client{number}").callbacks))
    manager.set_callbacks(Noting(log, "listener", only=LISTENED).callbacks)

    facts = run(read(manager.agent, texts))

    for number in range(clients):
        heard = [(name, data) for who, name, data in log if who == f"client{number}"]
        assert heard == facts
    shared = [(name, data) for name, data in facts if name in LISTENED]
    assert [(name, data) for who, name, data in log if who == "listener"] == shared


async def read(agent, texts) -> Any:
    found: list[Any] = []
    try:
        async for fact in agent.stream("s", *texts):
            found.append((fact.name, shown(fact.data)))  # noqa: PERF401  # it may raise
    except Exception:  # noqa: BLE001, S110  # what was told before counts
        pass
    return found


@FEW
@given(script=SCRIPTS, raising=st.sampled_from([*LISTENED, "on_llm_text_delta"]))
def test_a_raising_client_changes_nothing_for_the_others(script, raising) -> None:
    """It is told to on_error once for each time that it raised."""
    logs: list[list[Any]] = [[], []]
    for log, guilty in zip(logs, ((), (raising,)), strict=True):
        manager = manager_of(*script, tools=tools())
        manager.set_client(
            Client(Noting([], raising=guilty, only=(raising,)).callbacks)
        )
        manager.set_client(Client(Noting(log).callbacks))
        with_warnings(manager)
    quiet, loud = (
        [(name, data) for _, name, data in log if "client" not in str(data)]
        for log in logs
    )

    assert quiet == loud
    told = [data for _, name, data in logs[1] if name == "on_error"]
    raised = names(logs[0]).count(raising) if raising != "on_error" else 0
    assert len(told) - names(logs[0]).count("on_error") == raised


def with_warnings(manager) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(ending(manager.agent, ["hi"]))


@settings(FEW, max_examples=8)
@given(script=SCRIPTS, texts=TURNS)
def test_both_stores_keep_the_same_sessions(script, texts, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("store") / "sessions.db"
    found: list[Any] = []
    for store in (None, SqliteSessionStore(path)):
        manager = manager_of(*script, store=store, tools=tools())
        run(ending(manager.agent, texts))
        run(ending(manager.agent, texts))
        found.append(stored(manager))

    assert found[0] == found[1]
