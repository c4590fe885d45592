"""How much of refengine's interface has a type that every type checker agrees on.

    python -m tools.known_types

Asks pyright (``--verifytypes``), and exits with 1 below the share that is asked for.
Not all can be known: a framework whose classes stand below ours may not say its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from compat.verdicts.exit_codes import DIFFERS, OK

LEAST: Final = 97.0
"""Percent of the symbols that others can import."""
COMMAND: Final = ("pyright", "--verifytypes", "refengine", "--ignoreexternal")


def main() -> int:
    """Print what pyright says, and return the exit code."""
    done = subprocess.run(  # noqa: S603  # a type checker that the extra 'dev' brings
        [*COMMAND, "--outputjson"], capture_output=True, text=True, check=False
    )
    found = json.loads(done.stdout)["typeCompleteness"]
    for line in lines(found):
        sys.stdout.write(f"{line}\n")
    return OK if percent(found) >= LEAST else DIFFERS


def percent(found: Mapping[str, Any]) -> float:
    """Return how much of 100 is known."""
    return 100 * float(found["completenessScore"])


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield each symbol whose type is not known, with why, and the share at the end."""
    for each in found["symbols"]:
        known = each["isTypeKnown"] and not each["isTypeAmbiguous"]
        if each["isExported"] and not known:
            whys = [why["message"].partition("\n")[0] for why in each["diagnostics"]]
            yield f"{each['name']}: {'; '.join(whys) or 'so is what it names'}"
    yield f"{percent(found):.1f} % of types are known, {LEAST:g} % are asked for"


if __name__ == "__main__":
    sys.exit(main())
