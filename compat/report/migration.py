"""The answer of a migration check, for a person at a terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from types import MappingProxyType
from typing import Final

from rich.text import Text

from compat.report.conform_text import counted, does
from compat.report.counterexample import code
from compat.report.divergence_sentence import is_shown_alone, sentence
from compat.report.next_step import NextStep, declarations
from compat.report.values import Row, both, brief, columns, rows_beside
from compat.verdicts.migration import (
    SIDES,
    DescribedDivergence,
    Exercise,
    ExercisedSetup,
    GivenWorlds,
    HiddenDivergence,
    JudgedCase,
    Migration,
    Noise,
    OverTheWire,
    PointsVerdict,
    RecordedBasis,
    Side,
    UnusualDivergence,
)
from compat.verdicts.relations import DEFAULT_RELATION, channels_of
from compat.verdicts.sharpness import Sharpness, Unnoticed
from compat.verdicts.weakness import is_weak, most_telling
from refengine.testing.json_values import is_mapping
from refengine.testing.subject_worlds.named_values import MovedValue
from refengine.testing.trace import MISSING

NEXT: Final = "What keeps the next relation from holding"
"""What the divergence is where all that is required holds."""
STYLES: Final = {"-": "red", "+": "green", " ": "dim"}
MANY: Final = 12
"""So many lines of one kind are shown; the JSON report has all of them."""
_LINE: Final = re.compile(", line (?=\\d+: )")
MARK: Final = (
    "A branch that nothing can take is marked in migration.toml: [[equivalent]], with"
    " its file, line, change and a reason."
)
SCREEN: Final = 40
"""So many lines of a world are shown."""
NOT_STRICT: Final = (
    "So this is no proof yet; it passes all the same, unless you ask for --strict"
)
STRICT: Final = "So this is no proof yet, and does not pass: --strict was asked for"
NARROW: Final = 80
"""So long is a line of a sentence at most."""
CAUSE: Final = 400
"""So long is what an error says at most: a framework's wrapping comes first."""
BROAD: Final = 120
"""From so many columns on, old and new stand side by side if they fit."""
WIDE: Final = 200
"""So much of a change is shown: what is compared stands in it twice."""


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
    yield from map(_indented, version_lines(verdict.versions))
    if verdict.interrupted:
        what = "it would have gone on looking; this is what was found by then"
        yield Text(f"INTERRUPTED  {what}", "bold yellow")
    if verdict.fault is not None:
        return
    for side, sharp in verdict.sharp_sides:
        yield _indented(_sharpness(side, sharp))
    yield from evidence(verdict, width)
    shown = None if verdict.world is None else verdict.divergence
    if shown is not None and again and not verdict.sufficient:
        yield Text()
        yield Text("Next:")
        yield from map(_indented, again.lines(shown.innermost or shown.difference))
        yield from map(_indented, declarations(verdict))
    for allowed in verdict.allowed:
        word = "used" if allowed.used else "UNUSED: its world does not need it"
        yield _indented(
            f"allowed in {allowed.channel} {allowed.path} ({allowed.reason}): {word}"
        )
    for place in verdict.unused:
        yield _indented(f"volatile in {place}: UNUSED, it differs nowhere")
    yield from _basis(verdict, verbose=verbose)


def evidence(verdict: Migration, width: int = NARROW) -> Iterator[Text]:
    """Yield what shows the answer: noise, a lost intention, and what differs where."""
    for each in sorted(verdict.noise, key=_consequence)[:MANY]:
        yield _indented(
            f"{each.side} differs from itself in {each.channel} {each.path}:"
            f" {', then '.join(both(*each.values))}"
        )
    for broken in verdict.broken:
        yield Text(f"INTENT  {broken.side} lacks: {broken.text}", "bold red")
        yield from (_indented(line) for line in code(broken.world))
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
        yield _sharpness(side, sharp)
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


def _consequence(noise: Noise) -> bool:
    """Tell whether a field shows what others saw, and not what the side did."""
    return noise.channel not in channels_of(DEFAULT_RELATION)


