"""What values and checkpoints raise, one class a cause; the message says what to do.

    ConfigurationError (in refengine.errors)
    ├── TypeNameError             a name that no type can be registered by
    ├── TypeTakenError            a name or a class is registered already
    ├── TypesFrozenError          a type is registered after the first use
    ├── UpgradesError             not one upgrade for each earlier version
    └── UnfitTypeError            a class that cannot be registered this way
    StateError (RefengineError)   what was kept cannot be read
    ├── UnknownTypeError (LookupError)   it names a type that is not registered
    ├── DecodeError               the code of a registered type raised
    ├── BadTreeError (ValueError)  no packed value: Types.pack made it not
    ├── ForeignFileError          it does not begin as a checkpoint does
    ├── NewerFormatError          a format of a later version
    ├── TruncatedCheckpointError  it ends before its end
    ├── DamagedCheckpointError    its digest is another one
    ├── UnknownCodecError         its body is not JSON, but something else
    ├── OversizedCheckpointError  more bytes, values or digits than allowed
    ├── TooDeepError              more levels of lists and objects than allowed
    └── BadCheckpointError        well kept, but no step

Nothing is returned of what raises a StateError.
"""

from __future__ import annotations

from collections.abc import Iterable

from refengine.errors import ConfigurationError, RefengineError, error


@error
class TypeNameError(ConfigurationError):
    """A type is registered by a name that stands in stored data from then on."""

    name: object
    says = (
        "type name {name!c}: give a text that is not empty and has no"
        " '$', and keep to it, also when the class is renamed"
    )


@error
class TypeTakenError(ConfigurationError):
    """A name stands for one class, and a class has one name."""

    name: str
    cls: type
    taken: str
    says = (
        "{cls.__qualname__} cannot be registered as {name!r}: {taken};"
        " a name stands for one class, and a class has one name"
    )


@error
class TypesFrozenError(ConfigurationError):
    """A registry that was used does not change: what it wrote, it has to read."""

    name: str
    says = (
        "type {name!r} is registered after the registry was used:"
        " register all types before the first run"
    )


class UpgradesError(ConfigurationError):
    """A type of version n has an upgrade from each version before it to the next."""

    says = (
        "type {name!r}, version {version!c}, has upgrades from {given!l}: give a"
        " version of at least 1 and one upgrade from each version before it"
    )

    def __init__(self, name: str, version: object, given: Iterable[object]) -> None:
        self.name: str = name
        self.version: object = version
        self.given: tuple[object, ...] = tuple(given)
        self.__post_init__()


@error
class UnfitTypeError(ConfigurationError):
    """A class cannot be registered by this method."""

    name: str
    got: object
    why: str
    says = "{got!c} cannot be registered as {name!r}: {why}"


class StateError(RefengineError):
    """What every error of reading what was kept is."""


@error
class UnknownTypeError(StateError, LookupError):
    """Stored data names a type, or a version of one, that this registry has not."""

    name: str
    version: int
    path: str
    known: int | None
    hint: str = ""
    says = (
        "{path!v} is a {name!r}, version {version}, and this registry has {_has}:"
        " register it, or read with Types(keep_unknown=True){hint}"
    )

    @property
    def _has(self) -> str:
        return "no such type" if self.known is None else f"version {self.known} of it"


@error
class DecodeError(StateError):
    """The code by which a type is read, or brought up to its version, raised."""

    name: str
    version: int
    path: str
    what: str
    says = (
        "{path!v}, a {name!r} of version {version}: {what};"
        " if the class has changed, raise its version and give an upgrade"
    )


@error
class BadTreeError(StateError, ValueError):
    """Stored data is not a packed value."""

    path: str
    why: str
    says = "{path!v} {why}: give what Types.pack returned"


@error
class ForeignFileError(StateError):
    """What was given is not a checkpoint."""

    begins: bytes
    says = (
        "this begins with {begins!c}, so it is not a checkpoint: give a"
        " record of a store, or a file of such records"
    )


@error
class NewerFormatError(StateError):
    """A format that this version cannot read; it is not tried."""

    found: int
    known: int
    says = (
        "this checkpoint has format {found}, and this refengine reads up to"
        " {known}: upgrade refengine to read it"
    )


@error
class TruncatedCheckpointError(StateError):
    """The end is missing: ``have`` bytes of ``want``, None if not even that is told."""

    have: int
    want: int | None = None
    says = (
        "this checkpoint is cut off after {_of}: take a copy from before, or"
        " delete the run under that key"
    )

    @property
    def _of(self) -> str:
        if self.want is None:
            return f"{self.have} bytes"
        return f"{self.have} of {self.want} bytes"


@error
class DamagedCheckpointError(StateError):
    """Bytes of it were changed after it was written."""

    told: str
    found: str
    says = (
        "this checkpoint was changed after it was written (its digest is"
        " {found:.12}…, not {told:.12}…): take a copy from before, or delete"
        " the run under that key"
    )


@error
class UnknownCodecError(StateError):
    """The body is written in a way that this version does not know."""

    codec: str
    says = (
        "this checkpoint has codec {codec!c}, and this refengine knows"
        " 'json': read it with what wrote it"
    )


@error
class OversizedCheckpointError(StateError):
    """More of something than the limits allow; it is not read any further."""

    what: str
    got: int
    limit: int
    says = (
        "this checkpoint has {got:,} {what}, and the limit is {limit:,}:"
        " if it is yours, give Limits that allow it"
    )


@error
class TooDeepError(StateError):
    """More levels of lists and objects than the limits allow."""

    limit: int
    got: int | None = None
    says = (
        "this checkpoint is {_levels} levels deep, and the limit is {limit:,}:"
        " if it is yours, give Limits that allow it"
    )

    @property
    def _levels(self) -> str:
        return "too many" if self.got is None else f"{self.got:,}"


@error
class BadCheckpointError(StateError):
    """The record is whole, but what stands in it is not a step of a run."""

    where: str
    why: str
    says = (
        "this checkpoint is not as it should be: {where} {why};"
        " it was not written by refengine, so do not resume it"
    )
