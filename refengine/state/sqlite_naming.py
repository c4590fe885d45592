"""What SQLite says went wrong, by the names that our users read."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from refengine.state.store_errors import (
    ForeignStoreError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)

_BUSY: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_SHUT: Final = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}


def is_busy(error: sqlite3.Error) -> bool:
    """Tell whether others are at it, so that the same may succeed a moment later."""
    return code_of(error) in _BUSY


def named(error: sqlite3.Error, path: Path) -> StoreError:
    """Return the error of ours for one of SQLite's; what it does not know is damage."""
    code = code_of(error)
    if code == sqlite3.SQLITE_FULL:
        return StoreFullError(path)
    if code in _SHUT:
        return StoreReadOnlyError(path, str(error))
    if code == sqlite3.SQLITE_NOTADB:
        return ForeignStoreError(path, "no SQLite file")
    return StoreDamagedError(path, str(error))


def code_of(error: sqlite3.Error) -> int | None:
    """Return SQLite's primary result code; some errors are Python's and have none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
