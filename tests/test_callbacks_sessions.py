"""Sessions, owners and storage of the callbacks dialect."""

import asyncio
import sqlite3
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
)
from compat.dialects.callbacks.errors import (
    CallbackTypeError,
    CallbackValueError,
    EqualTypesError,
    ListenerTypesError,
    NoClientsError,
    SessionBusyError,
    SessionIdError,
    StaleStateError,
    StateValueError,
)
from refengine.messages import History, Message
from refengine.state.store_errors import ForeignStoreError
from refengine.stream import StreamReader
from refengine.testing.clock import run
from refengine.tools import ToolInfo
from tests.callbacks_support import (
    Answers,
    Noting,
    agent_of,
    manager_of,
    names,
)
from tests.loop_support import Gives
from tests.support import each


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


def test_a_listener_that_asks_for_more_is_refused_by_name() -> None:
    manager = manager_of()

    with pytest.raises(ListenerTypesError, match="on_state_storage"):
        manager.set_callbacks(AgentCallbacks(on_state_storage=print))


def test_the_first_version_has_no_clients() -> None:
    with pytest.raises(NoClientsError):
        manager_of(profile="callbacks-v1").set_client(Client())


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


# Storage


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


# Middleware, stream, the simple client


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
