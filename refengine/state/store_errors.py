"""What a store raises, one class a cause; the message says what to do.

    StoreError (RefengineError)
    ├── NoStoreError (TypeError)         what Checkpoints was given is no store
    ├── NoTypesError (TypeError)         its types are no registry
    ├── StoreKeyError (ValueError)       a key that is no text, or that no file can hold
    ├── StoreRecordError (TypeError)     a record that is not bytes
    ├── StoreOptionError (ValueError)    an option that a store does not have
    ├── StoreMissingError                a folder or a file that is not there
    ├── StoreFileError                   what stands at the path is no file
    ├── StoreReadOnlyError               it cannot be written
    ├── StoreFullError                   the disk is full
    ├── ForeignStoreError                a file of something else
    ├── NewerStoreError                  a layout that this version cannot read
    ├── StoreBusyError                   others wrote for longer than it was to wait
    ├── StoreDamagedError                the file is broken
    ├── BadRowError                      records that make no run
    ├── StoreClosedError                 it was closed
    └── StoreForkedError                 it was opened before the process was forked

Two more come from every store and are the engine's: ``CheckpointConflictError`` and
``CheckpointNotFoundError``.
"""

from __future__ import annotations

from pathlib import Path

from refengine.errors import RefengineError, shortened


class StoreError(RefengineError):
    """What every error of a store is, besides the two of the engine."""


class NoStoreError(StoreError, TypeError):
    """What runs are to be kept in is no store: the path of a file, say."""

    def __init__(self, got: object) -> None:
        self.got = got
        super().__init__(
            f"Checkpoints({shortened(got)}): this is no store: give one, such as"
            " SqliteStore(path)"
        )


class NoTypesError(StoreError, TypeError):
    """The types of values are no registry: a list of classes, say."""

    def __init__(self, got: object) -> None:
        self.got = got
        super().__init__(
            f"Checkpoints(store, types={shortened(got)}): give a Types, with each class"
            " registered under a name"
        )


class StoreKeyError(StoreError, ValueError):
    """A key is text of at least one character, and without lone surrogates."""

    def __init__(self, key: object, why: str) -> None:
        self.key = key
        super().__init__(
            f"checkpoint key {shortened(key)} {why}:"
            " give some text, such as the id of the thread"
        )


class StoreRecordError(StoreError, TypeError):
    """A store keeps bytes and looks into none."""

    def __init__(self, key: str, got: object) -> None:
        self.key = key
        super().__init__(
            f"checkpoint {shortened(key)}: the record is {type(got).__name__}, not"
            " bytes: write through Checkpoints(store), which makes records of steps"
        )


class StoreOptionError(StoreError, ValueError):
    """A store is made with something it cannot use."""

    def __init__(self, name: str, got: object, wanted: str) -> None:
        self.name = name
        self.got = got
        super().__init__(f"SqliteStore({name}={shortened(got)}): give {wanted}")


class StoreMissingError(StoreError):
    """There is no such folder to make a store in, or no such file to read."""

    def __init__(self, path: Path, what: str, todo: str) -> None:
        self.path = path
        super().__init__(f"{path}: there is no such {what}: {todo}")


class StoreFileError(StoreError):
    """What stands at the path is no plain file: a folder, say, or a device."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"{path}: this is no plain file: give the path of a file, which is made if"
            " it is not there (to keep nothing on disk, use MemoryStore)"
        )


class StoreReadOnlyError(StoreError):
    """The file, its folder or this store of it cannot be written."""

    def __init__(self, path: Path, detail: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: it cannot be written ({detail}): let this user write the file"
            " and its folder, where a log stands beside it while it is in use"
        )


class StoreFullError(StoreError):
    """The disk is full; what was acknowledged stays, this record is not kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"{path}: the disk is full, so this record is not kept; what was kept"
            " before still is: make room, then go on from there"
        )


class ForeignStoreError(StoreError):
    """The file is no store of ours, so nothing in it is touched."""

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: this is {what}, so it holds no checkpoints, and it was left as"
            " it is: give another path"
        )


class NewerStoreError(StoreError):
    """The file has a layout of a later version, which this one would misread."""

    def __init__(self, path: Path, layout: int, known: int) -> None:
        self.path = path
        self.layout = layout
        self.known = known
        super().__init__(
            f"{path}: layout {layout} of a later refengine, and this one knows"
            f" {known}: upgrade refengine to read it"
        )


class StoreBusyError(StoreError):
    """Other writers held the file for longer than this store has patience."""

    def __init__(self, path: Path, patience: float) -> None:
        self.path = path
        self.patience = patience
        super().__init__(
            f"{path}: other processes kept it locked for {patience:g} s:"
            " look for one that hangs, or give SqliteStore more patience"
        )


class StoreDamagedError(StoreError):
    """The file is broken: what SQLite found, or a record that is not there."""

    def __init__(self, path: Path, detail: str) -> None:
        self.path = path
        self.detail = detail
        super().__init__(
            f"{path}: the store is damaged ({detail}): ask 'refengine checkpoint"
            " verify' what is left, and take a copy from before"
        )


class BadRowError(StoreError):
    """The records of a key can be read, but they make no run."""

    def __init__(self, key: str, seq: int, why: str) -> None:
        self.key = key
        self.seq = seq
        super().__init__(
            f"checkpoint {shortened(key)}, record {seq}: {why}:"
            " take a copy from before, or delete the run under that key"
        )


class StoreClosedError(StoreError):
    """The store was closed, and stays so."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"{path}: this store was closed: make another SqliteStore")


class StoreForkedError(StoreError):
    """A connection that a fork copied would break the locks of both processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"{path}: this store was in use before the process was forked:"
            " make a SqliteStore in each process"
        )
