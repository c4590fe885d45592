"""Sessions, owners and storage of the callbacks dialect."""

import asyncio
import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from compat.dialects.callbacks import (
    CALLBACK_TYPES,
    AgentCallbacks,
    CallbackAgent,
    CallbackType,
    Client,
    MemorySessionStore,
    SessionManager,
    SessionState,
    SimpleClient,
    SqliteSessionStore,
    callbacks_profile,
)
from compat.dialects.callbacks.errors import (
    CallbackTypeError,
    CallbackValueError,
    CallbackWarning,
    ClientNotConnectedError,
    EqualTypesError,
    ListenerTypesError,
    NoClientsError,
    SecondManagerError,
    SessionBusyError,
    SessionIdError,
    StaleStateError,
    StateValueError,
)
from refengine.errors import ToolError
from refengine.messages import History, Message
from refengine.postures import choosing
from refengine.state.store_errors import ForeignStoreError
from refengine.stream import StreamReader
from refengine.testing.clock import run
from refengine.tools import ToolInfo
from tests.callbacks_support import (
    LISTENED,
    Answers,
    Noting,
    agent_of,
    manager_of,
    names,
)
from tests.loop_support import Gives
from tests.support import each

V2 = callbacks_profile("callbacks-v2")


def connected(*script: object, **options: Any) -> tuple[SessionManager, list[Any]]:
    """Return a manager with one client of every callback, and what it is told."""
    log: list[Any] = []
    manager = manager_of(*script, **options)
    manager.set_client(Client(Noting(log).callbacks))
    return manager, log


# One session


def test_a_session_is_loaded_told_stored_and_told_again() -> None:
    manager, log = connected(["f"], "all done")

    result = run(manager.agent.run("s", "hi"))

    assert names(log) == [
        "load_agent_storage",
        "on_session_start",
        "on_agent_step",
        "on_tool_call_start",
        "on_tool_execution_end",
        "on_agent_step",
        "on_llm_text_delta",
        "on_llm_text_delta",
        "on_llm_text_done",
        "on_state_storage",
        "on_session_end",
    ]
    assert [x[0] for _, name, x in log if name == "on_agent_step"] == [1, 2]
    assert ("client", "on_llm_text_done", ("all done",)) in log
    assert ("client", "on_tool_execution_end", ("f", "c0", "ok", None)) in log
    assert log[-1] == ("client", "on_session_end", ("s", "completed"))
    assert result.answer == Message("assistant", "all done")


def test_a_session_goes_on_where_it_was_stored() -> None:
    manager, _ = connected("one", "two")

    run(manager.agent.run("s", "first"))
    result = run(manager.agent.run("s", "second"))

    said = [each.content for each in result.state.messages]
    assert said == ["first", "one", "second", "two"]


def test_a_failing_tool_is_told_and_the_failed_run_is_not_kept() -> None:
    manager, log = connected("fine", ["f"], tools=[Gives("f", RuntimeError("no"))])

    with pytest.raises(ToolError):
        run(manager.agent.run("s", "one", "two"))

    assert names(log)[-3:] == ["on_tool_execution_end", "on_error", "on_session_end"]
    assert log[-3][2][:3] == ("f", "c0", None)
    assert log[-2][2][1] == "agent"
    assert log[-1][2] == ("s", "error")
    kept = run(manager.load_session("s"))
    assert kept is not None
    assert [each.content for each in kept.messages] == ["one", "fine"]


def test_a_cancelled_session_is_told_to_have_ended() -> None:
    manager, log = connected(["f"], tools=[Gives("f", seconds=60)])

    async def left() -> None:
        async with asyncio.timeout(1):
            await manager.agent.run("s", "hi")

    with pytest.raises(TimeoutError):
        run(left())
    assert log[-1] == ("client", "on_session_end", ("s", "cancelled"))


def test_a_cancellation_in_a_callback_comes_out() -> None:
    def cancels(*_: object) -> None:
        raise asyncio.CancelledError

    manager = manager_of("a")
    manager.set_client(Client(AgentCallbacks(on_session_start=cancels)))

    with pytest.raises(asyncio.CancelledError):
        run(manager.agent.run("s", "hi"))


