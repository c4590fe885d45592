"""What the answer of a check rests on: worlds, what ran, and how sharp they were."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from textwrap import wrap
from typing import Final

from rich.text import Text

from compat.report.conform_text import counted, does
from compat.report.divergence_sentence import sentence
from compat.report.migration_headline import NARROW, holds_weakly, indented
from compat.report.values import brief
from compat.verdicts.migration import (
    SIDES,
    Exercise,
    ExercisedSetup,
    GivenWorlds,
    HiddenDivergence,
    Migration,
    OverTheWire,
    PointsVerdict,
    RecordedBasis,
    Side,
)
from compat.verdicts.sharpness import Sharpness, Unnoticed
from refengine.testing.subject_worlds.named_values import MovedValue

MANY: Final = 12
"""So many lines of one kind are shown; the JSON report has all of them."""
_LINE: Final = re.compile(", line (?=\\d+: )")
MARK: Final = (
    "A branch that nothing can take is marked in migration.toml: [[equivalent]], with"
    " its file, line, change and a reason."
)
WIDE: Final = 200
"""So much of a change is shown: what is compared stands in it twice."""


def version_lines(versions: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Yield what the sides have in other versions, and what one of them has alone."""
    both = [
        f"{name} {old} → {new}" for name, (old, new) in versions.items() if old and new
    ]
    if both:
        yield f"old → new: {', '.join(both)}"
    for side, other in (("old", 1), ("new", 0)):
        alone = [name for name, each in versions.items() if not each[other]]
        more = f" and {len(alone) - MANY} more" if len(alone) > MANY else ""
        if alone:
            yield f"only {side} has {', '.join(alone[:MANY])}{more}"


def basis_lines(verdict: Migration) -> Iterator[str]:
    """Yield what an answer is about, and how sharp it is: versions, small changes."""
    yield from version_lines(verdict.versions)
    for side, sharp in verdict.sharp_sides:
        yield sharpness_line(side, sharp)
    yield from (f"may be: {each}" for each in verdict.documented)


def given_lines(given: Iterable[GivenWorlds]) -> Iterator[str]:
    """Yield a line for each file."""
    for each in given:
        if each.played:
            lost = f"; {each.left_out} of both left out" if each.left_out else ""
            many = f"{each.played} as they are, {each.made} made from them"
            yield f"{each.file}: {many}{lost}"
        else:
            yield f"{each.file}: in {each.made} of them"
        if each.of:
            yield (
                f"{each.file}: a sample of {counted(each.of, 'session')}; if none of it"
                f" diverges, at most {each.bound:.2%} of them do, at 95 %"
            )
        for api, count in each.not_read.items():
            what = f"{counted(count, 'exchange')} of {api}"
            yield f"{each.file}: {what} {does(count, 'were')} not read"


def wire_lines(found: OverTheWire) -> Iterator[Text]:
    """Yield the line of the clients, and that of the worlds left out if any were."""
    chat, *others = found.versions.items()
    rest = "".join(f", {name} {version}" for name, version in others)
    yield Text(f"over the wire: ChatOpenAI {chat[1]}{rest}")
    if found.left_out:
        count = sum(found.left_out.values())
        why = ", ".join(
            f"{times} with {each}" for each, times in sorted(found.left_out.items())
        )
        yield Text(f"  {counted(count, 'world')} left out: {why}")
    if found.cases:
        why = "there is one way to run a graph"
        yield Text(
            f"  {counted(len(found.cases), 'case')} left out, {why}:"
            f" {', '.join(found.cases)}"
        )


def basis(verdict: Migration, *, verbose: bool) -> Iterator[Text]:
    """Yield what was not noticed, and how many worlds of which kind there were."""
    yield Text()
    told: set[tuple[str, str]] = set()
    for side, sharp in verdict.sharp_sides:
        if found := [*_unnoticed(side, sharp, told)]:
            yield from found
            yield Text()
        told |= {(e.source, e.change) for e in sharp.unnoticed if e.reason is None}
    worlds = counted(verdict.worlds, "world")
    corpus = f" (corpus {verdict.digest[:12]})" if verbose else ""
    if verdict.recorded is not None:
        worlds = counted(verdict.recorded.sessions, "recorded session")
    yield Text(f"Rests on {worlds}{corpus}.")
    if verdict.recorded is not None:
        yield from map(indented, _unshown(verdict.recorded))
    yield from (indented(line) for line in given_lines(verdict.given))
    if verdict.searched is not None:
        plays, joined = verdict.searched.plays, verdict.searched.joined
        yield indented(f"a search of {counted(plays, 'play')} added {joined} of them")
    yield from map(indented, _domain(verdict))
    yield from map(indented, _groups(verdict))
    yield from map(indented, map(_moved, verdict.moved))
    if verdict.points is not None:
        yield from map(indented, _points(verdict.points))
    yield from map(indented, _handed(verdict, verbose=verbose))
    yield from _sides(verdict, verbose=verbose)


