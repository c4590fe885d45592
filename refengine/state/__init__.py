"""State that lasts: stores, and what makes records of the steps of runs.

Names are loaded when they are used: whoever only keeps runs in memory loads no SQLite.
The errors of stores are in ``refengine.state.store_errors``, those of records in
``refengine.state.errors``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refengine.state.checkpoints import Checkpoints as Checkpoints
    from refengine.state.codec import decode_step as decode_step
    from refengine.state.codec import encode_step as encode_step
    from refengine.state.envelope import Limits as Limits
    from refengine.state.envelope import read_records as read_records
    from refengine.state.sqlite import SqliteStore as SqliteStore
    from refengine.state.store_errors import StoreError as StoreError
    from refengine.state.stores import CheckpointStore as CheckpointStore
    from refengine.state.stores import MemoryStore as MemoryStore
    from refengine.state.stores import check_key as check_key
    from refengine.state.stores import check_record as check_record

_HOME = {
    "Checkpoints": "checkpoints",
    "CheckpointStore": "stores",
    "Limits": "envelope",
    "MemoryStore": "stores",
    "SqliteStore": "sqlite",
    "StoreError": "store_errors",
    "check_key": "stores",
    "check_record": "stores",
    "decode_step": "codec",
    "encode_step": "codec",
    "read_records": "envelope",
}

__all__ = [
    "CheckpointStore",
    "Checkpoints",
    "Limits",
    "MemoryStore",
    "SqliteStore",
    "StoreError",
    "check_key",
    "check_record",
    "decode_step",
    "encode_step",
    "read_records",
]

if not TYPE_CHECKING:  # a checker that sees __getattr__ takes every name to exist

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
