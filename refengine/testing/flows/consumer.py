"""Who consumes the events of a run: puts them down, the pieces of a stream as one."""

from __future__ import annotations

from typing import Any, Self

from refengine.messages import Json
from refengine.testing.flows.events import FlowEvent, known
from refengine.testing.recorder import Recorder, snapshot


class FlowConsumer:
    """Joins partial events to the one that ends them, and puts each event down.

    ``with`` it: pieces that nothing ended are put down at the end.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._pieces: list[FlowEvent] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._cut_off(failed=kind is not None)

    def take(self, event: FlowEvent) -> None:
        """Take the next event."""
        if self._pieces and self._pieces[-1].author != event.author:
            self._cut_off(failed=False)
        if event.partial:
            self._pieces.append(event)
            return
        streamed = event.kind == "model"
        pieces, self._pieces = (self._pieces if streamed else []), []
        self._put_down(event, pieces)

    def _cut_off(self, *, failed: bool) -> None:
        """Put down pieces that no whole event followed."""
        pieces, self._pieces = self._pieces, []
        if pieces:
            self._put_down(FlowEvent(author=pieces[0].author), pieces, failed=failed)

    def _put_down(
        self, event: FlowEvent, pieces: list[FlowEvent], *, failed: bool = False
    ) -> None:
        calls: list[Json] = [
            [each["id"], each["name"], each["arguments"]]
            for each in (call.json for call in event.calls)
        ]
        whole: dict[str, Json] = {"text": event.text, "tool_calls": calls}
        if event.responses:
            whole["responses"] = [
                [known(each.id), each.name, snapshot(each.response)]
                for each in event.responses
            ]
        data: dict[str, Any] = {
            "kind": "model" if pieces else event.kind,
            "agent": "",
            "author": event.author,
            "whole": whole,
            "actions": snapshot(event.actions),
            "more": snapshot(event.more),
        }
        if pieces:
            whole["streamed"] = "".join(each.text for each in pieces)
            data["stream"] = [each.text for each in pieces if each.text]
        if failed:
            data["stream_error"] = "cut off"
        self._recorder.add("event", data)