def _sides(verdict: Migration, *, verbose: bool) -> Iterator[Text]:
    """Yield what of each side ran, and what its own code broke in."""
    for side in SIDES:
        if side in verdict.exercise:
            yield from _exercise(side, verdict.exercise[side], verbose=verbose)
        for text, times in [*verdict.failures.get(side, {}).items()][:MANY]:
            line = f"its own code broke in {counted(times, 'world')}: {brief(text)}"
            yield indented(line, "yellow")
    if holds_weakly(verdict) and any(e.uncovered for e in verdict.exercise.values()):
        yield from map(Text, wrap(MARK, NARROW))


def _moved(value: MovedValue) -> str:
    """Return by which doors a value comes, and what the user has to do."""
    name, old, new = value.name, value.old, value.new
    if value.declared:
        return (
            f"your application has to give {name!r} as {new}, where OLD had it as {old}"
        )
    told = (
        f"NEW looks for {name!r} as {new}, and is given it as {old}, as OLD is: if your"
    )
    return f"{told} application gives it there, NEW has to say so"


def _unshown(found: RecordedBasis) -> Iterator[str]:
    """Yield what of OLD is not known, and where that may matter."""
    if found.reworded:
        many = f"in {found.reworded:,} of them"
        yield f"{many} NEW answers otherwise than its model; did OLD?"
    yield "not recorded, so not compared:"
    yield from (f"  {each}" for each in found.unshown)


def _domain(verdict: Migration) -> Iterator[str]:
    """Yield how many worlds are apart from the ordinary ones, and why."""
    if verdict.apart:
        are = f"{does(verdict.apart, 'are')} unusual: no application"
        them = "it" if verdict.apart == 1 else "them"
        yield f"{verdict.apart} of them {are} meets {them}"
    if verdict.unsteady:
        many = verdict.unsteady
        are = does(many, "are")
        yield f"{many} of them {are} left out: there a side differs from itself"
    if verdict.outside:
        many = sum(verdict.outside.values())
        yield f"{many} of them {does(many, 'are')} left out: OLD cannot be run there"
        for reason, count in [*verdict.outside.items()][:3]:
            yield f"  {brief(reason)} ({count})"


def _points(found: PointsVerdict) -> Iterator[str]:
    """Yield how many of the points where the engines differ were played, and which."""
    states = Counter(each.state for each in found.each)
    many, absent = len(found.each), states["absent"]
    line = f"{counted(many, 'point')} where {found.old} and {found.new} differ:"
    line += f" {states['played']} played, {absent} {does(absent, 'do')} not concern it"
    yield f"{line}, {states['unplayed']} left out" if states["unplayed"] else line
    for each in found.each:
        if each.state == "unplayed":
            yield f"  {each.id}: not played, {each.reason}"
        elif each.diverging:
            worlds = counted(each.diverging, "world")
            yield f"  {each.id}: diverges in {worlds} ({found.guide}, {each.about})"


def _handed(verdict: Migration, *, verbose: bool) -> Iterator[str]:
    """Yield how many runs that OLD kept were resumed by NEW, or why none was.

    Of what keeps no run by itself, as a graph may, nobody expects that.
    """
    found = verdict.hand_over
    if found is None or (found.absent and not (verbose or verdict.of_graphs)):
        return
    if found.absent:
        yield f"hand-over does not concern this subject: {found.absent}"
        return
    points = ", ".join(f"{many} {point}" for point, many in found.played.items())
    many = sum(found.played.values())
    line = f"{counted(many, 'run')} that OLD kept {does(many, 'were')} resumed by NEW"
    diverging = f"; {found.diverging} diverge" if found.diverging else ""
    yield f"{line}{diverging}"
    yield f"  {points}; kept in {' and '.join(found.stores)}"
    for path, (was, comes) in [*found.changed.items()][:MANY]:
        yield f"  {path} is a {was} in the run, and comes back to OLD as a {comes}"


def _groups(verdict: Migration) -> Iterator[str]:
    """Yield how many worlds diverge, by code and channel."""
    if not verdict.diverging:
        return
    if verdict.recorded is not None and len(verdict.groups) < 2:
        return
    of = verdict.worlds if verdict.ordinary is None else verdict.ordinary
    many = verdict.diverging
    what = "a divergence" if not verdict.sufficient else "the difference"
    yield f"{many:,} of {counted(of, 'world')} {does(many, 'show')} {what}"
    if len(verdict.groups) > 1:
        for each in verdict.groups[:MANY]:
            yield f"  {each.code} in {each.channel}: {each.worlds}"
    if verdict.hidden is not None:
        yield from _hidden(verdict.hidden)


def _hidden(found: HiddenDivergence) -> Iterator[str]:
    """Yield what shows once the change of a text above is taken for right."""
    told, many = found.divergence, found.diverging
    yield f"behind that change of a text {counted(many, 'world')} {does(many, 'show')}"
    yield f"  {told.code} in {told.difference.channel}: {sentence(told, found.world)}"


