"""Finding the class or function that gives an engine: installed, module or file.

``sys.path`` is the user's: the folder of a file, or the working directory for a module,
stands first, as where Python runs a script or a module.
"""

from __future__ import annotations

import importlib.util
import keyword
import os
import pkgutil
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Final, TypeAlias, cast

from compat.engines.load_errors import (
    AmbiguousEngineError,
    BrokenModuleError,
    LoadError,
    MissingDriverProgramError,
    MissingFileError,
    MissingModuleError,
    MissingNameError,
    NotAReferenceError,
    NotCallableError,
    UnknownEngineError,
)
from refengine.testing.loading import Own, error_line

GROUP: Final = "refengine.engines"
"""The entry points by which packages name their engines."""

COMMAND: Final = "cmd:"
"""Begins the text of an engine that is a driver: the command that starts it follows."""

GENERIC: Final = ("compat", "property_tests", "benchmarks")
"""Packages of refengine whose names a user's own may have, too."""

Factory: TypeAlias = Callable[..., object]


@dataclass(frozen=True, slots=True)
class EngineFactory:
    """The class or function that a text names, and whose modules it stands among."""

    text: str
    factory: Factory
    folder: Path
    installed: bool = False

    def error_line(self, error: BaseException) -> str:
        """Tell an exception in a line, with the user's own line that it came from."""
        return _error_line(error, self.folder)


def installed_engines() -> tuple[str, ...]:
    """Return the names of the installed engines, sorted."""
    return tuple(sorted({each.name for each in entry_points(group=GROUP)}))


def is_driver(text: str) -> bool:
    """Tell whether what a text names is a program behind a driver."""
    found = entry_points(group=GROUP, name=text)
    return text.startswith(COMMAND) or any(
        each.module.startswith("compat.drivers.") for each in found
    )


def find(text: str, cwd: Path | None = None) -> EngineFactory:
    """Return what a text names; raises LoadError."""
    here = Path.cwd() if cwd is None else cwd
    if text.startswith(COMMAND):
        return EngineFactory(text, partial(_by_command, text, _words(text)), here)
    if ":" not in text and not text.endswith(".py"):
        return _installed(text, here)
    target, _, name = text.rpartition(":")
    if not target or not name:
        raise NotAReferenceError(text, "it does not say which factory")
    if not name.isidentifier():
        raise NotAReferenceError(text, f"{name!r} is not the name of a factory")
    if target.endswith(".py"):
        return _of_file(text, target, name, here)
    if not all(part.isidentifier() for part in target.split(".")):
        raise NotAReferenceError(text, f"{target!r} is neither a module nor a .py file")
    return _of_module(text, target, name, here)


def _words(text: str) -> list[str]:
    """Return the words of a command; raises MissingDriverProgramError."""
    command = text.removeprefix(COMMAND)
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation that does not end
        words = []
    if not words or shutil.which(words[0]) is None:
        raise MissingDriverProgramError(command, words[0] if words else command)
    return words


def _by_command(
    text: str, words: Sequence[str], *, dialect_profile: str | None = None
) -> object:
    """Return the door to a driver that is started by a command."""
    from compat.drivers.connection import KeptDriver  # noqa: PLC0415  # it needs engines
    from compat.drivers.remote import opened  # noqa: PLC0415  # as above

    return opened(text, KeptDriver(lambda: words), dialect_profile)


def _installed(name: str, here: Path) -> EngineFactory:
    found = entry_points(group=GROUP, name=name)
    values = sorted({each.value for each in found})
    if not values:
        raise UnknownEngineError(name, installed_engines())
    if len(values) > 1:
        raise AmbiguousEngineError(name, values)
    [point] = (EntryPoint(name, value, GROUP) for value in values)
    module, attribute = point.module, point.attr
    got = _attribute(name, _imported(name, module, here), module, attribute)
    return EngineFactory(name, got, here, installed=True)


def _of_file(text: str, target: str, name: str, here: Path) -> EngineFactory:
    file = Path(os.path.normpath(here / target))
    if not file.is_file():
        there = [str(Path(target).with_name(p.name)) for p in file.parent.glob("*.py")]
        raise MissingFileError(text, target, there)
    with apart(file.parent):
        module = _attempt(text, file.parent, lambda: _executed(file))
    return EngineFactory(text, _attribute(text, module, target, name), file.parent)


