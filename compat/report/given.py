"""What a report says of a user's own files: how many worlds came from which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from compat.report.conform_text import counted, does
from compat.verdicts.migration import GivenWorlds


def given_lines(given: Iterable[GivenWorlds]) -> Iterator[str]:
    """Yield a line for each file."""
    for each in given:
        if each.played:
            yield f"{each.file}: {each.played} as they are, {each.made} made from them"
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


def given_json(given: Sequence[GivenWorlds]) -> list[dict[str, object]]:
    """Return the same for a header of JSON."""
    return [
        {
            "file": each.file,
            "played": each.played,
            "made": each.made,
            **({"of": each.of, "bound": each.bound} if each.of else {}),
            **({"not_read": dict(each.not_read)} if each.not_read else {}),
        }
        for each in given
    ]