def _exercise(side: str, ran: Exercise, *, verbose: bool) -> Iterator[Text]:
    covered = ran.arms - len(ran.uncovered) - len(ran.marked)
    branches = f"; {covered} of {counted(ran.arms, 'branch')} taken" if ran.arms else ""
    yield Text(f"{side}  {ran.subject}{branches}")
    if ran.frameworks:
        names = ", ".join(f"{name} {at}" for name, at in ran.frameworks.items())
        tried = f"; tried: {', '.join(ran.ways)}" if ran.ways else ""
        yield indented(f"built with {names}{tried}")
    if ran.setup is not None:
        yield from _setup(ran.setup)
    for hook, times in ran.hooks.items():
        if times and not verbose:
            continue
        verb = "called" if hook.startswith("tool ") else "entered"
        word = f"{verb} {counted(times, 'time')}" if times else f"NEVER {verb.upper()}"
        yield indented(f"{hook}: {word}", "" if times else "bold yellow")
    for arm in ran.uncovered[:MANY]:
        yield indented(f"not taken: {_LINE.sub(':', arm, 1)}", "yellow")
    for arm, reason in ran.marked.items():
        yield indented(f"not taken: {_LINE.sub(':', arm, 1)} ({reason})", "dim")
    if len(ran.uncovered) > MANY:
        yield indented(f"and {len(ran.uncovered) - MANY} more", "yellow")
    if ran.printed:
        yield indented(f"printed: {brief(ran.printed[0])}")


def _setup(found: ExercisedSetup) -> Iterator[Text]:
    names = ", ".join(f"{name} {at}" for name, at in found.brought.items())
    brought = f" brought {names};" if names else ""
    if found.idle:
        did = " no span, no patch: is it on?"
    else:
        seen = counted(found.changed, "patch")
        did = f" {seen}, {counted(found.spans, 'span')}, none of which was sent"
    yield indented(f"{found.name}:{brought}{did}", "bold yellow" if found.idle else "")


def sharpness_line(side: Side, found: Sharpness) -> str:
    """Return how sharp a verdict is for a side, in one line."""
    if found.refused is not None:
        return f"How sharp that is, is not known: {found.refused}."
    if found.empty:
        return f"There is nothing of {side.upper()} alone to change."
    if not found.tried:
        what = f"no small change of {side.upper()} was tried"
        return f"How sharp that is, is not known: {what}."
    line = (
        f"The worlds noticed {found.noticed} of {counted(found.tried, 'small change')}"
        f" of {side.upper()} ({found.raw:.0f} %)"
    )
    if found.marked:
        line += f"; {found.percent:.0f} % without {len(found.marked)} marked equivalent"
    if found.remembered:
        line += f"; {found.remembered} of them known from an earlier check"
    return f"{line}."


def _unnoticed(
    side: Side, found: Sharpness, told: Container[tuple[str, str]]
) -> Iterator[Text]:
    """Yield what was not noticed of a side, and what would notice it.

    A line that stands on both sides is one gap, ``told`` with the other side.
    """
    every = [each for each in found.unnoticed if each.reason is None]
    open_ones = [each for each in every if (each.source, each.change) not in told]
    if not found.enough:
        text = f"less than the {found.least:g} % that are required"
        yield Text(f"NOT SHARP ENOUGH  {text}", "bold yellow")
    if open_ones:
        yield Text(f"Not noticed of {side.upper()}, and what would notice it:")
    for each in open_ones[:MANY]:
        yield Text(f"  {each.file}:{each.line}: {_cut(each.source)}", "yellow")
        yield Text(f"    {_cut(each.change)}")
        yield Text(f"    {_reached(each)}; {_cut(each.needs)}", "dim")
    if len(open_ones) > MANY:
        yield Text(f"  and {len(open_ones) - MANY} more", "yellow")
    if twice := len(every) - len(open_ones):
        change = counted(twice, "change")
        yield Text(f"Nor of {side.upper()}: {change} of a line that is on both sides.")
    for each in found.marked:
        change = _cut(each.change)
        yield Text(f"  {each.file}:{each.line}: {change} ({each.reason})", "dim")
    for text in found.stale:
        yield Text(f"  marked equivalent, UNUSED: {text}", "bold yellow")
    if found.untried:
        more = counted(found.untried, "more small change")
        yield Text(
            f"  {more} {does(found.untried, 'were')} not tried in"
            f" {counted(found.plays, 'play')}: --sharpness-plays allows more",
            "yellow",
        )


def _reached(each: Unnoticed) -> str:
    """Return how many worlds reach the line of a change."""
    if not each.worlds:
        return f"no world reaches line {each.line}"
    played = "" if each.played == each.worlds else f", played in {each.played}"
    return f"reached by {counted(each.worlds, 'world')}{played}"


def _cut(text: str) -> str:
    return text if len(text) <= WIDE else f"{text[: WIDE - 1]}…"
