"""What a report says of a check over the wire: by which client, and without what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from compat.report.conform_text import counted


@dataclass(frozen=True, slots=True)
class OverTheWire:
    """The clients' versions by distribution, and how many worlds were left out why.

    ``cases`` of a folder were left out because they lose a way to be run.
    """

    versions: Mapping[str, str]
    left_out: Mapping[str, int]
    cases: Sequence[str] = ()


def wire_lines(found: OverTheWire) -> Iterator[Text]:
    """Yield the line of the clients, and that of the worlds left out if any were."""
    chat, *others = found.versions.items()
    rest = "".join(f", {name} {version}" for name, version in others)
    yield Text(f"over the wire: ChatOpenAI {chat[1]}{rest}")
    if found.left_out:
        count = sum(found.left_out.values())
        why = ", ".join(f"{times} with {each}" for each, times in _sorted(found))
        yield Text(f"  {counted(count, 'world')} left out: {why}")
    if found.cases:
        why = "there is one way to run a graph"
        yield Text(
            f"  {counted(len(found.cases), 'case')} left out, {why}:"
            f" {', '.join(found.cases)}"
        )


def wire_json(found: OverTheWire) -> dict[str, Any]:
    """Return both for the header of a report."""
    return {
        "clients": dict(found.versions),
        "left_out": dict(_sorted(found)),
        "cases_left_out": list(found.cases),
    }


def _sorted(found: OverTheWire) -> list[tuple[str, int]]:
    return sorted(found.left_out.items())
