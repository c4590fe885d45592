"""Loading an engine by the text that names it: what can be judged, or why not.

An engine is what ``Engine`` asks for, ``name`` and ``async build(config, on_notice)``.
Beside these it may have

- ``profile``: a ``Profile``, or the name of one; ``seed-001`` if it has none,
- ``capabilities``: those of ``CAPABILITIES`` that it has; all if it says nothing,
- ``version``: a text for reports.

What a text names is a class or a function. It is called without arguments, or with
``profile=`` if a profile was asked for and it takes one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

from compat.engines.capabilities import CAPABILITIES, MissingExtraError, Refusing
from compat.engines.importing import EngineFactory, apart, find
from compat.engines.load_errors import (
    ArgumentsError,
    BrokenFactoryError,
    EngineProfileError,
    NoProfileError,
    NotAnEngineError,
    NotInstalledError,
    UnknownCapabilityError,
)
from refengine.errors import UnknownProfileError
from refengine.profile import SEED_001, Profile
from refengine.profile import profile as profile_named
from refengine.testing.doors import Engine

_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class LoadedEngine:
    """An engine that can be judged, and what it says of itself.

    ``name`` is what reports call it: the installed name, or what the engine calls
    itself. ``asked`` is the text that named it. ``assumed`` are those of ``profile``,
    ``capabilities`` and ``version`` that it does not say.
    """

    name: str
    engine: Engine
    profile: Profile
    capabilities: frozenset[str]
    version: str = ""
    asked: str = ""
    assumed: tuple[str, ...] = ()


def load_engine(name: str, profile: str | None = None) -> LoadedEngine:
    """Return the engine that a text names, under a profile if one is asked for.

    ``name`` is the name of an installed engine, ``module:factory`` or
    ``file.py:factory``. Raises LoadError, or UnknownProfileError for a profile that
    there is not.
    """
    chosen = None if profile is None else profile_named(profile)
    found = find(name)
    engine = _made(found, chosen)
    own = _Own(found, engine)
    capabilities = own.capabilities()
    return LoadedEngine(
        name if found.installed else own.name(),
        _refusing(own.checked(), capabilities),
        own.profile(chosen),
        capabilities,
        own.version(),
        name,
        own.assumed(),
    )


def _made(found: EngineFactory, profile: Profile | None) -> Any:  # noqa: ANN401  # what a stranger's factory gives
    if profile is not None and not _takes_profile(found.factory):
        raise NoProfileError(found.text, profile.name)
    given: dict[str, Any] = {} if profile is None else {"profile": profile}
    _check_arguments(found, given)
    try:
        with apart(found.folder):
            return found.factory(**given)
    except MissingExtraError as error:
        raise NotInstalledError(str(error)) from error
    except (Exception, SystemExit) as error:
        raise BrokenFactoryError(found.text, found.error_line(error)) from error


def _check_arguments(found: EngineFactory, given: Mapping[str, Any]) -> None:
    """Look at what a factory asks for; raises ArgumentsError."""
    try:
        signature = inspect.signature(found.factory)
    except (TypeError, ValueError):  # one that does not tell is just called
        return
    try:
        signature.bind(**given)
    except TypeError as error:
        raise ArgumentsError(found.text, str(signature), str(error)) from None


def _takes_profile(factory: Callable[..., object]) -> bool:
    """Tell whether a factory has a parameter for a profile."""
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):  # one that does not tell is called and may refuse
        return True
    kinds = {each.kind for each in parameters.values()}
    return "profile" in parameters or inspect.Parameter.VAR_KEYWORD in kinds


def _refusing(engine: Engine, capabilities: frozenset[str]) -> Engine:
    """Return an engine that refuses what it does not declare, by itself or for it."""
    if capabilities == frozenset(CAPABILITIES):
        return engine
    return Refusing(engine, capabilities)


@dataclass(frozen=True, slots=True)
class _Own:
    """What an engine says of itself, checked where it is read."""

    found: EngineFactory
    engine: Any

    def checked(self) -> Engine:
        """Return the engine; raises NotAnEngineError."""
        build = getattr(self.engine, "build", None)
        if inspect.iscoroutine(self.engine):
            self.engine.close()
            self._refuse("the factory is async: make it a plain class or function")
        if isinstance(self.engine, type):
            self._refuse("the factory returned a class: return an object of it")
        if not callable(build):
            self._refuse("it has no method build: async build(config, on_notice)")
        if not inspect.iscoroutinefunction(build):
            self._refuse("its build is not async: async def build(config, on_notice)")
        if not _binds(build):
            self._refuse(
                f"its build takes {inspect.signature(build)}: it is called with two"
                " positions, build(config, on_notice)"
            )
        return cast("Engine", self.engine)

    def name(self) -> str:
        """Return what it calls itself; raises NotAnEngineError."""
        self.checked()
        name = getattr(self.engine, "name", None)
        if not isinstance(name, str) or not name:
            self._refuse(f"its name is {name!r}: give it a text that reports can use")
        return name

    def capabilities(self) -> frozenset[str]:
        """Return what it declares; raises UnknownCapabilityError."""
        self.checked()
        declared = self._said("capabilities")
        if declared is _MISSING:
            return frozenset(CAPABILITIES)
        if isinstance(declared, str | Mapping) or not isinstance(declared, Iterable):
            self._refuse(f"its capabilities are {declared!r}: give a set of names")
        names = list(cast("Iterable[object]", declared))
        for each in names:
            if not isinstance(each, str) or each not in CAPABILITIES:
                raise UnknownCapabilityError(self.found.text, each, [*CAPABILITIES])
        return frozenset(cast("list[str]", names))

    def profile(self, chosen: Profile | None) -> Profile:
        """Return its profile; raises EngineProfileError."""
        said = self._said("profile")
        if said is _MISSING:
            return chosen or SEED_001
        if isinstance(said, str):
            try:
                said = profile_named(said)
            except UnknownProfileError as error:
                raise EngineProfileError(self.found.text, said, str(error)) from error
        if not isinstance(said, Profile):
            why = "give a refengine.profile.Profile, or the name of one"
            raise EngineProfileError(self.found.text, said, why)
        if chosen is not None and said.name != chosen.name:
            why = f"{chosen.name!r} was asked for, so profile= must be taken over"
            raise EngineProfileError(self.found.text, said.name, why)
        return said

    def version(self) -> str:
        """Return its version as a text, "" if it says none."""
        said = self._said("version")
        return "" if said is _MISSING else str(said)

    def assumed(self) -> tuple[str, ...]:
        """Return what it does not say of itself."""
        fields = ("profile", "capabilities", "version")
        return tuple(each for each in fields if self._said(each) is _MISSING)

    def _said(self, attribute: str) -> object:
        """Return an attribute; None counts as not said."""
        found = getattr(self.engine, attribute, None)
        return _MISSING if found is None else found

    def _refuse(self, why: str) -> NoReturn:
        raise NotAnEngineError(self.found.text, self.engine, why)


def _binds(build: Callable[..., object]) -> bool:
    """Tell whether it can be called with two positions; an async def always tells."""
    try:
        inspect.signature(build).bind(None, None)
    except TypeError:
        return False
    return True
