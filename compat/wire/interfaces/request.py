"""One canonical request: what a model is asked, whichever interface asks it.

Messages are ours. A setting that several interfaces have stands under one name, with
what is so anyway left out; what only one of them has is ``own``, under its name there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from compat.wire.server.refusals import ApiError
from refengine.messages import Json, Message, Role, ToolCall
from refengine.testing.json_values import is_list, is_mapping, thawed

Tree: TypeAlias = "Mapping[str, Any]"  # JSON as a client sent it

ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
}
PARTS: Final = "parts"
"""Key of ``extra`` under which parts of a message stand that are not text."""
REASONING: Final = "reasoning"
"""Key of ``extra`` under which the text of a message's reasoning stands."""
THOUGHTS: Final = "thoughts"
"""Key among what is an interface's own; each has ``message``, ``at`` and ``part``.

What a model thought, and a program sends back with its history, has a form of each
vendor's own, sealed or signed, and nobody else can read it. So it is no part of a
canonical message: it is taken out, with the place where it stood.
"""


@dataclass(frozen=True, slots=True)
class VendorTool:
    """A tool as a request declares it; ``more`` is what only its interface says."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    strict: bool = False
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def json(self) -> dict[str, Any]:
        """The tool as JSON values, without what it does not say."""
        found: dict[str, Any] = {"name": self.name}
        if self.description:
            found["description"] = self.description
        if self.parameters:
            found["parameters"] = dict(self.parameters)
        if self.more:
            found["more"] = dict(self.more)
        return found | ({"strict": True} if self.strict else {})


@dataclass(frozen=True, slots=True)
class VendorRequest:
    """What a model was asked through an ``interface``."""

    interface: str
    messages: tuple[Message, ...]
    tools: tuple[VendorTool, ...] = ()
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])
    own: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def options(self) -> dict[str, Json]:
        """All settings, those of the interface alone under ``own``."""
        own: dict[str, Json] = {"own": dict(self.own)} if self.own else {}
        return {**self.settings, **own}

    @property
    def streams(self) -> bool:
        """Whether the answer is to be streamed."""
        return self.settings.get("stream") is True


@dataclass(frozen=True, slots=True)
class SentBody:
    """The body of a request, the path it was sent to, and what the vendor keeps.

    ``kept`` is of a session, such as stored conversations.
    """

    body: Tree
    path: str = ""
    kept: dict[str, Any] = field(default_factory=dict[str, Any])


def settled(settings: Mapping[str, Json], usual: Mapping[str, Json]) -> dict[str, Json]:
    """Return settings without null, and without those that are as they are anyway."""
    return {
        name: value
        for name, value in settings.items()
        if value is not None and not (name in usual and usual[name] == value)
    }


USUAL: Final[Mapping[str, Json]] = {
    "stream": False,
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "response_format": {"type": "text"},
}
"""What a vendor does where a request does not say it."""


def arguments_of(given: object) -> str:
    """Return arguments as canonical JSON, or as the text they are if they are none."""
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except (ValueError, RecursionError):
            return str(given)
    return json.dumps(given, sort_keys=True, ensure_ascii=False)


def object_in(arguments: str) -> Mapping[str, Any]:
    """Return arguments as an object; most vendors have no other ones."""
    try:
        found: object = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        found = None
    return found if is_mapping(found) else {"value": arguments}


def called(id_: object, name: object, arguments: object) -> ToolCall:
    """Return a call, its arguments in canonical form."""
    return ToolCall(str(id_ or ""), str(name or ""), arguments_of(arguments))


def spoken(
    role: Role,
    content: object,
    texts: Mapping[str, str],
    **more: Any,  # noqa: ANN401  # of Message
) -> Message:
    """Return a message of a text or of parts; parts that are not text stay in order.

    ``texts`` says under which key the text of a part of a type stands.
    """
    if content is None or isinstance(content, str):
        return Message(role, content or "", **more)
    parts = objects(content)
    read = [_text_of(each, texts) for each in parts]
    found = "".join(text for text in read if text is not None)
    extra: dict[str, Json] = dict(more.pop("extra", {}))
    if any(text is None for text in read):
        extra[PARTS] = [
            dict(part) if text is None else text
            for part, text in zip(parts, read, strict=True)
        ]
    return Message(role, found, extra=extra, **more)


def _text_of(part: Tree, texts: Mapping[str, str]) -> str | None:
    key = texts.get(str(part.get("type", "text")))
    value = None if key is None else part.get(key)
    return value if isinstance(value, str) else None


def rest_of(tree: Tree, taken: Iterable[str]) -> dict[str, Json]:
    """Return what of an object nobody took; null is nothing."""
    left = set(taken)
    return {k: each for k, each in tree.items() if k not in left and each is not None}


SAID: Final = ("name", "description", "parameters", "strict", "type")
"""What tools say in several interfaces."""


def kind_of(tool: Tree, own: str) -> dict[str, Json]:
    """Return the type of a tool that runs at the vendor's, none of the program's."""
    kind = tool.get("type")
    return {} if kind in {None, own} else {"type": kind}


def objects(given: object) -> Sequence[Tree]:
    """Return the objects of a list; of anything else none."""
    return [each for each in given if is_mapping(each)] if is_list(given) else []


def listed(tree: Tree, key: str) -> Sequence[Tree]:
    """Return the objects of a list, or the one that stands in place of a list."""
    given = tree.get(key)
    return [given] if is_mapping(given) else objects(given)


def object_of(tree: Tree, key: str) -> Tree:
    """Return an object of an object; of what is none, an empty one."""
    found = tree.get(key)
    return found if is_mapping(found) else {}


def words_of(content: object, kind: str) -> str:
    """Return the text of the parts of a type, whose key has its name."""
    found = (each for each in objects(content) if each.get("type") == kind)
    return "".join(str(each.get(kind, "")) for each in found)


def joined(messages: Iterable[Message]) -> list[Message]:
    """Return the messages with what a model said in one answer as one message.

    Calls stand behind the text that they came with; a text behind calls is another
    answer.
    """
    found: list[Message] = []
    for each in messages:
        last = found[-1] if found else None
        if last is None or not _is_one(last, each):
            found.append(each)
            continue
        found[-1] = Message(
            "assistant",
            last.content + each.content,
            (*last.tool_calls, *each.tool_calls),
            extra={**last.extra, **each.extra},
        )
        parts = [*parts_of(last), *parts_of(each)]
        found[-1] = with_parts(found[-1], parts)
    return found


def parts_of(message: Message) -> list[Json]:
    """Return the parts of a message, a text as a text."""
    found = message.extra.get(PARTS)
    if isinstance(found, (list, tuple)):
        return [*found]
    return [message.content] if message.content else []


def with_parts(message: Message, parts: Sequence[Json]) -> Message:
    """Return a message that has these parts, where not all of them are texts."""
    extra = {key: each for key, each in message.extra.items() if key != PARTS}
    if any(not isinstance(each, str) for each in parts):
        extra[PARTS] = list(parts)
    return replace(message, extra=extra)


def thought_of(message: Message) -> str:
    """Return what a model thinks before it says an answer of a script."""
    return str(message.extra.get(REASONING) or "")


def without_thoughts(
    messages: Iterable[Message], is_thought: Callable[[Tree], bool]
) -> tuple[tuple[Message, ...], list[Json]]:
    """Return messages without thoughts, and these with their places."""
    kept: list[Message] = []
    thoughts: list[Json] = []
    for each in messages:
        parts = parts_of(each)
        places = [at for at, p in enumerate(parts) if is_mapping(p) and is_thought(p)]
        for at in places:
            place: dict[str, Json] = {"message": len(kept), "at": at}
            thoughts.append({**place, "part": thawed(parts[at])})
        rest = [part for at, part in enumerate(parts) if at not in places]
        plain = with_parts(each, rest) if places else each
        if not places or plain.content or plain.tool_calls or plain.extra:
            kept.append(plain)
    return tuple(kept), thoughts


def answered(message: Message) -> Message:
    """Return an answer of a script as it comes back in the requests after it."""
    calls = tuple(called(c.id, c.name, c.arguments) for c in message.tool_calls)
    refusal = message.extra.get("refusal")
    extra: dict[str, Json] = {"refusal": refusal} if refusal else {}
    return Message("assistant", message.content, calls, extra=extra)


def _is_one(last: Message, message: Message) -> bool:
    if last.role != "assistant" or message.role != "assistant":
        return False
    only_parts = not (last.content or last.tool_calls)
    only_calls = bool(message.tool_calls) and not message.content
    says = message.content or message.tool_calls or message.extra.get("refusal")
    return only_calls or only_parts or not says


def settings_of(tree: Tree, names: Mapping[str, str]) -> dict[str, Json]:
    """Return what a request says of these settings, by our names."""
    return {ours: tree.get(key) for key, ours in names.items() if key in tree}


def vendor_request(
    interface: str,
    asked: tuple[Iterable[Message], Iterable[VendorTool]],
    settings: Mapping[str, Json],
    own: dict[str, Json],
    is_thought: Callable[[Tree], bool],
) -> VendorRequest:
    """Return a request of messages, out of which thoughts are taken, and tools."""
    messages, thoughts = without_thoughts(asked[0], is_thought)
    if thoughts:
        own[THOUGHTS] = thoughts
    made = settled(settings, USUAL)
    return VendorRequest(interface, messages, tuple(asked[1]), made, own)


def check_results(messages: Sequence[Message]) -> None:
    """Refuse calls without a result and results without a call; raises ApiError."""
    waiting: dict[str, None] = {}
    for each in messages:
        if each.role == "tool":
            if each.tool_call_id not in waiting:
                raise ApiError(
                    f"No tool call found for the output {each.tool_call_id}."
                )
            del waiting[each.tool_call_id]
            continue
        if waiting:
            break
        waiting = dict.fromkeys(call.id for call in each.tool_calls)
    if waiting:
        raise ApiError(f"No tool output found for the call {next(iter(waiting))}.")
