"""What reading a checkpoint raises, one class a cause; the message says what to do.

    StateError (in refengine.errors)
    ├── ForeignFileError          it does not begin as a checkpoint does
    ├── NewerFormatError          a format of a later version
    ├── TruncatedCheckpointError  it ends before its end
    ├── DamagedCheckpointError    its digest is another one
    ├── UnknownCodecError         its body is not JSON, but something else
    ├── OversizedCheckpointError  more bytes, values or digits than allowed
    ├── TooDeepError              more levels of lists and objects than allowed
    └── BadCheckpointError        well kept, but no step

From the values in it come ``UnknownTypeError``, ``DecodeError`` and ``BadTreeError``,
which are the engine's. Nothing is returned of what raises one of these.
"""

from __future__ import annotations

from refengine.errors import StateError, shortened


class ForeignFileError(StateError):
    """What was given is no checkpoint."""

    def __init__(self, begins: bytes) -> None:
        self.begins = begins
        super().__init__(
            f"this begins with {shortened(begins)}, so it is no checkpoint: give a"
            " record of a store, or a file of such records"
        )


class NewerFormatError(StateError):
    """A format that this version cannot read; it is not tried."""

    def __init__(self, found: int, known: int) -> None:
        self.found = found
        self.known = known
        super().__init__(
            f"this checkpoint has format {found}, and this refengine reads up to"
            f" {known}: upgrade refengine to read it"
        )


class TruncatedCheckpointError(StateError):
    """The end is missing: ``have`` bytes of ``want``, None if not even that is told."""

    def __init__(self, have: int, want: int | None = None) -> None:
        self.have = have
        self.want = want
        of = f"{have} bytes" if want is None else f"{have} of {want} bytes"
        super().__init__(
            f"this checkpoint is cut off after {of}: take a copy from before, or"
            " delete the run under that key"
        )


class DamagedCheckpointError(StateError):
    """Bytes of it were changed after it was written."""

    def __init__(self, told: str, found: str) -> None:
        self.told = told
        self.found = found
        super().__init__(
            f"this checkpoint was changed after it was written (its digest is"
            f" {found[:12]}…, not {told[:12]}…): take a copy from before, or delete"
            " the run under that key"
        )


class UnknownCodecError(StateError):
    """The body is written in a way that this version does not know."""

    def __init__(self, codec: str) -> None:
        self.codec = codec
        super().__init__(
            f"this checkpoint has codec {shortened(codec)}, and this refengine knows"
            " 'json': read it with what wrote it"
        )


class OversizedCheckpointError(StateError):
    """More of something than the limits allow; it is not read any further."""

    def __init__(self, what: str, got: int, limit: int) -> None:
        self.what = what
        self.got = got
        self.limit = limit
        super().__init__(
            f"this checkpoint has {got:,} {what}, and the limit is {limit:,}:"
            " if it is yours, give Limits that allow it"
        )


class TooDeepError(StateError):
    """More levels of lists and objects than the limits allow."""

    def __init__(self, limit: int, got: int | None = None) -> None:
        self.limit = limit
        self.got = got
        levels = "too many" if got is None else f"{got:,}"
        super().__init__(
            f"this checkpoint is {levels} levels deep, and the limit is {limit:,}:"
            " if it is yours, give Limits that allow it"
        )


class BadCheckpointError(StateError):
    """The record is whole, but what stands in it is no step of a run."""

    def __init__(self, where: str, why: str) -> None:
        self.where = where
        super().__init__(
            f"this checkpoint is not as it should be: {where} {why};"
            " it was not written by refengine, so do not resume it"
        )
