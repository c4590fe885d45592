"""What stays on this side of the protocol, under the numbers that a driver knows it by.

Values travel with a reference where it matters that one is the very one that was told
before: messages, contexts, tools, errors. What is told by number is kept as long as the
agent that it was told for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

from compat.drivers.values import Wire, kind_of, message_read, message_told
from refengine.messages import Message
from refengine.tools import Tool, ToolInfo, ToolMeta, as_meta

Tell: TypeAlias = Callable[[Any], Mapping[str, object]]
"""Says a chunk as it stands in a frame."""


class Held:
    """The objects of one agent that a driver names by number, and back."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._messages: dict[int, Message] = {}
        self._refs: dict[int, int] = {}
        self._infos: dict[tuple[str, str], ToolInfo] = {}

    def number(self, value: object) -> int:
        """Return the number of an object: the same one each time."""
        found = self._numbers.get(id(value))
        if found is None:
            found = self._numbers[id(value)] = len(self._objects) + 1
            self._objects[found] = value
        return found

    def get(self, number: int) -> Any:  # noqa: ANN401  # whatever was numbered
        """Return the object of a number; raises LookupError if there is none."""
        return self._objects[number]

    # Messages

    def read(self, told: Wire) -> Message:
        """Return a message: the one of that reference, if it still says the same.

        Raises LookupError for a reference alone that was told with nothing before.
        """
        ref = told.get("ref")
        if ref is not None and len(told) == 1:
            return self._messages[ref]
        made = message_read(told)
        if not ref:
            return made
        known = self._messages.get(ref)
        if known is not None and known == made:
            return known
        self._messages[ref] = made
        self._refs[id(made)] = ref
        return made

    def read_all(self, told: Iterable[Wire] | None) -> tuple[Message, ...]:
        """Return a history."""
        return tuple(map(self.read, told or ()))

    def tell(self, message: Message) -> Mapping[str, object]:
        """Return a message as it stands in a frame: its reference, if it has one."""
        ref = self._refs.get(id(message))
        known = ref is not None and self._messages[ref] is message
        return {"ref": ref} if known else message_told(message)

    def tell_all(self, messages: Iterable[Message]) -> list[Mapping[str, object]]:
        """Return a history as it stands in a frame."""
        return list(map(self.tell, messages))

    # Tools

    def tool(self, given: Tool | ToolMeta) -> Mapping[str, object]:
        """Return a tool as a driver is told of it."""
        tool = as_meta(given).tool
        info = tool.info
        self._infos[info.name, info.description] = info
        return {
            "tool": self.number(tool),
            "name": info.name,
            "description": info.description,
            "kind": kind_of(tool),
        }

    def info(self, told: Wire) -> ToolInfo:
        """Return what the model is told of a tool: what the tool itself says.

        A driver need not tell its number; then one that has these words is meant.
        """
        if number := told.get("tool"):
            return cast("Tool", self.get(number)).info
        said = told["name"], told["description"]
        return self._infos.get(said) or ToolInfo(*said)

    def infos(self, told: Iterable[Wire]) -> tuple[ToolInfo, ...]:
        """Return what the model is told of tools."""
        return tuple(map(self.info, told))

    # Streams

    def offer(self, stream: AsyncIterator[Any], tell: Tell) -> int:
        """Return the number of a stream that the driver will pull."""
        number = len(self._objects) + 1
        self._objects[number] = (stream, tell)
        return number

    async def pull(self, number: int) -> Mapping[str, object]:
        """Return the next chunk of a stream, or that it has ended."""
        stream, tell = self._objects[number]
        try:
            return cast("Mapping[str, object]", tell(await anext(stream)))
        except StopAsyncIteration:
            return {"end": True}

    async def close(self, number: int) -> Mapping[str, object]:
        """Close a stream that the driver reads no further."""
        stream, _ = self._objects[number]
        await stream.aclose()
        return {}


class Errors:
    """Exceptions of the harness that are on their way through an engine, by number."""

    def __init__(self) -> None:
        self._errors: list[BaseException] = []

    def tell(self, error: BaseException) -> Mapping[str, object]:
        """Return what travels of an exception: its number."""
        for at, each in enumerate(self._errors, 1):
            if each is error:
                return {"number": at}
        self._errors.append(error)
        return {"number": len(self._errors)}

    def known(self, number: int) -> BaseException | None:
        """Return the exception of a number; None if the engine made its error."""
        return self._errors[number - 1] if 0 < number <= len(self._errors) else None
