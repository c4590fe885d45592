"""Loading a subject: its path, its own modules with probes, and what may go wrong.

``sys.path`` is the user's: the folder of a file, or the working directory for a module,
stands first. Modules from there are the subject's *own*; those of an environment, of
Python and of refengine are not. Nothing is written into the user's folder.
"""

from __future__ import annotations

import difflib
import importlib.util
import keyword
import os
import pkgutil
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final, cast

import refengine
from refengine.testing.clock import forward_sleeping
from refengine.testing.probes import Branches

ENVIRONMENTS: Final = frozenset({"site-packages", "dist-packages"})
SHOWN: Final = 300
"""So much of what an exception says is told."""


class Fault(Exception):
    """What went wrong at a subject, as data: its kind and a text for the user."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Reference:
    """Which subject: ``name`` in the file, or in the module if there is no file.

    ``moved`` are a checkout and the tree of another commit that stands for it.
    """

    folder: str
    name: str
    file: str | None = None
    module: str | None = None
    moved: Sequence[str] | None = None

    @property
    def shown(self) -> str:
        """The file or module, as the user knows it."""
        return os.path.basename(self.file) if self.file else str(self.module)  # noqa: PTH119  # a name that came as text


@dataclass(frozen=True, slots=True)
class Own:
    """Tells which files are the subject's own, and how they are named in reports."""

    roots: tuple[str, ...]
    setup: str | None = None
    """A file that stands there and is no part of the subject."""
    others: tuple[str, ...] = field(default_factory=lambda: tuple(_others()))

    def name(self, path: str) -> str | None:
        """Return the path relative to the subject's folder, or None for others'."""
        real = os.path.realpath(path)
        if real == self.setup:
            return None
        for root in self.roots:
            if _inside(real, root) and not self._of_others(real, root):
                return Path(real).relative_to(root).as_posix()
        return None

    def _of_others(self, real: str, root: str) -> bool:
        below = Path(real).relative_to(root).parts
        return bool(ENVIRONMENTS.intersection(below)) or any(
            _inside(real, other) for other in self.others
        )


class OwnLoader(SourceFileLoader):
    """Compiles a module from its source with probes, past any cache of bytecode."""

    def __init__(self, name: str, path: str, file: str, branches: Branches) -> None:
        super().__init__(name, path)
        self._file = file
        self._branches = branches

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the module; raises what importing it raises."""
        path = self.get_filename(fullname)
        return self._branches.compiled(self.get_data(path), path, self._file)


@dataclass(frozen=True, slots=True)
class OwnFinder:
    """Finds what Python finds in ``sys.path``, and has own modules instrumented."""

    own: Own
    branches: Branches

    def install(self) -> None:
        """Stand before the finder of ``sys.path``: builtin modules still go first."""
        at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0
        sys.meta_path.insert(at, cast("Any", self))

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the spec of an own module, or None for all others."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return None
        file = self.own.name(spec.loader.path)
        if file is None:
            return None
        loader = OwnLoader(fullname, spec.loader.path, file, self.branches)
        spec.loader = loader
        return spec


@dataclass(frozen=True, slots=True)
class LoadedSubject:
    """A subject, the module it stands in, and whose modules are its own."""

    subject: Callable[..., object]
    module: ModuleType
    own: Own


def ready_to_load(ref: Reference, branches: Branches, setup: str | None = None) -> Own:
    """Have own modules found, with probes; ``setup`` is a file that is none of them."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # for the subject's own processes
    _set_path(ref)
    own = Own(_roots(ref), setup)
    forward_sleeping()
    branches.install()
    OwnFinder(own, branches).install()
    return own


def load(ref: Reference, branches: Branches, own: Own) -> LoadedSubject:
    """Import a subject that was made ready for.

    Raises Fault, or SystemExit and the like as they come.
    """
    module = _imported(ref, own, branches)
    return LoadedSubject(_named(module, ref), module, own)


def forget_own(own: Own, others: Collection[str]) -> None:
    """Have own modules imported anew; ``others`` are names of modules that stay."""
    new = [name for name in sys.modules if name not in others]
    for name in new:
        file = getattr(sys.modules[name], "__file__", None)
        if isinstance(file, str) and own.name(file) is not None:
            del sys.modules[name]


def own_files(own: Own, modules: Iterable[str]) -> set[str]:
    """Return the names of files of the own ones among these modules.

    Where a file really stands costs as much as a short session for all that a framework
    imports, so nobody asks twice.
    """
    loaded = [sys.modules.get(each) for each in modules]
    paths = [getattr(each, "__file__", None) for each in loaded]
    names = (own.name(path) for path in paths if isinstance(path, str))
    return {name for name in names if name is not None}