def _of_module(text: str, target: str, name: str, here: Path) -> EngineFactory:
    with apart(here):
        module = _imported(text, target, here)
    return EngineFactory(text, _attribute(text, module, target, name), here)


def _imported(text: str, target: str, folder: Path) -> ModuleType:
    return _attempt(text, folder, lambda: _import(text, target, folder))


def _import(text: str, target: str, folder: Path) -> ModuleType:
    try:
        return import_module(target)
    except ModuleNotFoundError as error:
        # That of another module is an error in the user's code.
        if error.name is None or not f"{target}.".startswith(f"{error.name}."):
            raise
        there = [each.name for each in pkgutil.iter_modules([str(folder)])]
        raise MissingModuleError(text, target, there) from error


def _executed(file: Path) -> ModuleType:
    """Import a file under its own name, so that its neighbours can import it, too."""
    name = re.sub(r"\W", "_", file.stem)
    while name in sys.modules or keyword.iskeyword(name):
        name = f"{name}_"  # the file is called like something that is in use
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _attempt(text: str, folder: Path, do: Callable[[], ModuleType]) -> ModuleType:
    try:
        return do()
    except LoadError:
        raise
    except SyntaxError as error:
        where = f"{Path(error.filename or '?').name}, line {error.lineno}"
        why = f"{type(error).__name__}: {error.msg} ({where})"
        raise BrokenModuleError(text, why) from error
    except (Exception, SystemExit) as error:
        why = _error_line(error, folder) + _package_hint(error)
        raise BrokenModuleError(text, why) from error


def _error_line(error: BaseException, folder: Path) -> str:
    """Tell an exception and the user's own line, which is none of this package."""
    ours = os.path.realpath(Path(__file__).parent.parent)
    own = Own((os.path.realpath(folder),))
    return error_line(error, replace(own, others=(*own.others, ours)))


def _package_hint(error: BaseException) -> str:
    """Tell how a file of a package is named, if it was imported on its own."""
    alone = "no known parent package" in str(error)
    return "; name it as a module: package.module:factory" if alone else ""


def _attribute(text: str, module: ModuleType, shown: str, name: str) -> Factory:
    got: object = module
    for part in name.split("."):
        if not hasattr(got, part):
            raise MissingNameError(text, shown, name, _callables(module))
        got = cast("object", getattr(got, part))
    if not callable(got):
        raise NotCallableError(text, name, got)
    return got


def _callables(module: ModuleType) -> Sequence[str]:
    """Return the public names that were defined there and can be called."""
    return [
        name
        for name, each in vars(module).items()
        if not name.startswith("_")
        and callable(each)
        and getattr(each, "__module__", None) == module.__name__
    ]


@contextmanager
def apart(folder: Path) -> Generator[None, None, None]:
    """Put a folder first on the path, and out of its way what it has a name of, too.

    A user's own ``compat`` is found by his modules, and ours by ours: ours are in use
    already and come back afterwards. What his code imports only when it is called finds
    ours, which is why ``GENERIC`` is imported before his folder stands first.
    """
    for name in GENERIC:
        import_module(name)
    if str(folder) not in sys.path[:1]:
        sys.path.insert(0, str(folder))
    names = [name for name in GENERIC if _has(folder, name)]
    ours = {name: sys.modules.pop(name) for name in _loaded(names)}
    try:
        yield
    finally:
        for name in _loaded(names):
            del sys.modules[name]
        sys.modules.update(ours)


def _has(folder: Path, name: str) -> bool:
    """Tell whether a folder has a package or module of that name that is not ours."""
    ours = Path(str(sys.modules[name].__file__)).parent
    there = folder / name
    return (there.is_dir() and not there.samefile(ours)) or (
        folder / f"{name}.py"
    ).is_file()


def _loaded(names: Iterable[str]) -> list[str]:
    tops = tuple(names)
    return [name for name in list(sys.modules) if name.partition(".")[0] in tops]
