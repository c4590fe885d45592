"""See that a report of ``refengine bench run`` has all rows, and none without numbers.

How long anything took is not looked at: the machine has other things to do meanwhile.
"""

import json
import sys
from pathlib import Path


def main(path: str) -> int:
    """Print what is wrong with a report; returns 1 if anything is."""
    report = json.loads(Path(path).read_text("utf-8"))
    wrong = [
        f"{each.get('key') or each.get('name') or each.get('hook')}: {each['blocked']}"
        for part in ("costs", "growth", "peers")
        for each in report[part]
        if each["blocked"] is not None
    ]
    wrong += [f"absent: {each}" for each in report["absent"]]
    wrong += [part for part in ("costs", "growth", "peers", "bars") if not report[part]]
    for each in wrong:
        print(each)
    rows = sum(len(report[part]) for part in ("costs", "growth", "peers"))
    print(f"{rows} rows, {len(wrong)} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
