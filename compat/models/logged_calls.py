"""Model calls as observability tools log them: what was asked, and what was answered.

Read are spans of OpenTelemetry, runs of LangSmith and observations of Langfuse, each as
the tool writes it; which shapes these are is said by ``docs/check-worlds.md``.

{"run_type": "llm", "inputs": {"messages": […]}, "outputs": {…}}           LangSmith
{"type": "GENERATION", "traceId": "…", "input": […], "output": {…}}        Langfuse

What an agent, a chain or a tool is logged with is left to the model calls, which say it
once more; but a call of a model whose messages are not there is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compat.models.chat_logs import chat_messages, tools_of
from compat.models.chat_requests import RecordedRequest
from compat.models.errors import ShapeError
from compat.models.exchanges import RecordedStep
from compat.models.spans import holds_spans, span_calls
from compat.wire.interfaces.recorded import RecordedAnswer, failed
from refengine.testing.json_values import is_list, is_mapping

SPANS: Final = "trace of OpenTelemetry"
LANGSMITH: Final = "export of LangSmith"
LANGFUSE: Final = "export of Langfuse"
INSIDE: Final = ("runs", "observations", "data", "child_runs")
"""Under which names an export holds several."""
FAILED: Final = "logged as failed"
EXPORT: Final = "export it with its inputs and outputs"

Tree = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One model call: request and answer in the shapes of chats.

    ``began`` orders the calls of a file. ``answer`` is empty for one that failed, and
    ``tools`` are None where the log does not say which were offered.
    """

    began: str
    messages: Sequence[object]
    answer: Sequence[object]
    system: object = None
    tools: Sequence[object] | None = None

    def step(self, number: int) -> RecordedStep:
        """Return it as the step of this number; raises ShapeError."""
        asked = chat_messages(self.messages, self.system)
        names = (each.name for each in tools_of(self.tools or (), "tools"))
        request = RecordedRequest(
            tuple(asked), tuple(dict.fromkeys(names)), streaming=False
        )
        return RecordedStep(number, request, self._said())

    def _said(self) -> RecordedAnswer:
        found = chat_messages(self.answer)
        if not found:
            return failed(FAILED)
        if len(found) > 1 or found[0].role != "assistant":
            raise ShapeError("the answer", "is not one message of the model")
        return RecordedAnswer(found[0])


def kind_of_log(tree: object) -> str | None:
    """Return which tool wrote a JSON value, None if it is none of those."""
    if holds_spans(tree):
        return SPANS
    record = next(_records(tree), None)
    if record is None:
        return None
    return LANGSMITH if _is_run(record) else LANGFUSE


def logged_calls(tree: object) -> Iterator[LoggedCall]:
    """Yield the model calls of a JSON value; raises ShapeError."""
    if holds_spans(tree):
        for began, asked, heard in span_calls(tree):
            yield LoggedCall(
                began,
                asked["messages"],
                heard["messages"],
                asked.get("system"),
                asked.get("tools"),
            )
        return
    for record in _records(tree):
        if _is_run(record) and record["run_type"] == "llm":
            yield _of_run(record)
        elif not _is_run(record) and record["type"] == "GENERATION":
            yield _of_observation(record)


def _records(tree: object) -> Iterator[Tree]:
    """Yield the runs or observations of a JSON value, also those inside of others."""
    if not is_mapping(tree):
        return
    if _is_run(tree) or _is_observation(tree):
        yield tree
    for name in INSIDE:
        if is_list(inside := tree.get(name)):
            for each in inside:
                yield from _records(each)


def _is_run(tree: Tree) -> bool:
    return "run_type" in tree and "inputs" in tree


def _is_observation(tree: Tree) -> bool:
    """Tell whether it is one of Langfuse, whose types are written in capitals."""
    kind = tree.get("type")
    is_type = isinstance(kind, str) and kind.isupper()
    return is_type and ("traceId" in tree or "trace_id" in tree)


# LangSmith


