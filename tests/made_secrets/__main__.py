"""``python -m tests.made_secrets``: what rules find, ours and others, and alarms."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from compat.wire.cassette_files import read_cassette
from compat.wire.errors import LeakError
from compat.wire.scrubbing import Scrubber
from compat.wire.writing import scrubbed_file
from tests.made_secrets.cases import SecretCase, cases
from tests.made_secrets.others import Flags, other_rules
from tests.made_secrets.revealing import revealed


def main(line: Sequence[str]) -> int:
    """Measure, and print a table; the exit code is 1 if our rules let a case through.

    Our rules are measured by what is in the file that they leave, detect-secrets by
    whether it flags the line at all, which is easier.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.made_secrets")
    parser.add_argument("--lines", type=Path, help="write the lines of all cases here")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(line)
    found = list(cases(options.seed))
    if options.lines is not None:
        lines = [each.text.replace("\n", "\\n") for each in found]
        options.lines.write_text("\n".join(lines) + "\n", "utf-8")
        return 0
    leaks = list(filter(_leaks, found))
    for each in leaks:
        where = f"{each.encoding}, {each.place}, {each.carrier}"
        sys.stdout.write(f"left: {each.secret.family}: {where}\n")
    _row("rules", "plain", "encoded", "false alarms")
    _row("ours", *_shares(found, leaks), str(len(_alarms(_ours()))))
    for name, flags in other_rules():
        missed = [each for each in found if not _flagged(each, flags)]
        _row(name, *_shares(found, missed), str(len(_alarms(flags))))
    return 1 if leaks else 0


def _row(*cells: str) -> None:
    sys.stdout.write("| " + " | ".join(cells) + " |\n")


def _leaks(case: SecretCase) -> bool:
    try:
        data = scrubbed_file("a.yaml", [case.exchange], Scrubber())
    except LeakError:  # nothing is written then
        return False
    return bool(revealed(data, [case.secret.core]))


def _shares(
    found: Sequence[SecretCase], missed: Sequence[SecretCase]
) -> tuple[str, str]:
    """Return the shares that are found of what is plain, and of what is encoded."""
    shares: list[str] = []
    for plain in (True, False):
        these = [each for each in found if (each.encoding == "plain") is plain]
        lost = [each for each in missed if (each.encoding == "plain") is plain]
        shares.append(f"{1 - len(lost) / len(these):.0%} of {len(these)}")
    return shares[0], shares[1]


def _flagged(case: SecretCase, flags: Flags) -> bool:
    return any(map(flags, case.text.splitlines()))


def _ours() -> Flags:
    scrubber = Scrubber()
    return lambda text: scrubber.text(text) != text


def _alarms(flags: Flags) -> list[str]:
    """Return the lines of recordings that are flagged; a recording has no secret left.

    What rules of ours find there is passwords and projects of the programs' own.
    """
    folder = os.environ.get("REFENGINE_CASSETTES", "")
    if not folder:
        sys.stdout.write("REFENGINE_CASSETTES is not set: no false alarm is counted\n")
        return []
    lines = [
        text
        for path in sorted(Path(folder).glob("*/*.yaml"))
        for exchange in read_cassette(path)
        for body in (exchange.request.body, exchange.response.body)
        for text in body.decode("utf-8", "replace").splitlines()
    ]
    return list(filter(flags, lines))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