def answer(verdict: Migration) -> Iterator[Text]:
    """Yield the headline, and what to do where nothing can be said."""
    said, style = headline_of(verdict)
    if holds_weakly(verdict):
        wrapped = wrap(said, NARROW, subsequent_indent="  ", break_on_hyphens=False)
        yield from (Text(each, style) for each in wrapped)
        yield _indented(NOT_STRICT if not verdict.strict else STRICT, "yellow")
    else:
        yield Text(said, style)
    if verdict.fault is not None:
        return
    if verdict.noise:
        yield _indented(
            "take time, ids and random numbers from world.now(), world.new_id() and"
            " world.random, or declare the field volatile in migration.toml"
        )
    elif verdict.unusual is not None:
        yield _unusual(verdict.unusual)


def _unusual(found: UnusualDivergence) -> Text:
    """Return the line of what only worlds show that no application meets."""
    code, many = found.divergence.code, found.diverging
    what = f"{code} in {counted(many, 'world')} that no application meets"
    return Text(f"DIVERGES ELSEWHERE  {what} ({_counted(found.reasons)})", "yellow")


def _counted(reasons: Mapping[str, int]) -> str:
    shown = [f"{reason}: {many}" for reason, many in [*reasons.items()][:3]]
    return "; ".join([*shown, *(["…"] if len(reasons) > 3 else [])])


def headline_of(verdict: Migration) -> tuple[str, str]:
    """Return what the headline says, in full, and in which style."""
    if verdict.fault is not None:
        return f"CANNOT BE JUDGED  {verdict.fault.text}", "bold red"
    if verdict.noise:
        return "NOT COMPARABLE  a side differs from itself", "bold yellow"
    if holds_weakly(verdict):
        said = f"HOLDS WEAKLY  {verdict.holds}{_narrow(verdict)}"
        return f"{said}: {unnoticed_things(verdict)}", "bold yellow"
    return _compared(verdict)


def unnoticed_things(verdict: Migration) -> str:
    """Return the two most telling things unnoticed, and what would notice them."""
    some = (f"{each.what} (needs {each.needs})" for each in most_telling(verdict))
    return "; ".join(some)


def holds_weakly(verdict: Migration) -> bool:
    """Tell whether the headline says that it holds weakly, and nothing else."""
    wrong = verdict.fault or verdict.noise or verdict.idle or verdict.broken
    told = wrong or verdict.crashed or verdict.nothing_ran or verdict.stale
    return not told and is_weak(verdict)


def _compared(verdict: Migration) -> tuple[str, str]:
    """Return the headline of sides that could be compared, as the exit code says."""
    holds = f"{verdict.holds or 'no relation'} holds"
    if verdict.crashed:
        return _crashed(verdict), "bold yellow"
    if verdict.nothing_ran:
        what = "there is no ordinary world in which OLD works"
        return f"NOTHING COMPARED  {what}", "bold yellow"
    if verdict.idle:
        what = f"{holds} where it ran, {verdict.required} is required"
        return f"NOT EXERCISED  {what}{_narrow(verdict)}", "bold yellow"
    if not verdict.sufficient:
        what = f"{holds}, {verdict.required} is required"
        if verdict.recorded is not None:
            of = counted(verdict.recorded.sessions, "recorded session")
            what = f"from {verdict.diverging:,} of {of}"
        return f"DIVERGES  {what}{_narrow(verdict)}", "bold red"
    if verdict.broken:
        return f"LACKS WHAT IS INTENDED  {holds}{_narrow(verdict)}", "bold red"
    known = verdict.recorded
    basis = "" if known is None else f", as far as {_recorded(known)}"
    said, style = f"HOLDS  {verdict.holds}{basis}", "bold green"
    if verdict.stale:
        said, style = f"HAS UNUSED ENTRIES  {holds}", "bold yellow"
    return said + _narrow(verdict), style


def _recorded(found: RecordedBasis) -> str:
    """Return what a headline says of recorded sessions: how many, and of what."""
    what = f"{', '.join(found.shown[:-1])} and {found.shown[-1]}"
    many = counted(found.sessions, "recorded session")
    return f"{many} {does(found.sessions, 'show')}: {what}"


