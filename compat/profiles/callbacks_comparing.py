"""Profiles of the callbacks dialect side by side, each posture by a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from compat.dialects.callbacks import (
    AgentCallbacks,
    CallbackAgent,
    CallbacksProfile,
    Client,
    SessionManager,
    SessionState,
)
from compat.profiles.small_worlds import (
    SmallModel,
    SmallTool,
    World,
    WorldPostureDifference,
    calling,
    raises,
    shown_differences,
)
from refengine.postures import choosing


def callbacks_differences(
    a: CallbacksProfile, b: CallbacksProfile
) -> Iterator[WorldPostureDifference]:
    """Yield the postures in which two profiles differ, each with what shows it."""
    yield from shown_differences(a, b, CALLBACK_WORLDS)


def _noting(log: list[str], who: str, *names: str) -> AgentCallbacks:
    def noting(name: str) -> Any:  # noqa: ANN401  # a callback of any type
        def note(*_: object) -> None:
            log.append(f"{who} {name}")

        return note

    return AgentCallbacks(**{name: noting(name) for name in names})


def _manager(profile: CallbacksProfile, *, clients: bool = True) -> SessionManager:
    """Return a manager over one call of a tool; with clients wherever there are any."""
    if clients and profile.clients == "none":  # the point needs one
        profile = choosing(profile, "clients", "several")
    agent = CallbackAgent(SmallModel(calling("f")), (SmallTool("f", "1"),))
    return SessionManager(agent, profile=profile)


async def _two_clients(profile: CallbacksProfile) -> list[str]:
    log: list[str] = []
    manager = _manager(profile, clients=False)
    for who in ("first", "second"):
        manager.set_client(Client(_noting(log, who, "on_tool_call_start")))
    await manager.agent.run("s", "hi")
    return log


async def _greedy_listener(profile: CallbacksProfile) -> list[str]:
    log: list[str] = []
    manager = _manager(profile)
    manager.set_callbacks(_noting(log, "listener", "on_session_end"))
    await manager.agent.run("s", "hi")
    return log


async def _shared(profile: CallbacksProfile) -> list[str]:
    log: list[str] = []
    manager = _manager(profile)
    names = ("on_agent_step", "on_tool_execution_end")
    manager.set_client(Client(_noting(log, "client", *names)))
    manager.set_callbacks(_noting(log, "listener", *names))
    await manager.agent.run("s", "hi")
    return log


async def _session_callbacks(profile: CallbacksProfile) -> list[str]:
    log: list[str] = []
    manager = _manager(profile)
    manager.set_client(Client(_noting(log, "client", "on_session_start")))
    await manager.agent.run("s", "hi")
    return log


async def _set_later(profile: CallbacksProfile) -> list[str]:
    log: list[str] = []
    manager, client = _manager(profile), Client()
    manager.set_client(client)
    client.set_agent_callbacks(_noting(log, "client", "on_tool_call_start"))
    await manager.agent.run("s", "hi")
    return log


def _nothing(_: str) -> dict[str, Any]:
    return {}


async def _empty_state(profile: CallbacksProfile) -> list[str]:
    manager = _manager(profile)
    await manager.agent.run("s", "first")
    manager.set_client(Client(AgentCallbacks(load_agent_storage=_nothing)))
    result = await manager.agent.run("s", "second")
    return [each.content for each in result.state.messages]


async def _stored(profile: CallbacksProfile) -> list[str]:
    log: list[str] = []
    manager = _manager(profile)

    async def look(state: SessionState) -> None:
        found = await manager.store.load(state.session_id)
        log.append("not stored" if found is None else "stored")

    manager.set_client(Client(AgentCallbacks(on_state_storage=look)))
    await manager.agent.run("s", "hi")
    return log


async def _raising(profile: CallbacksProfile) -> list[str]:
    manager = _manager(profile)
    manager.set_client(Client(AgentCallbacks(on_session_start=raises)))
    # Where clients are not told of it the slot is, so that the point is there.
    manager.set_client(Client(AgentCallbacks(on_tool_call_start=raises)))
    return [(await manager.agent.run("s", "hi")).status]


async def _second_manager(profile: CallbacksProfile) -> list[Any]:
    first = _manager(profile)
    SessionManager(first.agent, profile=first.profile)
    return ["the second one has the agent"]


CALLBACK_WORLDS: Final[Mapping[str, World[CallbacksProfile]]] = MappingProxyType(
    {
        "clients": ("two clients are connected", _two_clients),
        "listener_hears": ("the listener asks for on_session_end", _greedy_listener),
        "shared": ("client and listener ask for steps and tools", _shared),
        "session_callbacks": ("a client asks for on_session_start", _session_callbacks),
        "client_callbacks": ("a client gets its callbacks later", _set_later),
        "loaded_state": ("a client loads an empty state of a session", _empty_state),
        "saving": ("a client looks into the store on_state_storage", _stored),
        "failures": ("a callback raises", _raising),
        "second_manager": ("a second manager for one agent", _second_manager),
    }
)
