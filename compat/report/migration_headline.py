"""What a migration check answers in one line, and in which style."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Final

from rich.text import Text

from compat.report.conform_text import counted, does
from compat.report.values import brief
from compat.verdicts.migration import (
    Migration,
    RecordedBasis,
    UnusualDivergence,
)
from compat.verdicts.weakness import is_weak, most_telling

NOT_STRICT: Final = (
    "So this is no proof yet; it passes all the same, unless you ask for --strict"
)
STRICT: Final = "So this is no proof yet, and does not pass: --strict was asked for"
NARROW: Final = 80
"""So long is a line of a sentence at most."""


def answer(verdict: Migration) -> Iterator[Text]:
    """Yield the headline, and what to do where nothing can be said."""
    said, style = headline_of(verdict)
    if holds_weakly(verdict):
        wrapped = wrap(said, NARROW, subsequent_indent="  ", break_on_hyphens=False)
        yield from (Text(each, style) for each in wrapped)
        yield indented(NOT_STRICT if not verdict.strict else STRICT, "yellow")
    else:
        yield Text(said, style)
    if verdict.fault is not None:
        return
    if verdict.noise:
        yield indented(
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


def indented(text: str, style: str = "") -> Text:
    """Return a line below the headline."""
    return Text(f"  {text}", style)
