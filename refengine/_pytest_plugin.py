"""The pytest entry point: the fixture ``assert_migrates``.

It imports nothing of refengine until a test asks for the fixture, so pytest starts as
fast with it as without.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture(name="assert_migrates", scope="session")
def _assert_migrates() -> Callable[..., object]:
    """Fail if a migrated subject does not do what the old one did.

    ``assert_migrates(old, new, require="same-effects", examples=100, seed=0)``; a
    subject is a function of a module, a path, or a text as on the command line.
    """
    try:
        from compat.migration.asserting import assert_migrates  # noqa: PLC0415  # when it is asked for
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("compat"):
            raise
        pytest.fail(
            "assert_migrates: another package named 'compat' comes before refengine's"
            " on sys.path; run pytest from another folder or rename it",
            pytrace=False,
        )
    return assert_migrates
