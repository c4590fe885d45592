"""What a stream shows that nothing keeps: telling a leak from another order.

Where both sides keep the same, a text that one of them shows alone is a leak if it
stands in no message that is kept. What both show in another order leaks nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from compat.migration.codes import Named
from compat.migration.differences import TraceChannels
from refengine.testing.channels import UNKEPT
from refengine.testing.echoes import text_in

Value: TypeAlias = "Mapping[str, Any]"

LAST_STATES: Final = ("state", "second_turn")
SPOKEN: Final = frozenset(("model", "hook"))
"""Kinds of events that show what somebody says."""


def shown_code(
    named: Named, old: TraceChannels, new: TraceChannels, run: object
) -> str:
    """Return the code of events of a run that differ: a leak, an order, or as named.

    Who else speaks than a model and hooks is not known to be kept anywhere. A run that
    keeps nothing, because it failed, says nothing of what is kept.
    """
    code, _, left, right = named
    if any(old.text(each) != new.text(each) for each in LAST_STATES):
        return code
    if _is_unkept(new, run):
        return code
    ours, theirs = _texts_shown(old, run), _texts_shown(new, run)
    is_text = code == "STREAM_TEXT"
    known = (*ours, *theirs, "")
    of_others = is_text and not (left in known and right in known)
    if of_others or {*(ours - theirs), *(theirs - ours)} - {*_kept(new)}:
        return "STREAM_LEAK"
    return "ORDER" if is_text and ours == theirs else code


def _is_unkept(side: TraceChannels, run: object) -> bool:
    """Tell whether nothing that a run did is kept by anybody."""
    ends = (each.value for channel in LAST_STATES for each in side.entries(channel))
    return any(each["run"] == run and each.get(UNKEPT) for each in ends)


def _texts_shown(side: TraceChannels, run: object) -> Counter[str]:
    """Return the texts that a side's model and hooks show in a run, with how often."""
    shown = (each.value for each in side.entries("events") if each.value["run"] == run)
    texts = (each.get("text") for each in shown if each["kind"] in SPOKEN)
    return Counter(each for each in texts if isinstance(each, str) and each)


def _kept(side: TraceChannels) -> Iterator[str]:
    for channel in LAST_STATES:
        for entry in side.entries(channel):
            value = cast("Value", entry.value)
            messages = value.get("messages") or ()
            yield from (text_in(each.get("content")) for each in messages)
