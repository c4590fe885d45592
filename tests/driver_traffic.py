"""What goes between a harness and a driver, recorded and held against METHODS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from compat.drivers import connection
from compat.drivers.frames import METHODS, By, FailureTold, Method

Frame = tuple[By, Mapping[str, Any]]


@contextmanager
def recorded() -> Iterator[list[Frame]]:
    """Record every frame that goes to a driver, and that comes from one."""
    frames: list[Frame] = []
    written, read = connection.encoded, connection.decoded

    def encoded(frame: Mapping[str, Any]) -> bytes:
        frames.append(("harness", frame))
        return written(frame)

    def decoded(line: bytes) -> Any:
        frames.append(("driver", read(line)))
        return frames[-1][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "encoded", encoded)
        patch.setattr(connection, "decoded", decoded)
        yield frames


def checked(
    frames: list[Frame], methods: Mapping[str, Method] = METHODS
) -> set[tuple[By, str]]:
    """Hold each frame against its model; return which methods were replied to.

    ``methods`` are those of the dialect. Raises what pydantic says of one that is none.
    """
    asked: dict[tuple[By, int], str] = {}
    seen: set[tuple[By, str]] = set()
    for by, frame in frames:
        assert frame["jsonrpc"] == "2.0"
        if "method" in frame:
            method = methods[frame["method"]]
            assert by in method.by
            method.params.model_validate(frame["params"])
            if "id" in frame:
                asked[by, frame["id"]] = frame["method"]
            else:
                assert method.result is None
                seen.add((by, frame["method"]))
            continue
        other: By = "driver" if by == "harness" else "harness"
        name = asked.pop((other, frame["id"]))
        if "error" in frame:
            FailureTold.model_validate(frame["error"])
        else:
            result = methods[name].result
            assert result is not None
            result.model_validate(frame["result"])
            seen.add((other, name))
    assert not asked, asked
    return seen
