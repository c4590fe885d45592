"""The history of a run where it is seen as the run keeps it, for entries of the oracle.

What a wrapper made of it, or a hook for the next one, is no history of the run: that is
compared by what was ``seen``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from refengine.messages import Json
from refengine.testing.projection import Entry
from refengine.testing.scenario import Scenario


class RunHistories:
    """What a run's history was, where that is seen as the run keeps it."""

    def __init__(self, scenario: Scenario) -> None:
        self._agents = [each.agent for each in scenario.runs]
        self._handed_back = dict[int, Sequence[Entry]]()
        self._begun, self._open, self._after = set[Json](), set[Json](), set[Json]()

    def look_at(self, row: dict[str, Any]) -> None:
        """Put down the history that an entry saw, and what it opens with that."""
        if row["kind"] == "model_response":
            self._open.discard(row["run"])
        if row["kind"] == "run_start":
            last = self._handed_back.get(self._agent_of(row), ())
            row["dropped"] = _dropped(last, row["messages"])
        if row["kind"] == "run_end":
            self._handed_back[self._agent_of(row)] = row["messages"]
        history = _history(row)
        if history is None:
            return
        if row.get("part") == "after":
            self._after.add(row["run"])
        elif row["run"] not in self._open:
            row["opens"] = self._opened(row)
        row["history"], row["roles"] = history, _by_role(history)

    def _agent_of(self, row: Entry) -> int:
        run: int = row["run"]
        return self._agents[run - 1]

    def _opened(self, row: Entry) -> str:
        run, new = row["run"], not row["resumed"] and row["run"] not in self._begun
        self._begun.add(run)
        self._open.add(run)
        after = run in self._after
        self._after.discard(run)
        return "run" if new else "after" if after else "kept"


def _history(row: Entry) -> Any:  # noqa: ANN401  # a value of JSON
    """Return the messages that an entry saw as those of its run, None if it saw none.

    What is in a wrapper saw that wrapper's, and a later hook of a pass what one left.
    """
    if row["kind"] not in {"hook_enter", "model_request"} or row["outer"] is not None:
        return None
    if row.get("part") in {"before", "after"}:
        return row["seen"] if row["first"] else None
    if row.get("part") == "around_model":
        return row["seen"]["messages"]
    return row.get("messages")


def _by_role(history: Iterable[Entry]) -> Mapping[str, Json]:
    found = defaultdict[str, list[Any]](list)
    for each in history:
        found[each["role"]].append(each)
    return {**found}


def _dropped(last: Sequence[Entry], messages: Sequence[Json]) -> list[Entry]:
    """Return the messages of the last run that do not stand, in order, at the start."""
    found, at = list[Entry](), 0
    for each in last:
        if at < len(messages) and messages[at] == each:
            at += 1
        else:
            found.append(each)
    return found


def has_unanswered(messages: Sequence[Entry]) -> bool:
    """Tell whether a call among messages has no result."""
    done = {each.get("tool_call_id") for each in messages if each["role"] == "tool"}
    calls = (call for each in messages for call in each.get("tool_calls", ()))
    return any(call["id"] not in done for call in calls)
