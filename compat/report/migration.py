"""The answer of a migration check, for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from types import MappingProxyType
from typing import Final

from rich.text import Text

from compat.report.conform_text import counted, does
from compat.report.counterexample import code
from compat.report.divergence_sentence import is_shown_alone, sentence
from compat.report.migration_basis import (
    MANY,
    basis,
    sharpness_line,
    version_lines,
)
from compat.report.migration_headline import (
    NARROW,
    answer,
    holds_weakly,
    indented,
)
from compat.report.next_step import NextStep, declarations
from compat.report.values import Row, both, brief, columns, rows_beside
from compat.verdicts.migration import (
    SIDES,
    DescribedDivergence,
    JudgedCase,
    Migration,
    Noise,
)
from compat.verdicts.relations import DEFAULT_RELATION, channels_of
from refengine.testing.json_values import is_mapping
from refengine.testing.trace import MISSING

NEXT: Final = "What keeps the next relation from holding"
"""What the divergence is where all that is required holds."""
STYLES: Final = {"-": "red", "+": "green", " ": "dim"}
SCREEN: Final = 40
"""So many lines of a world are shown."""
CAUSE: Final = 400
"""So long is what an error says at most: a framework's wrapping comes first."""
BROAD: Final = 120
"""From so many columns on, old and new stand side by side if they fit."""


def lines(
    verdict: Migration,
    *,
    verbose: bool = False,
    again: NextStep | None = None,
    width: int = NARROW,
) -> Iterator[Text]:
    """Yield the lines of the report: answer, evidence, what to do, what it rests on.

    What only who works on the check needs, such as hashes and counts of hooks, is shown
    if it is ``verbose``. ``again`` keeps what shows a divergence.
    Where the terminal is ``width`` enough, old and new stand side by side.
    """
    yield from answer(verdict)
    yield from map(indented, version_lines(verdict.versions))
    if verdict.interrupted:
        what = "it would have gone on looking; this is what was found by then"
        yield Text(f"INTERRUPTED  {what}", "bold yellow")
    if verdict.fault is not None:
        return
    for side, sharp in verdict.sharp_sides:
        yield indented(sharpness_line(side, sharp))
    yield from evidence(verdict, width)
    shown = None if verdict.world is None else verdict.divergence
    if shown is not None and again and not verdict.sufficient:
        yield Text()
        yield Text("Next:")
        yield from map(indented, again.lines(shown.innermost or shown.difference))
        yield from map(indented, declarations(verdict))
    for allowed in verdict.allowed:
        word = "used" if allowed.used else "UNUSED: its world does not need it"
        yield indented(
            f"allowed in {allowed.channel} {allowed.path} ({allowed.reason}): {word}"
        )
    for place in verdict.unused:
        yield indented(f"volatile in {place}: UNUSED, it differs nowhere")
    yield from basis(verdict, verbose=verbose)


def evidence(verdict: Migration, width: int = NARROW) -> Iterator[Text]:
    """Yield what shows the answer: noise, a lost intention, and what differs where."""
    for each in sorted(verdict.noise, key=_consequence)[:MANY]:
        yield indented(
            f"{each.side} differs from itself in {each.channel} {each.path}:"
            f" {', then '.join(both(*each.values))}"
        )
    for broken in verdict.broken:
        yield Text(f"INTENT  {broken.side} lacks: {broken.text}", "bold red")
        yield from (indented(line) for line in code(broken.world))
    if verdict.divergence is not None and verdict.world is not None:
        yield from _divergence(verdict.divergence, verdict, width)


def case_line(case: JudgedCase) -> Text:
    """Return the line of one case."""
    line = Text(*_MET[case.met, case.met and holds_weakly(case.verdict)])
    line.append(f"{case.piece}/{case.case}  ", "default")
    if case.met:
        line.append(case.got, "dim")
    else:
        line.append(f"{case.got}, expected {case.expected}", "red")
    return line


_MET: Final = MappingProxyType(
    {
        (True, False): ("met     ", "green"),
        (True, True): ("weakly  ", "yellow"),
        (False, False): ("NOT MET ", "bold red"),
    }
)
"""How the line of a case begins, by whether it is met, and so weakly."""


def _seen(case: JudgedCase) -> str:
    """Return how many worlds show what is expected, where something else is told."""
    verdict = case.verdict
    if not case.met or verdict.divergence is None:
        return ""
    worlds = sum(each.worlds for each in verdict.groups if each.code == case.expected)
    if not worlds or verdict.divergence.code == case.expected:
        return ""
    return f", which {counted(worlds, 'world')} {does(worlds, 'show')}"


