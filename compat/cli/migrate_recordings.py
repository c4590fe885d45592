"""The option of ``refengine migrate check`` for an OLD that is only recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from compat.cli.command import (
    SIDES_PART,
    is_given,
    option,
)
from compat.cli.values import PATH

if TYPE_CHECKING:
    from compat.migration.subject_runner import CheckOptions
    from compat.migration.surroundings import AskedSides
    from compat.verdicts.migration import Migration

F = TypeVar("F", bound=Callable[..., int])

MADE: Final = ("examples", "seed", "domain", "search_plays", "sharpness_plays")
"""Options of worlds that are made, of which there are none."""


@dataclass(frozen=True, slots=True)
class RecordedOld:
    """The files that OLD was recorded in, as the line names them."""

    files: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files)

    def wrong(self, sides: Sequence[str], others: bool) -> str | None:  # one line
        """Return what is wrong with the line; ``others`` tells of what does not fit."""
        if not self:
            return None
        if len(sides) != 1:
            return (
                "with --old-recording give NEW alone, as the one side that runs;"
                f" {len(sides)} given"
            )
        if others or any(map(is_given, MADE)):
            return (
                "--old-recording goes with --require, --settings, --timeout,"
                " --engine-profile, --env, --net, --side-doors, --new-with, --new-setup"
                " and options for files alone: no worlds are made where OLD does not"
                " run"
            )
        return None

    def judged(
        self,
        new: str,
        asked: AskedSides,
        how: CheckOptions,
        require: str | None,
        settings: Path | None,
    ) -> Migration:
        """Return the verdict; raises what ``mistakes`` names."""
        from compat.migration.folder import terms_of
        from compat.migration.recorded.checking import check_recorded
        from compat.migration.refs import RefError, parse_ref
        from compat.migration.surroundings import surrounded_alone
        from compat.models.importing import refuse_twice
        from compat.models.recordings import read_recording

        if asked[0]:
            raise RefError(
                "OLD is recorded and does not run: leave out what it is with"
            )
        ref = parse_ref(new)
        terms = terms_of(settings, ref, require)
        refuse_twice(self.files)
        files = [read_recording(each) for each in self.files]
        with surrounded_alone(ref, asked[1]) as side:
            return check_recorded(files, side, terms, replace(how, sharpness_plays=0))


def of_recordings(check: F) -> F:
    """Add the option: its parameter ``recorded``."""

    @option(
        "--old-recording",
        about="OLD as it was recorded: cassettes, chats, spans, exports of LangSmith"
        " and Langfuse; NEW is the one side that runs",
        kind=PATH,
        metavar="FILE",
        multiple=True,
        part=SIDES_PART,
    )
    @wraps(check)
    def with_recordings(
        *,
        old_recording: tuple[Path, ...],
        **more: Any,  # noqa: ANN401  # the other options of the command
    ) -> int:
        return check(recorded=RecordedOld(old_recording), **more)

    return cast("F", with_recordings)


def recorded_json(verdict: Migration) -> dict[str, object]:
    """Return what a verdict rests on, for the header of a report."""
    return {} if verdict.recorded is None else {"recorded": asdict(verdict.recorded)}
