"""What commands print and write beside cassettes, without secrets.

Reports show what programs said: worlds speak the words of their source, an error has a
line of their log, and a reproducer holds their files. The values of the environment
whose variables name a secret are known; what else is one is told by name and shape.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from compat.wire.scrubbing.names import names_a_secret
from compat.wire.scrubbing.scrubber import LEAST, Scrubber


def secrets_of(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the values that variables name as secrets; short ones stand elsewhere."""
    return frozenset(
        value
        for name, value in environment.items()
        if len(value) >= LEAST and names_a_secret(name)
    )


def output_scrubber(environment: Mapping[str, str] | None = None) -> Scrubber:
    """Return what scrubs outputs; the environment is this process's unless given."""
    return Scrubber(secrets_of(os.environ if environment is None else environment))


def without_secrets(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return files as they may be kept; one that is not text is searched as it is."""
    scrubber = output_scrubber()
    return {name: scrubber.body({}, data) for name, data in files.items()}


def json_without_secrets(value: object) -> Any:  # noqa: ANN401  # JSON as it was given
    """Return JSON values as they may be written."""
    return output_scrubber().tree(value)