def test_callbacks_may_be_async_and_are_awaited_in_order() -> None:
    log: list[str] = []

    async def slow(_: str) -> None:
        await asyncio.sleep(5)
        log.append("slow")

    manager = manager_of("a")
    manager.set_client(Client(AgentCallbacks(on_llm_text_done=slow)))
    manager.set_client(
        Client(AgentCallbacks(on_llm_text_done=lambda _: log.append("quick")))
    )
    run(manager.agent.run("s", "hi"))

    assert log == ["slow", "quick"]


def test_one_session_does_not_run_twice_at_a_time() -> None:
    manager = manager_of(["f"], tools=[Gives("f", seconds=60)])

    async def both() -> None:
        await asyncio.gather(
            manager.agent.run("s", "one"), manager.agent.run("s", "two")
        )

    with pytest.raises(SessionBusyError):
        run(both())


@pytest.mark.parametrize(("session_id", "texts"), [("", ("hi",)), ("s", ())])
def test_a_session_has_an_id_and_a_message(session_id, texts) -> None:
    with pytest.raises(SessionIdError):
        run(manager_of().agent.run(session_id, *texts))


# Owners


def test_shared_facts_reach_the_client_before_the_listener() -> None:
    manager, log = connected(["f"], "a")
    manager.set_callbacks(Noting(log, "listener", only=LISTENED).callbacks)
    run(manager.agent.run("s", "hi"))

    steps = [who for who, name, _ in log if name == "on_agent_step"]
    assert steps == ["client", "listener", "client", "listener"]
    assert names(log, "listener") == [
        "on_agent_step",
        "on_tool_execution_end",
        "on_agent_step",
    ]


def test_a_listener_that_asks_for_more_is_refused_by_name() -> None:
    manager = manager_of()

    with pytest.raises(ListenerTypesError, match="on_state_storage"):
        manager.set_callbacks(AgentCallbacks(on_state_storage=print))


def test_a_listener_hears_all_where_a_profile_says_so() -> None:
    log: list[Any] = []
    profile = choosing(V2, "listener_hears", "everything")
    manager = manager_of("a", profile=profile)
    manager.set_callbacks(Noting(log, "listener").callbacks)
    run(manager.agent.run("s", "hi"))

    assert "on_state_storage" in names(log)


def test_in_the_sketch_the_listener_hears_the_end_of_tools_alone() -> None:
    manager, log = connected(["f"], "a", profile="callbacks-v2-sketch")
    manager.set_callbacks(Noting(log, "listener").callbacks)
    run(manager.agent.run("s", "hi"))

    assert names(log, "listener") == ["on_tool_execution_end"]


def test_in_the_sketch_a_clients_session_callbacks_are_lost() -> None:
    manager, log = connected("a", profile="callbacks-v2-sketch")
    run(manager.agent.run("s", "hi"))

    assert not {"on_session_start", "on_session_end"} & {*names(log)}


def test_in_the_first_version_one_slot_hears_all_and_the_last_one_counts() -> None:
    log: list[Any] = []
    manager = manager_of("a", profile="callbacks-v1")
    manager.set_callbacks(Noting(log, "first").callbacks)
    manager.set_callbacks(Noting(log, "last").callbacks)
    run(manager.agent.run("s", "hi"))

    assert {who for who, _, _ in log} == {"last"}
    assert {"on_session_start", "on_state_storage", "on_llm_text_done"} <= {*names(log)}


def test_the_first_version_has_no_clients() -> None:
    with pytest.raises(NoClientsError):
        manager_of(profile="callbacks-v1").set_client(Client())


def test_a_new_type_of_callback_is_one_row() -> None:
    row = CallbackType("on_progress", ("done",), ("client", "listener"))
    table = CALLBACK_TYPES.with_row(row)
    heard: list[Any] = []
    agent = agent_of("a")
    manager = SessionManager(agent, table=table)
    callbacks = AgentCallbacks(table=table, on_progress=heard.append)
    manager.set_client(Client(callbacks))
    manager.set_callbacks(callbacks)
    run(agent.emit("on_progress", 0.5))

    assert heard == [0.5, 0.5]


