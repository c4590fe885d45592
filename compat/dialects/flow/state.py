"""State: what a hook reads and writes, and the scopes that its keys are in.

A write goes to the live session, where later hooks of the invocation read it, and to
the delta of the event that is being made, by which it is kept. The prefix of a key says
whose it is: all sessions of the app, all of the user, or this invocation alone; without
one it is the session's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Final, cast, final

from compat.dialects.flow.run_errors import NotJsonError
from compat.dialects.flow.values import plain
from refengine.messages import Json, frozen_json

APP: Final = "app:"
USER: Final = "user:"
TEMP: Final = "temp:"


def checked_json(value: object, where: str) -> Json:
    """Return a frozen copy of a JSON value; raises NotJsonError with its place."""
    _refuse_other(value, where)
    return frozen_json(cast("Json", value))


def _refuse_other(value: object, where: str) -> None:
    if isinstance(value, Mapping):
        for key, each in cast("Mapping[object, object]", value).items():
            if not isinstance(key, str):
                raise NotJsonError(f"a key of {where}", key)
            _refuse_other(each, f"{where}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for place, each in enumerate(cast("Sequence[object]", value)):
            _refuse_other(each, f"{where}[{place}]")
    elif not isinstance(value, str | int | float | None) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        raise NotJsonError(where, value)


@final
class State(Mapping[str, Any]):
    """The state that a hook has: reads the live session, writes to its delta as well.

    What is read is a copy: a list changed in place would be in no delta.
    """

    __slots__ = ("_delta", "_live")

    def __init__(
        self, live: MutableMapping[str, Json], delta: MutableMapping[str, Json]
    ) -> None:
        self._live, self._delta = live, delta

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401  # JSON, in a user's types
        return plain(self._live[key])

    def __setitem__(self, key: str, value: object) -> None:
        self._live[key] = self._delta[key] = checked_json(value, f"state[{key!r}]")

    def __iter__(self) -> Iterator[str]:
        return iter(self._live)

    def __len__(self) -> int:
        return len(self._live)

    def __repr__(self) -> str:
        return f"State({dict(self._live)!r})"

    def update(self, values: Mapping[str, object]) -> None:
        """Write them all, or none if one of them is not JSON."""
        checked = {
            key: checked_json(value, f"state[{key!r}]") for key, value in values.items()
        }
        self._live.update(checked)
        self._delta.update(checked)

    def setdefault(self, key: str, value: object) -> Any:  # noqa: ANN401  # as above
        """Return what is there, or write the value and return it."""
        if key not in self._live:
            self[key] = value
        return self[key]


def lasting(delta: Mapping[str, Json]) -> dict[str, Json]:
    """Return what of a delta is kept: all but ``temp:`` keys."""
    return {key: each for key, each in delta.items() if not key.startswith(TEMP)}


def scoped(
    delta: Mapping[str, Json],
) -> tuple[dict[str, Json], dict[str, Json], dict[str, Json]]:
    """Return what a delta says of the app, of the user and of the session.

    The keys of app and user are without their prefix, as they are kept.
    """
    app: dict[str, Json] = {}
    user: dict[str, Json] = {}
    session: dict[str, Json] = {}
    for key, each in lasting(delta).items():
        if key.startswith(APP):
            app[key.removeprefix(APP)] = each
        elif key.startswith(USER):
            user[key.removeprefix(USER)] = each
        else:
            session[key] = each
    return app, user, session


def merged(
    app: Mapping[str, Json], user: Mapping[str, Json], session: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the three scopes as one state, with their prefixes."""
    return {
        **session,
        **{APP + key: each for key, each in app.items()},
        **{USER + key: each for key, each in user.items()},
    }