def _of_run(run: Tree) -> LoggedCall:
    where = f"run {run.get('id')}"
    inputs, outputs = _object(run["inputs"]), _object(run.get("outputs"))
    asked = inputs.get("messages")
    if is_list(asked) and asked and is_list(asked[0]):
        asked = asked[0]  # LangChain may ask several at once, and never does for agents
    if not is_list(asked) or not asked:
        raise ShapeError(where, f"is a model call without messages; {EXPORT}")
    answer = _answer_of(outputs)
    if answer is None and not run.get("error"):
        raise ShapeError(where, f"is a model call without an answer; {EXPORT}")
    return LoggedCall(
        str(run.get("start_time") or ""),
        [_plain(each) for each in asked],
        [] if answer is None else [_plain(answer)],
        tools=_tools_of(run, inputs),
    )


def _answer_of(outputs: Tree) -> object:
    """Return the message of the model, by whatever wrapper it was logged."""
    generations = outputs.get("generations")
    if is_list(generations) and generations:
        first = generations[0]
        one = first[0] if is_list(first) and first else first
        return _object(one).get("message")
    for name in ("choices", "messages"):
        found = outputs.get(name)
        if is_list(found) and found:
            return _object(found[-1]).get("message", found[-1])
    return outputs if "role" in outputs else outputs.get("message")


def _tools_of(run: Tree, inputs: Tree) -> Sequence[object] | None:
    parameters = _object(_object(run.get("extra")).get("invocation_params"))
    found = parameters.get("tools", inputs.get("tools"))
    if found is None:
        # A model that is asked without tools has these parameters all the same.
        return [] if parameters else None
    return found if is_list(found) else None


# Langfuse


def _of_observation(seen: Tree) -> LoggedCall:
    where = f"observation {seen.get('id')}"
    given, said = _parsed(seen.get("input")), _parsed(seen.get("output"))
    tools: list[object] | None = None
    if is_mapping(given):
        tools = [*given["tools"]] if is_list(given.get("tools")) else None
        given = given.get("messages")
    if isinstance(given, str) and given:
        given = [{"role": "user", "content": given}]
    if not is_list(given) or not given:
        raise ShapeError(where, f"is a model call without messages; {EXPORT}")
    # Its handler for LangChain puts the tools behind the messages.
    declared = [each["content"] for each in given if _declares(each)]
    answer = _message_in(said)
    if answer is None and seen.get("level") != "ERROR":
        raise ShapeError(where, f"is a model call without an answer; {EXPORT}")
    return LoggedCall(
        str(seen.get("startTime") or seen.get("start_time") or ""),
        [_plain(each) for each in given if not _declares(each)],
        [] if answer is None else [_plain(answer)],
        tools=declared or tools,
    )


def _declares(message: object) -> bool:
    return (
        is_mapping(message)
        and message.get("role") == "tool"
        and is_mapping(message.get("content"))
    )


def _message_in(said: object) -> object:
    """Return the answer as a message; of a stream Langfuse may keep the text alone."""
    if isinstance(said, str) and said:
        return {"role": "assistant", "content": said}
    if is_list(said) and said:
        said = said[-1]
    if not is_mapping(said):
        return None
    return said if "role" in said else {"role": "assistant", **said}


def _parsed(value: object) -> object:
    """Return what a text of JSON holds; tables are exported so."""
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            found: object = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return found
    return value


def _object(value: object) -> Tree:
    found = _parsed(value)
    return found if is_mapping(found) else {}


def _plain(message: object) -> object:
    """Return a message in a shape of chats.

    LangChain serialises one as the call of its constructor; Langfuse writes LangChain's
    calls beside the roles of OpenAI.
    """
    if not is_mapping(message):
        return message
    if message.get("type") == "constructor" and is_mapping(message.get("kwargs")):
        return message["kwargs"]
    calls = message.get("tool_calls")
    if is_list(calls) and any(is_mapping(each) and "args" in each for each in calls):
        return {**{k: v for k, v in message.items() if k != "role"}, "type": "ai"}
    return message
