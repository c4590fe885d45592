"""What cannot be asked of a check, by the language of its sides."""

from __future__ import annotations

from collections.abc import Sequence

from compat.migration.refs import PYTHON, RefError, SubjectRef
from compat.migration.subject_runner import CheckOptions


class UnfitSidesError(RefError):
    """Two sides, or a side and an option, that do not go together."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(f"{what}: {instead}")


def refuse_unfit(refs: Sequence[SubjectRef], how: CheckOptions) -> None:
    """Raise UnfitSidesError for sides that cannot be judged as is asked."""
    old, *_ = refs
    other = next((each for each in refs if each.language != old.language), None)
    if other is not None:
        raise UnfitSidesError(
            f"{old} is in {old.language}, {other} in {other.language}",
            "a check compares sides of one language; programs of any two are compared"
            " by --old-cmd and --new-cmd",
        )
    if old.language == PYTHON:
        named = next((each.engine for each in refs if each.engine), None)
        if named is not None:
            raise UnfitSidesError(
                f"{named!r} is an engine for sides in another language than {old}",
                "leave it out; --profile says what sides in Python are played on",
            )
        return
    for asked, what in (
        (how.wire, "--wire"),
        (how.min_sharpness, "--min-sharpness"),
        (how.reach.net, "--net"),
    ):
        if asked:
            raise UnfitSidesError(f"{what} with {old}", NOT_BUILT[what])


NOT_BUILT = {
    "--wire": "a side behind a driver asks the world for its answers, so leave it out",
    "--min-sharpness": "small changes are made in Python only, so leave it out and"
    " write a wrong port of your own that has to diverge",
    "--net": "sockets of a driver are not refused, so leave it out",
}
"""Options that a side behind a driver has no part in, and what to do instead."""
