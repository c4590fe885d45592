"""Why a text names no engine that can be judged.

LoadError (ValueError)
├── UnknownEngineError           no installed engine has that name
├── AmbiguousEngineError         two installed packages give one name
├── NotAReferenceError           neither a name, nor module:factory, nor file.py:factory
├── MissingFileError             there is no such file
├── MissingModuleError           there is no such module
├── BrokenModuleError            importing it raised
├── MissingNameError             it has no such attribute
├── NotCallableError             the attribute is neither a class nor a function
├── NoProfileError               a profile is asked for, and the factory takes none
├── ArgumentsError               the factory asks for arguments
├── FactoryError                 the factory raised
├── NotInstalledError            the engine's packages are not installed
├── NotAnEngineError             what it gave has no name, or no async build
├── UnknownCapabilityError       it declares a capability that does not exist
└── EngineProfileError           its profile is none, or not the one that was asked for
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

FORMS: Final = "the name of an installed engine, module:factory or file.py:factory"


class LoadError(ValueError):
    """A text that names no engine that can be judged."""


class UnknownEngineError(LoadError):
    """No installed package gives an engine of that name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name
        self.known = tuple(known)
        there = ", ".join(known) or "none: is refengine installed?"
        super().__init__(
            f"no engine {name!r}{_hint(name, known)}; there are {there};"
            " one of your own is module:factory or file.py:factory"
        )


class AmbiguousEngineError(LoadError):
    """Two installed packages give an engine of that name."""

    def __init__(self, name: str, values: Sequence[str]) -> None:
        self.name = name
        self.values = tuple(values)
        super().__init__(
            f"{name!r} is the name of {len(values)} installed engines"
            f" ({', '.join(values)}): name one of these instead"
        )


class NotAReferenceError(LoadError):
    """It has none of the forms."""

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        super().__init__(f"{text!r} names no engine: {why}; give {FORMS}")


class MissingFileError(LoadError):
    """There is no file of that name."""

    def __init__(self, text: str, file: str, there: Sequence[str]) -> None:
        self.text = text
        self.file = file
        hint = _hint(file, there) or "; give its path from here"
        super().__init__(f"{text!r}: there is no file {file}{hint}")


class MissingModuleError(LoadError):
    """There is no module of that name."""

    def __init__(self, text: str, module: str, there: Sequence[str]) -> None:
        self.text = text
        self.module = module
        super().__init__(
            f"{text!r}: there is no module {module!r}{_hint(module, there)};"
            " modules are looked for in the working directory first, then where"
            " Python looks for them"
        )


class BrokenModuleError(LoadError):
    """Importing the module raised; ``why`` tells what, and the user's own line."""

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        self.why = why
        super().__init__(f"{text!r} cannot be imported: {why}")


class MissingNameError(LoadError):
    """The module has no attribute of that name."""

    def __init__(self, text: str, shown: str, name: str, there: Sequence[str]) -> None:
        self.text = text
        self.name = name
        hint = _hint(name, there)
        known = f"; what can be called there: {', '.join(there)}" if there else ""
        super().__init__(f"{text!r}: {shown} has no {name!r}{hint}{known}")


class MissingDriverProgramError(LoadError):
    """A driver's command names no program that there is."""

    def __init__(self, text: str, program: str) -> None:
        self.text = text
        self.program = program
        super().__init__(
            f"{text!r}: there is no program {program!r}; give the command that starts"
            " the driver, as in 'python driver.py'"
        )


class NotCallableError(LoadError):
    """The attribute cannot be called, so it gives no engine."""

    def __init__(self, text: str, name: str, got: object) -> None:
        self.text = text
        self.got = got
        what = (
            "is an engine already: name its class, or a function that returns it"
            if hasattr(got, "build")
            else "is neither a class nor a function: name one that gives an engine"
        )
        super().__init__(f"{text!r}: {name}, of type {type(got).__name__}, {what}")


class NoProfileError(LoadError):
    """A profile is asked for, and the factory has no parameter for it."""

    def __init__(self, text: str, profile: str) -> None:
        self.text = text
        self.profile = profile
        super().__init__(
            f"{text!r} takes no profile, and {profile!r} is asked for: leave it out,"
            " or give the factory a parameter profile="
        )


class ArgumentsError(LoadError):
    """The factory asks for arguments that nobody gives it."""

    def __init__(self, text: str, signature: str, why: str) -> None:
        self.text = text
        self.signature = signature
        super().__init__(
            f"{text!r} takes {signature}, but an engine is made without arguments"
            f" ({why}): name a function that gives it what it needs"
        )


class BrokenFactoryError(LoadError):
    """The factory raised; ``why`` tells what, and the user's own line."""

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        self.why = why
        super().__init__(f"{text!r} gives no engine: calling it raised {why}")


class NotInstalledError(LoadError):
    """The engine is known, but its packages are not installed."""


class NotAnEngineError(LoadError):
    """What the factory gave is not an engine."""

    def __init__(self, text: str, got: object, why: str) -> None:
        self.text = text
        self.got = got
        kind = type(got).__name__
        super().__init__(f"{text!r} gives an object of {kind}, not an engine: {why}")


class UnknownCapabilityError(LoadError):
    """The engine declares a capability that does not exist."""

    def __init__(self, text: str, name: object, known: Sequence[str]) -> None:
        self.text = text
        self.name = name
        hint = _hint(name, known) if isinstance(name, str) else ""
        super().__init__(
            f"{text!r} declares the capability {name!r}, which there is not{hint};"
            f" there are {', '.join(known)}"
        )


class EngineProfileError(LoadError):
    """The engine's profile is none, or not the one that was asked for."""

    def __init__(self, text: str, got: object, why: str) -> None:
        self.text = text
        self.got = got
        super().__init__(f"{text!r} has the profile {got!r}: {why}")


def _hint(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