def test_a_table_has_each_name_once() -> None:
    with pytest.raises(EqualTypesError):
        CALLBACK_TYPES.with_row(CallbackType("on_error", (), ()))


def test_an_unknown_callback_is_refused_with_what_was_meant() -> None:
    with pytest.raises(CallbackTypeError, match="did you mean 'on_agent_step'"):
        AgentCallbacks(on_agent_stp=print)


def test_a_callback_that_is_no_function_is_refused() -> None:
    given: Any = "print"

    with pytest.raises(CallbackValueError):
        AgentCallbacks(on_error=given)


# Connection


def test_a_client_connects_from_either_side_and_only_once() -> None:
    log: list[Any] = []
    client = Client(Noting(log, only=("on_llm_text_done",)).callbacks)
    manager = manager_of("a")
    client.set_session_manager(manager)
    manager.set_client(client)
    run(manager.agent.run("s", "hi"))

    assert names(log) == ["on_llm_text_done"]


def test_callbacks_that_a_client_is_given_later_count() -> None:
    log: list[Any] = []
    client = Client()
    manager = manager_of("a")
    manager.set_client(client)
    client.set_agent_callbacks(Noting(log).callbacks)
    run(manager.agent.run("s", "hi"))

    assert "on_llm_text_done" in names(log)


def test_in_the_sketch_they_are_read_once() -> None:
    log: list[Any] = []
    client = Client()
    manager = manager_of("a", profile="callbacks-v2-sketch")
    manager.set_client(client)
    client.set_agent_callbacks(Noting(log).callbacks)
    run(manager.agent.run("s", "hi"))

    assert log == []


def test_a_client_that_was_taken_away_hears_no_more() -> None:
    manager, log = connected("a")
    [client] = manager.clients
    manager.remove_client(client)
    run(manager.agent.run("s", "hi"))

    assert log == []
    with pytest.raises(ClientNotConnectedError):
        manager.remove_client(client)


def test_in_the_sketch_a_second_client_takes_the_place_of_the_first() -> None:
    manager, log = connected("a", profile="callbacks-v2-sketch")
    manager.set_client(Client(Noting(log, "second").callbacks))
    run(manager.agent.run("s", "hi"))

    assert {who for who, _, _ in log} == {"second"}


def test_an_agent_has_one_manager() -> None:
    agent = agent_of()
    SessionManager(agent)

    with pytest.raises(SecondManagerError):
        SessionManager(agent)
    SessionManager(agent, profile="callbacks-v2-sketch")


def test_an_agents_slot_is_replaced_whole() -> None:
    log: list[Any] = []
    agent = agent_of("a")
    agent.set_callbacks(Noting(log, "first").callbacks)
    agent.set_callbacks(Noting(log, "second", only=("on_llm_text_done",)).callbacks)
    run(agent.run("s", "hi"))

    assert [(who, name) for who, name, _ in log] == [("second", "on_llm_text_done")]


# Storage


def test_the_first_client_that_has_a_state_is_asked_alone() -> None:
    log: list[Any] = []
    manager = manager_of("a")
    for number, gives in enumerate([None, {"messages": []}, {"messages": [1]}]):
        noting = Noting(log, f"client{number}", only=("load_agent_storage",))
        noting.gives = gives
        manager.set_client(Client(noting.callbacks))
    run(manager.agent.run("s", "hi"))

    assert [who for who, _, _ in log] == ["client0", "client1"]


@pytest.mark.parametrize(
    ("profile", "kept"), [("callbacks-v2", 2), ("callbacks-v2-sketch", 4)]
)
def test_an_empty_state_is_a_value_but_not_in_the_sketch(profile, kept) -> None:
    manager = manager_of("a", "b", profile=profile)
    run(manager.agent.run("s", "hi"))
    noting = Noting([], only=("load_agent_storage",))
    noting.gives = {}
    manager.set_client(Client(noting.callbacks))
    result = run(manager.agent.run("s", "hi"))

    assert len(result.state.messages) == kept


