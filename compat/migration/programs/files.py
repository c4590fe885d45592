"""Files as effects of a program: what it has changed where it works, turn by turn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from compat.migration.session_copy import TEMPORARY
from compat.wire.server.programs import PostedEffect
from refengine.testing.isolation.files import BESIDE, NOT_OURS, SHOWN
from refengine.testing.isolation.folder import ABSENT, FileState, SessionFolder

FILE: Final = "file"
GONE: Final = "(removed)"


class ProgramFiles:
    """Tells which files of a session are others than when they were looked at last."""

    def __init__(self, folder: SessionFolder) -> None:
        self._folder = folder
        self._seen: dict[str, FileState | None] | None = None

    def forget(self) -> None:
        """Begin another session, in which the files are as they were at first."""
        self._seen = None

    def changed(self) -> list[PostedEffect]:
        """Return the files that were changed since, each as an effect, by name."""
        now = self._folder.state()
        before = self._folder.first if self._seen is None else self._seen
        self._seen = now
        names = sorted({*now, *before})
        return [
            PostedEffect(FILE, {"name": self._folder.shown(name), "holds": holds})
            for name in names
            if _is_own(name) and now.get(name, ABSENT) != before.get(name, ABSENT)
            for holds in self._holds(name, now)
        ]

    def _holds(self, name: str, now: dict[str, FileState | None]) -> Iterator[str]:
        """Yield what stands in a file now; folders show by the files in them."""
        if name not in now:
            yield GONE
        elif now[name] is not None:
            with suppress(OSError):
                yield _shown(Path(self._folder.top, name).read_bytes())


def _shown(data: bytes) -> str:
    if len(data) > SHOWN:
        return f"sha256 {hashlib.sha256(data).hexdigest()}"
    return data.decode("utf-8", "backslashreplace")


def _is_own(name: str) -> bool:
    """Tell whether a file is the program's: no cache of its language, no draft."""
    others = (*NOT_OURS, TEMPORARY, "node_modules")
    return not name.startswith(others) and not name.endswith(BESIDE)
