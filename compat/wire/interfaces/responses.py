"""OpenAI's Responses as canonical requests; what is stored at the vendor is put in.

A request that names a stored response or conversation is asked with all that it holds:
only then can it be held beside one that sends the whole history itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from compat.wire.interfaces.recorded import (
    AnswerReader,
    SaidPart,
    message_of,
    text_of,
)
from compat.wire.interfaces.request import (
    PARTS,
    ROLES,
    SAID,
    Tree,
    VendorRequest,
    VendorTool,
    called,
    joined,
    kind_of,
    listed,
    object_of,
    rest_of,
    settings_of,
    spoken,
    vendor_request,
    words_of,
)
from refengine.messages import (
    Json,
    Message,
    MessageChunk,
    Role,
    ToolCall,
    ToolCallChunk,
)
from refengine.testing.json_values import is_list, is_mapping

RESPONSES: Final = "OpenAI Responses"
TEXTS: Final = {"input_text": "text", "output_text": "text", "text": "text"}
SETTINGS: Final[Mapping[str, str]] = {
    "model": "model",
    "stream": "stream",
    "temperature": "temperature",
    "top_p": "top_p",
    "max_output_tokens": "max_tokens",
    "parallel_tool_calls": "parallel_tool_calls",
    "metadata": "metadata",
    "user": "user",
    "service_tier": "service_tier",
    "prompt_cache_key": "prompt_cache_key",
    "safety_identifier": "safety_identifier",
}
ENDED: Final = frozenset(
    ("response.completed", "response.incomplete", "response.failed")
)
_TAKEN: Final = frozenset(
    (
        *SETTINGS,
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "text",
        "reasoning",
        "previous_response_id",
        "conversation",
    )
)


def responses_request(body: Tree, kept: Mapping[str, Any]) -> VendorRequest:
    """Read the body of a request; ``kept`` has stored messages by their id."""
    text, reasoning = object_of(body, "text"), object_of(body, "reasoning")
    settings = settings_of(body, SETTINGS)
    settings["tool_choice"] = _choice(body.get("tool_choice"))
    settings["response_format"] = text.get("format")
    settings["verbosity"] = text.get("verbosity")
    settings["reasoning_effort"] = reasoning.get("effort")
    own = rest_of(body, _TAKEN)
    if rest := rest_of(reasoning, ("effort",)):
        own["reasoning"] = rest
    if stored_id(body) is not None and stored_id(body) not in kept:
        own["not_stored"] = stored_id(body)
    said = body.get("instructions")
    system = [Message("system", said)] if isinstance(said, str) and said else []
    messages = (*system, *history_of(body, kept))
    asked = messages, map(_tool, listed(body, "tools"))
    return vendor_request(
        RESPONSES, asked, settings, own, lambda part: part.get("type") == "reasoning"
    )


def stored_id(body: Tree) -> str | None:
    """Return what the request goes on with: a response, or a conversation."""
    previous, conversation = body.get("previous_response_id"), body.get("conversation")
    if is_mapping(conversation):
        conversation = conversation.get("id")
    found = previous or conversation
    return None if found is None else str(found)


def history_of(body: Tree, kept: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return all messages but the instructions, those that are stored first."""
    before: Sequence[Message] = kept.get(stored_id(body) or "", ())
    given = body.get("input")
    items = given if is_list(given) else [{"role": "user", "content": given or ""}]
    found = [_item(each, kept) for each in items if is_mapping(each)]
    return tuple(joined([*before, *found]))


def _item(item: Tree, kept: Mapping[str, Any]) -> Message:
    kind = str(item.get("type", "message"))
    if kind == "message":
        return _message(item)
    if kind in {"function_call", "custom_tool_call"}:
        given = item.get("arguments", item.get("input"))
        call = called(item.get("call_id"), item.get("name"), given)
        return Message("assistant", "", (call,))
    if kind in {"function_call_output", "custom_tool_call_output"}:
        of = str(item.get("call_id") or "")
        return spoken("tool", item.get("output"), TEXTS, tool_call_id=of)
    if kind == "item_reference" and isinstance(
        found := kept.get(str(item.get("id"))), Message
    ):
        return found
    role: Role = "assistant" if kind == "reasoning" else "user"
    part = thought_part(item) if kind == "reasoning" else dict(item)
    return Message(role, "", extra={PARTS: [part]})