def _crashed(verdict: Migration) -> str:
    """Return the headline where mostly OLD's own code was seen to break."""
    broken = verdict.failures["old"]
    many, of = sum(broken.values()), counted(verdict.worlds, "world")
    what = f"OLD's own code breaks in {many:,} of {of}: {brief(next(iter(broken)))}"
    return f"NOT EXERCISED  {what}"


def _narrow(verdict: Migration) -> str:
    """Return what a headline says of the worlds that it is about, if they are few."""
    where = "" if verdict.unusual is None else " in ordinary worlds"
    if verdict.narrow:
        inside = verdict.worlds - sum(verdict.outside.values())
        of = counted(verdict.worlds, "world")
        where += f", where OLD can be run ({inside:,} of {of})"
    return where


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
        yield _indented(f"{name:6} {text}")
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
    yield from (_indented(f"  {line}") for line in shown)
    if len(rows) > len(shown):
        more = counted(len(rows) - len(shown), "more line")
        yield _indented(f"  # {more}: --save-world FILE writes all of it")


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
        yield _indented(f"around it in {channel}, old | new:")
        yield from (_indented(f"  {each}") for each in beside)
        return
    yield _indented(f"around it in {channel}, - only old, + only new:")
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


def _basis(verdict: Migration, *, verbose: bool) -> Iterator[Text]:
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
        yield from map(_indented, _unshown(verdict.recorded))
    yield from (_indented(line) for line in given_lines(verdict.given))
    if verdict.searched is not None:
        plays, joined = verdict.searched.plays, verdict.searched.joined
        yield _indented(f"a search of {counted(plays, 'play')} added {joined} of them")
    yield from map(_indented, _domain(verdict))
    yield from map(_indented, _groups(verdict))
    yield from map(_indented, map(_moved, verdict.moved))
    if verdict.points is not None:
        yield from map(_indented, _points(verdict.points))
    yield from map(_indented, _handed(verdict, verbose=verbose))
    yield from _sides(verdict, verbose=verbose)


def _sides(verdict: Migration, *, verbose: bool) -> Iterator[Text]:
    """Yield what of each side ran, and what its own code broke in."""
    for side in SIDES:
        if side in verdict.exercise:
            yield from _exercise(side, verdict.exercise[side], verbose=verbose)
        for text, times in [*verdict.failures.get(side, {}).items()][:MANY]:
            line = f"its own code broke in {counted(times, 'world')}: {brief(text)}"
            yield _indented(line, "yellow")
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
        yield _indented(f"built with {names}{tried}")
    if ran.setup is not None:
        yield from _setup(ran.setup)
    for hook, times in ran.hooks.items():
        if times and not verbose:
            continue
        verb = "called" if hook.startswith("tool ") else "entered"
        word = f"{verb} {counted(times, 'time')}" if times else f"NEVER {verb.upper()}"
        yield _indented(f"{hook}: {word}", "" if times else "bold yellow")
    for arm in ran.uncovered[:MANY]:
        yield _indented(f"not taken: {_LINE.sub(':', arm, 1)}", "yellow")
    for arm, reason in ran.marked.items():
        yield _indented(f"not taken: {_LINE.sub(':', arm, 1)} ({reason})", "dim")
    if len(ran.uncovered) > MANY:
        yield _indented(f"and {len(ran.uncovered) - MANY} more", "yellow")
    if ran.printed:
        yield _indented(f"printed: {brief(ran.printed[0])}")


def _setup(found: ExercisedSetup) -> Iterator[Text]:
    names = ", ".join(f"{name} {at}" for name, at in found.brought.items())
    brought = f" brought {names};" if names else ""
    if found.idle:
        did = " no span, no patch: is it on?"
    else:
        seen = counted(found.changed, "patch")
        did = f" {seen}, {counted(found.spans, 'span')}, none of which was sent"
    yield _indented(f"{found.name}:{brought}{did}", "bold yellow" if found.idle else "")


def _sharpness(side: Side, found: Sharpness) -> str:
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


def _indented(text: str, style: str = "") -> Text:
    return Text(f"  {text}", style)