@pytest.mark.parametrize(
    ("profile", "found"), [("callbacks-v2", 2), ("callbacks-v2-sketch", None)]
)
def test_a_client_hears_of_a_state_that_is_stored_already(profile, found) -> None:
    seen: list[int | None] = []
    manager = manager_of("a", profile=profile)

    async def look(state: SessionState) -> None:
        kept = await manager.store.load(state.session_id)
        seen.append(None if kept is None else len(kept.state.messages))

    manager.set_client(Client(AgentCallbacks(on_state_storage=look)))
    run(manager.agent.run("s", "hi"))

    assert seen == [found]


def test_a_client_that_raises_loses_nothing_that_is_stored() -> None:
    manager = manager_of("a")
    manager.set_client(Client(Noting([], raising=("on_state_storage",)).callbacks))
    run(manager.agent.run("s", "hi"))

    assert run(manager.load_session("s")) is not None


def test_what_a_client_adds_to_a_state_comes_back() -> None:
    manager = manager_of("a")
    noting = Noting([], only=("load_agent_storage",))
    given = {"messages": [{"role": "user", "content": "old"}], "theme": ["dark"]}
    noting.gives = given
    manager.set_client(Client(noting.callbacks))
    state = run(manager.agent.run("s", "hi")).state

    assert state.as_json()["theme"] == ["dark"]
    assert [each["content"] for each in state.as_json()["messages"]] == [
        "old",
        "hi",
        "a",
    ]


@pytest.mark.parametrize("given", [[1], {"messages": [1]}, "text"])
def test_a_loaded_state_that_is_none_is_refused(given) -> None:
    noting = Noting([], only=("load_agent_storage",))
    noting.gives = given
    manager = manager_of("a")
    manager.set_client(Client(noting.callbacks))

    with pytest.raises(StateValueError):
        run(manager.agent.run("s", "hi"))


def test_saving_writes_what_is_new() -> None:
    written: list[int] = []

    class Counting:
        """A store in memory that notes from which message on it was told to write."""

        def __init__(self) -> None:
            self._inner = MemorySessionStore()
            self.load, self.revision = self._inner.load, self._inner.revision

        async def save(self, state, since, revision) -> int:
            written.append(len(state.messages) - since)
            return await self._inner.save(state, since, revision)

    manager = manager_of("a", "b", "c", store=Counting())
    run(manager.agent.run("s", "one", "two"))
    run(manager.agent.run("s", "three"))

    assert written == [2, 2, 2]


def test_a_session_in_a_file_goes_on_in_another_process(tmp_path) -> None:
    path = tmp_path / "sessions.db"
    run(manager_of("a", store=SqliteSessionStore(path)).agent.run("s", "one"))
    manager = manager_of("b", store=SqliteSessionStore(path))
    state = run(manager.agent.run("s", "two")).state

    assert [each.content for each in state.messages] == ["one", "a", "two", "b"]


def test_a_state_that_somebody_else_has_stored_since_is_not_overwritten(
    tmp_path,
) -> None:
    store = SqliteSessionStore(tmp_path / "sessions.db")
    state = SessionState("s", History((Message("user", "hi"),)))
    run(store.save(state, 0, 0))

    with pytest.raises(StaleStateError):
        run(store.save(state, 0, 0))


