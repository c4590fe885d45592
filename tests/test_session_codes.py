"""Codes of what agents that keep sessions do otherwise: events, scopes, artifacts."""

import pytest

from compat.migration.differences import TraceChannels
from compat.migration.pairs import SeenPair
from compat.verdicts.relations import RELATIONS, channels_of
from refengine.testing.recorder import Recorder

EVERY = channels_of(RELATIONS[-1])
SAID = {"author": "a", "messages": [{"role": "assistant", "content": "x"}]}
OTHER = {"author": "b", "messages": SAID["messages"]}
CHANGED = {**SAID, "actions": {"state_delta": {"n": 1}}}


def ending(events=(), state=None, artifacts=None):
    stored = {
        "events": events,
        "state": {"app": {}, "user": {}, "session": {}, **(state or {})},
        "artifacts": artifacts or {},
    }
    data = {"status": "completed", "answer": "x", "messages": [], "stored": stored}
    return "run_end", data


def failing(error, *cause):
    told = {"point": "before_tool", "text": "", "cause": list(cause)}
    return "event", {"kind": "error", "agent": "", "error": told, "class": error}


def telling(author, **more):
    whole = {"text": "x", "tool_calls": [], **more.pop("whole", {})}
    data = {"kind": "model", "author": author, "whole": whole, "actions": {}, **more}
    return "event", data


def trace(entry) -> TraceChannels:
    recorder = Recorder()
    recorder.run = 1
    recorder.add(*entry)
    return TraceChannels(recorder.trace().to_jsonl())


@pytest.mark.parametrize(
    ("old", "new", "code", "path"),
    [
        (ending([SAID]), ending(), "STORED_LOST", "[0]"),
        (ending(), ending([SAID]), "STORED_EXTRA", "[0]"),
        (ending([SAID]), ending([CHANGED]), "STORED_CHANGED", "[0].actions"),
        (ending([SAID]), ending([OTHER]), "AUTHOR", "[0].author"),
        (telling("a"), telling("b"), "AUTHOR", "[0].author"),
        (
            telling("a", actions={"escalate": True}),
            telling("a"),
            "EVENT_CHANGED",
            "[0].actions",
        ),
        (
            telling("a", whole={"streamed": "x"}),
            telling("a", whole={"streamed": "xx"}),
            "STREAM_LEAK",
            "[0].streamed",
        ),
        (
            telling("a", more={"error_code": "ValueError"}),
            telling("a", more={"error_code": "RuntimeError"}),
            "ERROR_CLASS",
            "[0].more.error_code",
        ),
        (
            failing("RuntimeError", "ValueError"),
            failing("RuntimeError", "KeyError"),
            "ERROR_CAUSE",
            "[0].cause",
        ),
        (
            ending(state={"user": {"n": 1}}),
            ending(state={"session": {"n": 1}}),
            "STATE_CHANGED",
            "[0].session.n",
        ),
        (
            ending(state={"user": {"n": 1}}),
            ending(),
            "STATE_LOST",
            "[0].user.n",
        ),
        (
            ending(state={"app": {"n": 1}}),
            ending(state={"app": {"n": True}}),
            "TYPE",
            "[0].app.n",
        ),
        (
            ending(artifacts={"log.txt": ["a"]}),
            ending(artifacts={"log.txt": ["a", "b"]}),
            "ARTIFACT",
            '[0].names["log.txt"]',
        ),
    ],
)
def test_what_a_session_keeps_has_its_code_and_place(old, new, code, path) -> None:
    found = SeenPair(trace(old), trace(new), EVERY).divergence

    assert found is not None
    assert (found.code, found.difference.path) == (code, path)
