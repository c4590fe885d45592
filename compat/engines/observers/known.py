"""The spans that there have to be, by the trace of a world: one for each call.

    known_rows(trace)

They are made of what the world saw alone, so no observer is needed to know them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compat.engines.observers.spans import Of, among, is_secret, leaves
from refengine.messages import Json
from refengine.testing.trace import Trace

SHORT: Final = 2
"""A word of a world has more letters: a shorter one stands in any text."""


ENDED: Final = frozenset(("cancelled", "raised"))
"""How a run ends that did not come to its own end."""
OVER: Final = frozenset(("model_response", "model_error", "tool_end", "tool_error"))
"""What the world sees last of a call, streamed or not, that is not cut."""


@dataclass(slots=True)
class HappenedCall:
    """A call that happened: of what, in which run, what it was sent and gave.

    It is ``over`` once it gave all that it had, or failed.
    """

    of: Of
    run: int
    name: str = ""
    asked: Sequence[str] = ()
    answered: Sequence[str] = ()
    fails: bool = False
    over: bool = False
    call: str = ""

    def goes_on(self, kind: str, data: Mapping[str, Any]) -> None:
        """Take what the world saw of it next."""
        self.over |= kind in OVER
        match kind:
            case "model_response":
                self.answered = [*_said([data["message"]])]
            case "tool_end":
                self.answered = [*leaves(data["result"])]
            case "model_error" | "tool_error":
                self.fails = True
            case _:
                pass


def happened(trace: Trace) -> Sequence[HappenedCall]:
    """Return the calls of models and tools that a world saw, as they began."""
    found: list[HappenedCall] = []
    last: dict[object, HappenedCall] = {}
    for each in trace:
        data: Any = each.canonical()["data"]
        key = each.kind.partition("_")[0], each.run, each.call_id
        if each.kind == "model_request":
            asked = [*_said(data["messages"])]
            last[key] = HappenedCall("model", each.run, asked=asked)
        elif each.kind == "tool_start":
            asked = [*leaves(data["arguments"])]
            call = each.call_id or ""
            last[key] = HappenedCall("tool", each.run, data["name"], asked, call=call)
        elif key in last:
            last[key].goes_on(each.kind, data)
            continue
        else:
            continue
        found.append(last[key])
    _cut(trace, found)
    return found


def _cut(trace: Trace, calls: Sequence[HappenedCall]) -> None:
    """Leave open how the calls of the last iteration ended of a run that was cancelled.

    Whether one of them had ended before is not seen: a tool may end that nobody waits
    for any more.
    """
    cut = {each.run for each in trace.of("run_end") if each.data["status"] in ENDED}
    for each in reversed(calls):
        if each.run in cut:
            each.over = False
            cut -= {each.run} if each.of == "model" else set()


def _said(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the texts of messages, and of the arguments of calls in them."""
    for each in messages:
        yield str(each.get("content") or "")
        for call in each.get("tool_calls") or ():
            yield from leaves(call["arguments"])


def words_of(trace: Trace) -> Sequence[str]:
    """Return the texts that were sent to and fro, of which one is known again.

    A secret is none: whether an observer writes it down is another question.
    """
    calls = happened(trace)
    said = (x for each in calls for x in (*each.asked, *each.answered))
    words = (each for each in dict.fromkeys(said) if len(each) > SHORT)
    return [each for each in words if not is_secret(each)]


def _known_runs(trace: Trace) -> Iterator[dict[str, Json]]:
    """Yield what the spans of runs say; of one that was cut, only that it ends."""
    ends = [*trace.of("run_end")]
    for number, each in enumerate(ends, 1):
        status = each.data["status"]
        yield {
            "of": "run",
            "ends": True,
            "secrets": False,
            "many": len(ends),
            "over": "cut" if status in ENDED else number,
            "fails": status == "error",
        }


def known_rows(trace: Trace) -> Iterator[dict[str, Json]]:
    """Yield what the span of each call says, as ``spans.rows_of`` does of a span.

    ``over`` is ``cut`` for a call that was left or cancelled: what its status is, and
    what came of it, is the observer's to say.
    """
    words, calls = words_of(trace), happened(trace)
    many = Counter((each.of, each.name) for each in calls)
    counts: Counter[tuple[str, str]] = Counter()
    yield {"of": "other", "ends": True, "secrets": False, "tokens": False}
    yield from _known_runs(trace)
    for each in calls:
        key = each.of, each.name
        counts[key] += 1
        yield {
            "of": each.of,
            "ends": True,
            "secrets": False,
            "name": each.name,
            "nth": counts[key],
            "many": many[key],
            "over": counts[key] if each.over else "cut",
            "fails": each.fails,
            "inside": "",
            "tree": each.run,
            **({"call": each.call, "tokens": False} if each.of == "tool" else {}),
            "asked": among(words, "\n".join(each.asked)),
            "answered": among(words, "\n".join(each.answered)),
        }
