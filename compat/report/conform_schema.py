"""Publishing the schema of the stream: ``python -m compat.report.conform_schema``."""

from __future__ import annotations

import json
import sys

from pydantic import TypeAdapter

from compat.verdicts.conformance import VERSION, AnyEvent


def schema_text() -> str:
    """Return the published text: sorted, indented, with a newline at its end."""
    found = TypeAdapter[AnyEvent](AnyEvent).json_schema()
    found["title"] = f"A line of the event stream of a judgement, version {VERSION}"
    return json.dumps(found, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
