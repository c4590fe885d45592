"""The context of a hook or a tool that a driver calls, as those of a world take one.

The engine's own context stays in the driver, under a number, as long as the call is
open. What is read or done here is asked for there at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from compat.dialects.flow.content import Part
from compat.dialects.flow.events import ToolConfirmation
from compat.dialects.flow.values import as_json, from_json, plain
from compat.drivers.connection import Params


class AsksContext(Protocol):
    """How a driver is asked about the context of an open call."""

    def __call__(self, do: str, **told: object) -> Mapping[str, Any]:
        """Have it do one thing, and return what that brings."""
        ...


class RemoteState:
    """The state that a context has."""

    def __init__(self, ask: AsksContext) -> None:
        self._ask = ask

    def __contains__(self, key: object) -> bool:
        return bool(self._ask("read", key=key).get("has"))

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401  # any JSON value
        found = self._ask("read", key=key)
        if not found.get("has"):
            raise KeyError(key)
        return found.get("value")

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401  # any JSON value
        self._ask("write", key=key, value=plain(value))


class RemoteActions:
    """The actions of the event that is being made, as far as they were set here.

    Whether those above go no further, whether the model is not asked about a result,
    and which agent is handed over to.
    """

    escalate: bool | None = None
    skip_summarization: bool | None = None
    transfer_to_agent: Any = None

    def __init__(self, ask: AsksContext) -> None:
        self.__dict__["_ask"] = ask

    def __setattr__(self, name: str, value: object) -> None:
        self.__dict__[name] = value
        self.__dict__["_ask"](name, value=value)


class RemoteFlowContext:
    """What hooks and tools of a world are given of a call."""

    def __init__(self, ask: AsksContext, params: Params) -> None:
        self._ask = ask
        self.agent_name: str = params.get("agent_name", "")
        self.call_id: str = params.get("call_id", "")
        self.state = RemoteState(ask)
        self.actions = RemoteActions(ask)
        said = params.get("confirmation")
        self.confirmation = None if said is None else from_json(ToolConfirmation, said)

    async def save_artifact(self, name: str, part: Part) -> int:
        """Keep one more version of a file."""
        saved = self._ask("save", name=name, part=plain(as_json(part)))
        version: int = saved["version"]
        return version

    async def load_artifact(self, name: str) -> Part | None:
        """Return the newest version of a file."""
        found = self._ask("load", name=name).get("part")
        return None if found is None else from_json(Part, found)

    def request_confirmation(self, hint: str = "", payload: object = None) -> None:
        """Ask the user before this call goes on."""
        self._ask("ask_confirmation", hint=hint, value=payload)

    def edit_response(self, text: str) -> None:
        """Change the text of the response in place."""
        said = {"role": "model", "parts": [{"text": text}]}
        self._ask("change", response=said)
