"""Publishing the JSON schema of scenarios: ``python -m refengine.testing.schema``."""

from __future__ import annotations

import json
import sys

from refengine.testing.reading import schema


def text() -> str:
    """Return the published text: sorted, indented, with a newline at its end."""
    return json.dumps(schema(), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