def error_line(error: BaseException, own: Own | None = None) -> str:
    """Tell an exception in one line: its type, its text, and the user's line."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  # the exception is the user's, too
        text = "(its text cannot be made)"
    shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    name = type(error).__name__
    return (
        f"{name}: {shown}{_location(error, own)}"
        if shown
        else name + _location(error, own)
    )


def came_through(error: BaseException, own: Own) -> bool:
    """Tell whether an exception came through a line of the user's own."""
    return bool(_location(error, own))


def _location(error: BaseException, own: Own | None) -> str:
    """Return the last line of the user's own that an exception came through."""
    if own is None or isinstance(error, SyntaxError):
        return ""  # which tells its place itself
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        name = own.name(frame.filename)
        if name is not None:
            return f" ({name}, line {frame.lineno})"
    return ""


def _set_path(ref: Reference) -> None:
    """Put the subject's folder first, and a commit's tree in its checkout's place.

    A project that is installed as editable is on the path with its checkout; without
    this its modules would come from today's files.
    """
    if ref.moved is not None:
        checkout, tree = ref.moved
        sys.path[:] = [_moved(each, checkout, tree) for each in sys.path]
    sys.path.insert(0, ref.folder)


def _moved(path: str, checkout: str, tree: str) -> str:
    real = os.path.realpath(path)
    if not path or not _inside(real, checkout):
        return path
    there = str(Path(tree, Path(real).relative_to(checkout)))
    return there if Path(there).exists() else path


def _roots(ref: Reference) -> tuple[str, ...]:
    """Return the folders of own modules: the first, and that of the package."""
    first = os.path.realpath(ref.folder)
    if ref.module is None:
        return (first,)
    top = PathFinder.find_spec(ref.module.partition(".")[0])
    if top is None or top.origin is None:
        return (first,)
    home = Path(os.path.realpath(top.origin)).parent
    if not top.submodule_search_locations:
        return (first,) if ENVIRONMENTS.intersection(home.parts) else (first, str(home))
    above = home.parent
    return (first,) if ENVIRONMENTS.intersection(above.parts) else (first, str(above))


def _others() -> Iterator[str]:
    """Yield the folders that are never a subject's own."""
    for key in ("stdlib", "platstdlib"):
        yield os.path.realpath(sysconfig.get_path(key))
    yield os.path.realpath(Path(refengine.__file__).parent)


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _imported(ref: Reference, own: Own, branches: Branches) -> ModuleType:
    try:
        if ref.file is None:
            return _import_module(str(ref.module), ref)
        return _import_file(ref.file, own, branches)
    except SyntaxError as error:
        name = own.name(error.filename) if error.filename else None
        if name is None:
            raise Fault("import", error_line(error, own)) from error
        text = f"{type(error).__name__}: {error.msg} ({name}, line {error.lineno})"
        raise Fault("syntax", text) from error
    except Exception as error:
        if isinstance(error, Fault):
            raise
        raise Fault("import", error_line(error, own) + _hint(error, ref)) from error


def _hint(error: Exception, ref: Reference) -> str:
    """Tell how a file of a package is named, if it was imported on its own."""
    if ref.file is None or "no known parent package" not in str(error):
        return ""
    path = Path(ref.file)
    return f"; name it as a module: {path.parent.name}.{path.stem}:{ref.name}"


def _import_module(name: str, ref: Reference) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        # That of another module is an error of the user's code.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        there = [each.name for each in pkgutil.iter_modules([ref.folder])]
        close = difflib.get_close_matches(name, there, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise Fault("missing-file", f"there is no module {name!r}{hint}") from error


def _import_file(path: str, own: Own, branches: Branches) -> ModuleType:
    """Import a file under its own name, so that its neighbours can import it, too."""
    if not Path(path).is_file():
        raise Fault("missing-file", "there is no such file")
    name = re.sub(r"\W", "_", Path(path).stem)
    while name in sys.modules or keyword.iskeyword(name):
        name = f"{name}_"  # the file is called like something that is in use
    file = own.name(path) or Path(path).name
    loader = OwnLoader(name, path, file, branches)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise Fault("missing-file", "it cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def _named(module: ModuleType, ref: Reference) -> Callable[..., object]:
    got = cast("object", getattr(module, ref.name, None))
    if not hasattr(module, ref.name):
        names = [name for name, each in vars(module).items() if callable(each)]
        close = difflib.get_close_matches(ref.name, names, n=1)
        hint = f": did you mean {close[0]!r}?" if close else ""
        raise Fault("missing-name", f"{ref.shown} has no {ref.name!r}{hint}")
    if not callable(got):
        kind = type(got).__name__
        raise Fault("not-callable", f"{ref.name!r} is of type {kind}, no function")
    return got
