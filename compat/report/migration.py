"""The answer of a migration check, for a person at a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from rich.text import Text

from compat.report.given import given_lines
from compat.report.sharpness import sharpness_line, sharpness_lines
from compat.report.story import message_line, short, story
from compat.verdicts.migration import SIDES, DescribedDivergence, Exercise, Migration
from refengine.testing.trace import MISSING

STYLES: Final = {"-": "red", "+": "green", " ": "dim"}
MANY: Final = 12
"""So many lines of one kind are shown; the JSON report has all of them."""


def lines(verdict: Migration) -> Iterator[Text]:
    """Yield the lines of the report: answer, evidence, what it rests on."""
    yield from _answer(verdict)
    if verdict.fault is not None:
        return
    if verdict.sharpness is not None:
        yield _indented(sharpness_line(verdict.sharpness))
    for each in verdict.noise[:MANY]:
        yield _indented(
            f"{each.side} differs from itself in {each.channel} {each.path}:"
            f" {_value(each.values[0])}, then {_value(each.values[1])}"
        )
    for broken in verdict.broken:
        yield Text(f"INTENT  {broken.side} lacks: {broken.text}", "bold red")
        yield from (_indented(line) for line in story(broken.world))
    if verdict.divergence is not None and verdict.world is not None:
        yield from _divergence(verdict.divergence, verdict)
    for allowed in verdict.allowed:
        word = "used" if allowed.used else "UNUSED: its world does not need it"
        yield _indented(
            f"allowed in {allowed.channel} {allowed.path} ({allowed.reason}): {word}"
        )
    for place in verdict.unused:
        yield _indented(f"volatile in {place}: UNUSED, it differs nowhere")
    yield from _basis(verdict)


def _answer(verdict: Migration) -> Iterator[Text]:
    if verdict.fault is not None:
        yield Text(f"CANNOT BE JUDGED  {verdict.fault.text}", "bold red")
    elif verdict.noise:
        yield Text("NOT COMPARABLE  a side differs from itself", "bold yellow")
        yield _indented(
            "take time, ids and random numbers from world.now(), world.new_id() and"
            " world.random, or declare the field volatile in migration.toml"
        )
    else:
        yield _found(verdict)


def _found(verdict: Migration) -> Text:
    """Return the headline of sides that could be compared, as the exit code says."""
    holds = verdict.holds or "no relation"
    if verdict.idle:
        what = f"{holds} holds where it ran, {verdict.required} is required"
        return Text(f"NOT EXERCISED  {what}", "bold yellow")
    if not verdict.sufficient:
        what = f"{holds} holds, {verdict.required} is required"
        return Text(f"DIVERGES  {what}", "bold red")
    if verdict.broken:
        return Text(f"LACKS WHAT IS INTENDED  {holds} holds", "bold red")
    if verdict.stale:
        return Text(f"HAS UNUSED ENTRIES  {holds} holds", "bold yellow")
    return Text(f"HOLDS  {holds}", "bold green")


def _divergence(found: DescribedDivergence, verdict: Migration) -> Iterator[Text]:
    style = "red" if not verdict.sufficient else "cyan"
    yield Text()
    if verdict.sufficient:
        yield Text("What keeps the next relation from holding:")
    yield Text(f"{found.code}  {found.summary}", style)
    at = found.difference
    yield _indented(f"where  {found.where}  ({at.channel} {at.path})")
    yield _indented(f"old    {_value(at.old)}")
    yield _indented(f"new    {_value(at.new)}")
    if len(found.lines) > 1:
        yield Text()
        yield _indented(f"around it in {at.channel}, - only old, + only new:")
        for mark, text in _near(found.lines):
            yield Text(f"    {mark} {short(text)}", STYLES[mark])
    if verdict.world is not None:
        yield Text()
        yield Text("The smallest world found that shows it:")
        yield from (_indented(line) for line in story(verdict.world))


def _near(rows: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the lines that differ and those next to them."""
    wanted = {
        near
        for at, (mark, _) in enumerate(rows)
        if mark != " "
        for near in range(at - 2, at + 3)
    }
    shown = [row for at, row in enumerate(rows) if at in wanted]
    yield from shown[: 2 * MANY]


def _basis(verdict: Migration) -> Iterator[Text]:
    yield Text()
    if verdict.sharpness is not None and (
        found := [*sharpness_lines(verdict.sharpness)]
    ):
        yield from found
        yield Text()
    yield Text(f"Rests on {verdict.worlds} worlds (corpus {verdict.digest[:12]}).")
    yield from (_indented(line) for line in given_lines(verdict.given))
    if verdict.diverging:
        yield _indented(f"{verdict.diverging} of them show a divergence")
    for side in SIDES:
        if side in verdict.exercise:
            yield from _exercise(side, verdict.exercise[side])


def _exercise(side: str, ran: Exercise) -> Iterator[Text]:
    covered = ran.arms - len(ran.uncovered)
    branches = f"; {covered} of {ran.arms} branches taken" if ran.arms else ""
    yield Text(f"{side}  {ran.subject}{branches}")
    if ran.frameworks:
        names = ", ".join(f"{name} {at}" for name, at in ran.frameworks.items())
        yield _indented(f"built with {names}; it can be run {' and '.join(ran.ways)}")
    for hook, times in ran.hooks.items():
        word = f"entered {times} times" if times else "NEVER ENTERED"
        yield _indented(f"{hook}: {word}", "" if times else "bold yellow")
    for arm in ran.uncovered[:MANY]:
        yield _indented(f"not taken: {arm}", "yellow")
    if len(ran.uncovered) > MANY:
        yield _indented(f"and {len(ran.uncovered) - MANY} more", "yellow")
    if ran.printed:
        yield _indented(f"printed, which is not compared: {short(ran.printed[0])}")


def _value(value: object) -> str:
    if value == MISSING:
        return MISSING
    if isinstance(value, Mapping) and "role" in value:
        return short(message_line(cast("Mapping[str, Any]", value)))
    return short(json.dumps(value, ensure_ascii=False))


def _indented(text: str, style: str = "") -> Text:
    return Text(f"  {text}", style)
