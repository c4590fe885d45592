"""Play every documented change again, and fail where its subject no longer shows it.

    python -m tools.known_changes
    python -m tools.known_changes pydantic-ai-graceful-end

Makes the environment of both releases of each row, which takes the network the first
time, and plays the row's subject with both as ``refengine migrate check`` does. Ends
with 1 if the report on one does not name its row, and says what it shows instead.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from compat.migration.check import check_all, corpus_of
from compat.migration.corpus import MigrationWorld
from compat.migration.judge import Terms
from compat.migration.known_changes import ChangeRow, known_changes
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.migration.surroundings import SideSurroundings, surrounded
from compat.verdicts.migration import Migration
from refengine.testing.scenario_files import read_scenario


def played(row: ChangeRow, folder: Path) -> Migration:
    """Return what a check says of a row's subject in its world, with both releases."""
    (folder / "agent.py").write_text(row.subject, "utf-8")
    ref, how = parse_ref("agent.py", cwd=folder), CheckOptions()
    old, new = (
        SideSurroundings((*row.base, f"{row.package}=={version}"), None, folder)
        for version in (row.before, row.since)
    )
    world = MigrationWorld(read_scenario(row.world, row.id), "known", fixed=True)
    with surrounded(ref, [ref], (old, new)) as (before, [after]):
        corpus = replace(corpus_of([before, after], how), worlds=(world,))
        sides = {"new": (after, Terms())}
        return check_all(before, sides, corpus, how, explain=True)["new"].verdict


def missed(row: ChangeRow, verdict: Migration) -> str:
    """Return what a verdict shows instead of a row, "" if it names the row."""
    if row.told in verdict.documented:
        return ""
    if verdict.divergence is None:
        return verdict.fault.text if verdict.fault else f"holds: {verdict.holds}"
    at = verdict.divergence.difference
    return f"{verdict.divergence.code} in {at.channel} {at.anywhere}"


def main(names: Sequence[str]) -> int:
    """Play the rows of these names, or all; return 1 if one is not shown."""
    rows = {each.id: each for each in known_changes()}
    if unknown := [each for each in names if each not in rows]:
        sys.stderr.write(f"no row {unknown[0]}; there are {', '.join(rows)}\n")
        return 2
    found = 0
    for name in names or rows:
        with TemporaryDirectory() as folder:
            why = missed(rows[name], played(rows[name], Path(folder).resolve()))
        found |= bool(why)
        sys.stdout.write(
            f"{'NOT SEEN' if why else 'seen':9}{name}  {why}".rstrip() + "\n"
        )
        sys.stdout.flush()
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