def test_a_file_of_something_else_is_refused(tmp_path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t (x)")
    other.close()

    with pytest.raises(ForeignStoreError):
        run(SqliteSessionStore(tmp_path / "other.db").load("s"))


# Failures


def test_a_raising_callback_is_told_once_and_the_run_goes_on() -> None:
    log: list[Any] = []
    manager = manager_of("a")
    manager.set_client(Client(Noting(log, raising=("on_agent_step",)).callbacks))
    result = run(manager.agent.run("s", "hi"))

    errors = [data for _, name, data in log if name == "on_error"]
    assert errors == [("ValueError('client on_agent_step')", "client.on_agent_step")]
    assert result.status == "completed"


def test_it_comes_out_as_it_is_where_failures_abort() -> None:
    profile = choosing(V2, "failures", "aborts")
    manager = manager_of("a", profile=profile)
    manager.set_client(Client(Noting([], raising=("on_llm_text_done",)).callbacks))

    with pytest.raises(ValueError, match="on_llm_text_done"):
        run(manager.agent.run("s", "hi"))


def test_an_error_of_on_error_becomes_a_warning() -> None:
    manager = manager_of(ValueError("model"))
    manager.set_client(Client(Noting([], raising=("on_error",)).callbacks))

    with pytest.warns(CallbackWarning), pytest.raises(Exception, match="model"):
        run(manager.agent.run("s", "hi"))


# Middleware, stream, the simple client


def test_the_first_middleware_is_outermost_and_sees_each_delivery() -> None:
    log: list[str] = []

    def saying(name: str) -> Any:
        async def middleware(delivery, deliver) -> Any:
            log.append(f"{name} {delivery.where} {delivery.number}")
            return await deliver(delivery)

        return middleware

    manager = manager_of("a", middleware=(saying("outer"), saying("inner")))
    manager.set_client(
        Client(AgentCallbacks(on_llm_text_done=lambda _: log.append("x")))
    )
    run(manager.agent.run("s", "hi"))

    where = "client.on_llm_text_done 0"
    assert log == [f"outer {where}", f"inner {where}", "x"]


def test_a_middleware_may_change_data_or_keep_a_fact_back() -> None:
    log: list[Any] = []

    async def hides(delivery, deliver) -> Any:
        if delivery.name == "on_llm_text_delta":
            return None
        return await deliver(replace(delivery, data=("***",)))

    manager = manager_of("secret", middleware=(hides,))
    texts = ("on_llm_text_delta", "on_llm_text_done")
    manager.set_client(Client(Noting(log, only=texts).callbacks))
    run(manager.agent.run("s", "hi"))

    assert log == [("client", "on_llm_text_done", ("***",))]


def test_who_leaves_the_stream_early_cancels_the_session() -> None:
    manager, log = connected(["f"], tools=[Gives("f", seconds=60)])

    async def leave() -> None:
        stream = manager.agent.stream("s", "hi")
        async for fact in stream:
            if fact.name == "on_tool_call_start":
                break
        await stream.aclose()

    run(leave())

    assert log[-1] == ("client", "on_session_end", ("s", "cancelled"))


def test_the_error_of_a_run_comes_out_of_the_stream() -> None:
    agent = agent_of(ValueError("model"))

    async def read() -> list[str]:
        return [fact.name async for fact in agent.stream("s", "hi")]

    with pytest.raises(Exception, match="model"):
        run(read())


def test_the_simple_client_prints_steps_and_tools() -> None:
    lines: list[str] = []
    manager = manager_of(["f"], "a")
    SimpleClient(lines.append).set_session_manager(manager)
    run(manager.agent.run("s", "hi"))

    assert lines == ["🤖 Step 1", "🔧 Tool: f", "✅ Result: f", "🤖 Step 2"]


def test_an_agent_with_an_instruction_keeps_it_out_of_the_state() -> None:
    model = Answers("a", "b")
    manager = SessionManager(CallbackAgent(model, instruction="Be brief."))
    run(manager.agent.run("s", "one"))
    state = run(manager.agent.run("s", "two")).state

    assert [each[0].content for each in model.requests] == ["Be brief."] * 2
    assert [each.role for each in state.messages] == ["user", "assistant"] * 2


def test_a_tool_that_streams_has_ended_when_it_was_read() -> None:
    manager, log = connected(["f"], "a", tools=[Piecewise()])
    run(manager.agent.run("s", "hi"))

    assert ("client", "on_tool_execution_end", ("f", "c0", "ab", None)) in log


class Piecewise:
    """A tool that streams its result and has no other way."""

    def __init__(self) -> None:
        self.info = ToolInfo("f")

    async def stream(self, ctx, arguments, options) -> StreamReader[str]:
        return StreamReader(each("ab"))
