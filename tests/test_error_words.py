"""What an engine itself says of a call that failed is what its older versions said."""

import pytest

from compat.migration.remote.error_words import in_older_words
from refengine.testing.trace import Observation, Trace

FAILED = ("c1", "Failure: boom")
UNKNOWN = ("c2", "AI_NoSuchToolError: Model tried to call unavailable tool 'zz'.")
MISFIT = ("c4", "AI_InvalidToolInputError: Invalid input for tool pay: AI_Misfit: no")
GAVE = ("c3", "Failure: a tool said so")


def jsonl(*answers: tuple[str, str]) -> str:
    """Return a trace in which these calls are answered so; the third tool gave it."""
    calls = [{"arguments": "{}", "id": id_, "name": "t"} for id_, _ in answers]
    asked = {"message": {"content": "", "role": "assistant", "tool_calls": calls}}
    events = [
        (
            id_,
            {
                "message": f"tool({id_}):{text}",
                "whole": {"text": text, "tool_calls": []},
            },
        )
        for id_, text in answers
    ]
    results = [
        {"content": text, "role": "tool", "tool_call_id": id_} for id_, text in answers
    ]
    said = {"content": "Failure: of what a person said", "role": "user"}
    kinds = [
        ("model_response", None, asked),
        ("tool_end", "c3", {"result": GAVE[1]}),
        *(("event", id_, data) for id_, data in events),
        ("model_request", None, {"messages": [said, *results]}),
    ]
    return Trace(
        Observation(kind, 1, at, data, id_)
        for at, (kind, id_, data) in enumerate(kinds)
    ).to_jsonl()


def test_an_answer_of_the_framework_begins_with_its_message() -> None:
    plain = (
        ("c1", "boom"),
        ("c2", "Model tried to call unavailable tool 'zz'."),
        ("c4", "Invalid input for tool pay: no"),
        GAVE,
    )

    told = in_older_words(jsonl(FAILED, UNKNOWN, MISFIT, GAVE), "ai-sdk@7")

    assert told == jsonl(*plain)


@pytest.mark.parametrize("engine", ["ai-sdk@6", "langchain-js@1"])
def test_other_engines_say_what_they_say(engine: str) -> None:
    trace = jsonl(FAILED, UNKNOWN)

    assert in_older_words(trace, engine) == trace


def test_other_words_before_a_class_are_not_the_frameworks() -> None:
    trace = jsonl(("c1", "It failed. Failure: boom"))

    assert in_older_words(trace, "ai-sdk@7") == trace