def thought_part(item: Tree) -> dict[str, Json]:
    """Return an item of reasoning without what only names it."""
    return rest_of(item, ("id", "status"))


def _message(item: Tree) -> Message:
    role = ROLES.get(str(item.get("role")), "user")
    refused = words_of(item.get("content"), "refusal")
    if refused:
        return Message(role, "", extra={"refusal": refused})
    return spoken(role, item.get("content"), TEXTS)


def _tool(tool: Tree) -> VendorTool:
    parameters = tool.get("parameters")
    function = tool.get("type") == "function"
    return VendorTool(
        str(tool.get("name", tool.get("type", ""))),
        str(tool.get("description") or ""),
        parameters if is_mapping(parameters) else {},
        # A function is strict here unless it says that it is not.
        function and tool.get("strict") is not False,
        {**rest_of(tool, SAID), **kind_of(tool, "function")},
    )


def _choice(choice: object) -> Json:
    if not is_mapping(choice):
        return choice if isinstance(choice, str) else None
    if choice.get("type") == "function":
        return {"name": choice.get("name")}
    return dict(choice)


def responses_said(body: Tree) -> Message:
    """Return what an answer says."""
    return message_of(part for item in listed(body, "output") for part in _parts(item))


def _parts(item: Tree) -> Iterator[SaidPart]:
    kind = item.get("type")
    if kind == "function_call":
        told = (text_of(item.get(key)) for key in ("call_id", "name", "arguments"))
        yield ToolCall(*told)
    for each in listed(item, "content") if kind == "message" else ():
        if each.get("type") == "output_text":
            yield "text", text_of(each.get("text"))
        elif each.get("type") == "refusal":
            yield "refusal", text_of(each.get("refusal"))
    for each in listed(item, "summary") if kind == "reasoning" else ():
        yield "reasoning", text_of(each.get("text"))


class ResponsesStream(AnswerReader):
    """Reads a stream: each piece of a text or a call is a chunk."""

    def event(self, tree: Tree) -> None:
        """Take an event in."""
        kind, at = str(tree.get("type")), tree.get("output_index")
        self.ended |= kind in ENDED
        if kind == "response.output_text.delta":
            self.say(str(tree.get("delta", "")))
        elif kind == "response.refusal.done":
            self.chunks.append(MessageChunk(extra={"refusal": tree.get("refusal")}))
        elif kind == "response.function_call_arguments.delta":
            self.say("", ToolCallChunk(at, "", "", str(tree.get("delta", ""))))
        elif kind == "response.output_item.added":
            item = object_of(tree, "item")
            if item.get("type") == "function_call":
                id_, name = str(item.get("call_id", "")), str(item.get("name", ""))
                self.say("", ToolCallChunk(at, id_, name))


def items_of(message: Message, number: int, status: str) -> Iterator[dict[str, Any]]:
    """Yield the output items that an answer is; ``number`` is that of the response."""
    refusal = message.extra.get("refusal")
    if message.content or refusal or not message.tool_calls:
        part: dict[str, Any] = (
            {"type": "refusal", "refusal": refusal}
            if refusal
            else {
                "type": "output_text",
                "text": message.content,
                "annotations": [],
                "logprobs": [],
            }
        )
        yield {
            "type": "message",
            "id": f"msg_{number}",
            "status": status,
            "role": "assistant",
            "content": [part],
        }
    for at, call in enumerate(message.tool_calls):
        yield {
            "type": "function_call",
            "id": f"fc_{number}_{at}",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "status": status,
        }
