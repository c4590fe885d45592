"""What a store raises, one class a cause; the message says what to do.

    StoreError (RefengineError)
    ├── NoStoreError (TypeError)         what Checkpoints was given is not a store
    ├── NoTypesError (TypeError)         its types are not a registry
    ├── StoreKeyError (ValueError)       a key that is not text, or no name for a file
    ├── StoreRecordError (TypeError)     a record that is not bytes
    ├── StoreOptionError (ValueError)    an option that a store does not have
    ├── StoreMissingError                a folder or a file that is not there
    ├── StoreFileError                   what stands at the path is not a file
    ├── StoreReadOnlyError               it cannot be written
    ├── StoreFullError                   the disk is full
    ├── ForeignStoreError                a file of something else
    ├── NewerStoreError                  a layout that this version cannot read
    ├── StoreBusyError                   others wrote for longer than it was to wait
    ├── StoreDamagedError                the file is broken
    ├── BadRowError                      records that make no run
    ├── StoreClosedError                 it was closed
    └── StoreForkedError                 it was opened before the process was forked

    RefengineError
    ├── CheckpointNotFoundError (LookupError)  no run is kept under that key
    └── CheckpointConflictError                another step of that number is kept

These two come from every store.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from refengine.errors import RefengineError, error, shortened


class StoreError(RefengineError):
    """What every error of a store is, besides those two that every store raises."""


@error
class NoStoreError(StoreError, TypeError):
    """What runs are to be kept in is not a store: the path of a file, say."""

    got: object
    says = (
        "Checkpoints({got!c}): this is not a store: give one, such as SqliteStore(path)"
    )


@error
class NoTypesError(StoreError, TypeError):
    """The types of values are not a registry: a list of classes, say."""

    got: object
    says = (
        "Checkpoints(store, types={got!c}): give a Types, with each class"
        " registered under a name"
    )


@error
class StoreKeyError(StoreError, ValueError):
    """A key is text of at least one character, and without lone surrogates."""

    key: object
    why: str
    says = "checkpoint key {key!c} {why}: give some text, such as the id of the thread"


@error
class StoreRecordError(StoreError, TypeError):
    """A store keeps bytes and looks into none."""

    key: str
    got: object
    says = (
        "checkpoint {key!c}: the record is {got!t}, not"
        " bytes: write through Checkpoints(store), which makes records of steps"
    )


@error
class StoreOptionError(StoreError, ValueError):
    """A store is made with something it cannot use."""

    name: str
    got: object
    wanted: str
    says = "SqliteStore({name}={got!c}): give {wanted}"


@error
class StoreMissingError(StoreError):
    """There is no such folder to make a store in, or no such file to read."""

    path: Path
    what: str
    todo: str
    says = "{path}: there is no such {what}: {todo}"


@error
class StoreFileError(StoreError):
    """What stands at the path is not a plain file: a folder, say, or a device."""

    path: Path
    says = (
        "{path}: this is not a plain file: give the path of a file, which is made if"
        " it is not there (to keep nothing on disk, use MemoryStore)"
    )


@error
class StoreReadOnlyError(StoreError):
    """The file, its folder or this store of it cannot be written."""

    path: Path
    detail: str
    says = (
        "{path}: it cannot be written ({detail}): let this user write the file"
        " and its folder, where a log stands beside it while it is in use"
    )


@error
class StoreFullError(StoreError):
    """The disk is full; what was acknowledged stays, this record is not kept."""

    path: Path
    says = (
        "{path}: the disk is full, so this record is not kept; what was kept"
        " before still is: make room, then go on from there"
    )


@error
class ForeignStoreError(StoreError):
    """The file is not a store of ours, so nothing in it is touched."""

    path: Path
    what: str
    says = (
        "{path}: this is {what}, so it holds no checkpoints, and it was left as"
        " it is: give another path"
    )


@error
class NewerStoreError(StoreError):
    """The file has a layout of a later version, which this one would misread."""

    path: Path
    layout: int
    known: int
    says = (
        "{path}: layout {layout} of a later refengine, and this one knows"
        " {known}: upgrade refengine to read it"
    )


@error
class StoreBusyError(StoreError):
    """Other writers held the file for longer than this store has patience."""

    path: Path
    patience: float
    says = (
        "{path}: other processes kept it locked for {patience:g} s:"
        " look for one that hangs, or give SqliteStore more patience"
    )


@error
class StoreDamagedError(StoreError):
    """The file is broken: what SQLite found, or a record that is not there."""

    path: Path
    detail: str
    says = (
        "{path}: the store is damaged ({detail}): ask 'refengine checkpoint"
        " verify' what is left, and take a copy from before"
    )


@error
class BadRowError(StoreError):
    """The records of a key can be read, but they make no run."""

    key: str
    seq: int
    why: str
    says = (
        "checkpoint {key!c}, record {seq}: {why}:"
        " take a copy from before, or delete the run under that key"
    )


@error
class StoreClosedError(StoreError):
    """The store was closed, and stays so."""

    path: Path
    says = "{path}: this store was closed: make another SqliteStore"


@error
class StoreForkedError(StoreError):
    """A connection that a fork copied would break the locks of both processes."""

    path: Path
    says = (
        "{path}: this store was in use before the process was forked:"
        " make a SqliteStore in each process"
    )


class CheckpointNotFoundError(RefengineError, LookupError):
    """No run is kept under that key; ``close`` are keys almost like it."""

    says = (
        "no checkpoint {key!c}: {_hint} a run is kept by agent.run(..., checkpoint=KEY)"
    )

    def __init__(self, key: str, close: Iterable[str] = ()) -> None:
        self.key: str = key
        self.close: tuple[str, ...] = tuple(close)
        self.__post_init__()

    @property
    def _hint(self) -> str:
        names = " or ".join(shortened(each) for each in self.close)
        return f"did you mean {names}?" if names else "no key there is like it;"


@error
class CheckpointConflictError(RefengineError):
    """A step came that is not the next one: ``have`` steps are kept under the key."""

    key: str
    seq: int
    have: int
    says = (
        "checkpoint {key!c}: step {seq} does not follow, {have} are kept there: {_todo}"
    )

    @property
    def _todo(self) -> str:
        if self.seq == 0:
            return "resume that run, or give the new one a key of its own"
        if self.seq < self.have:
            return "another process went on with this run, so leave it to that one"
        return "steps before it are not kept, so resume from what is"