def folder_lines(
    cases: Sequence[JudgedCase], *, reports: bool = False, verbose: bool = False
) -> Iterator[Text]:
    """Yield the reports of the cases that are not met, or of all, and the counts."""
    for case in cases:
        if reports or not case.met:
            seen = _seen(case)
            yield Text(
                f"\n{case.piece}/{case.case}, expected {case.expected}{seen}:", "bold"
            )
            yield from lines(case.verdict, verbose=verbose)
    met = sum(case.met for case in cases)
    weak = sum(holds_weakly(case.verdict) for case in cases)
    more = f", {weak} weakly" if weak else ""
    yield Text(f"\n{counted(len(cases), 'case')}, {met} met{more}")
    found = {k: v for case in cases for k, v in case.verdict.frameworks.items()}
    if found:
        names = ", ".join(f"{name} {version}" for name, version in found.items())
        yield Text(f"built with {names}")


def _consequence(noise: Noise) -> bool:
    """Tell whether a field shows what others saw, and not what the side did."""
    return noise.channel not in channels_of(DEFAULT_RELATION)


def _divergence(
    found: DescribedDivergence, verdict: Migration, width: int
) -> Iterator[Text]:
    style = "red" if not verdict.sufficient else "cyan"
    yield Text()
    if verdict.sufficient:
        yield Text(f"{NEXT}:")
    said = f"{found.code}  {sentence(found, verdict.world)}"
    wrapped = wrap(said, NARROW, subsequent_indent="  ", break_on_hyphens=False)
    yield from (Text(each, style) for each in wrapped)
    for name, text in facts(found, verdict):
        yield indented(f"{name:6} {text}")
    if len(found.lines) > 1 and any(mark != " " for mark, _ in found.lines):
        yield Text()
        rows = [*rows_beside([*_near(found.lines)])]
        yield from _around(found.difference.channel, rows, width)
    if verdict.world is not None:
        yield Text()
        yield Text(f"{which_world(verdict)}:")
        yield from _code(code(verdict.world, found.called))


def _code(told: Iterable[str]) -> Iterator[Text]:
    """Yield a world's lines; of a very long one its beginning."""
    rows = [*told]
    shown = rows if len(rows) <= SCREEN else rows[: SCREEN - 1]
    yield from (indented(f"  {line}") for line in shown)
    if len(rows) > len(shown):
        more = counted(len(rows) - len(shown), "more line")
        yield indented(f"  # {more}: --save-world FILE writes all of it")


def facts(found: DescribedDivergence, verdict: Migration) -> Iterator[tuple[str, str]]:
    """Yield what is told of a divergence below its sentence: names and texts.

    Where it was seen, what it may come from, whatever was ported, and both values.
    """
    at = found.difference
    yield "where", f"{found.where}  ({at.channel} {at.path})"
    yield from (("line", each) for each in _places(found))
    if verdict.point is not None:
        about = f"{verdict.point.says} ({verdict.point.about})"
        yield "point", f"found in a world about this one: {about}"
    for change in verdict.documented:
        yield "known", f"may be: {change}"
    if verdict.recorded is not None and found.code == "INSTRUCTION":
        yield "note", "NEW was given the instruction that OLD sent; where it adds to"
        yield "", "it, return world.config(instruction=...) with your own"
    for side, text in found.causes:
        yield "cause", f"{side}: {brief(text, CAUSE)}"
    if _is_beside(found):
        yield from zip(SIDES, both(at.old, at.new), strict=True)


def _places(found: DescribedDivergence) -> Iterator[str]:
    """Yield the lines of the sides' own code that ran last before it."""
    of = dict(found.places)
    if len(of) == len(SIDES) and len({*of.values()}) == 1:
        yield f"both: {of['old']}, last before it"
        return
    yield from (f"{side}: {text}, last before it" for side, text in found.places)


def which_world(verdict: Migration) -> str:
    """Return what the world of a verdict is."""
    what = "The smallest world found"
    if verdict.recorded is not None:
        what = "The shortest part of a recorded session"
    return f"{what} that shows it"


def _around(channel: str, rows: Sequence[Row], width: int) -> Iterator[Text]:
    """Yield what both sides show: in two columns where they fit, else with marks."""
    beside = columns(rows, width - len("    ")) if width >= BROAD else []
    if beside:
        yield indented(f"around it in {channel}, old | new:")
        yield from (indented(f"  {each}") for each in beside)
        return
    yield indented(f"around it in {channel}, - only old, + only new:")
    for mark, text in rows:
        yield Text(f"    {mark} {text}", STYLES[mark])


def _is_beside(found: DescribedDivergence) -> bool:
    """Tell whether both values say more than the sentence and the lines around it."""
    values = (found.difference.old, found.difference.new)
    if is_shown_alone(found):  # the other side's is no counterpart of it
        return False
    if MISSING in values:
        return not any(map(is_mapping, values))
    return len(found.lines) <= 1 or not is_mapping(values[0])


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
