"""A failing decision as the event that every report shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from compat.verdicts.conformance import Failure
from property_tests.check import Case, Decision
from property_tests.telling import around
from refengine.messages import Json
from refengine.testing.trace import to_json

WHOLE: Final = 600
"""Values of so many characters are shown whole, longer ones where they differ."""


def failure_of(case: Case, decision: Decision) -> Failure:
    """Return the event: what was asked, both values, what was seen around it.

    Of long values only the part is kept in which they differ, at ``path``.
    """
    found = decision.difference
    expected, got = to_json(decision.expected), to_json(decision.got)
    path = ""
    if found is not None:
        path = found[0]
        if len(json.dumps([expected, got])) > WHOLE:
            _, expected, got = found
    return Failure(
        variant=decision.variant,
        asked=decision.asked,
        expected=cast("Any", _plain(expected)),
        got=cast("Any", _plain(got)),
        path=path,
        around=around(case[decision.variant].trace, decision.at),
        scenario=case.scenario.model_dump(mode="json", exclude_defaults=True),
    )


def _plain(value: Json) -> Json:
    """Return the value with lone surrogates written out, so that it can be stored."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value
