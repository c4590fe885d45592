"""A setup: a file that a child runs before it imports the subject, as production does.

    setup = SideSetup("tracing.py", "/…/tracing.py")
    setup.run()                    # raises Fault
    setup.changed, setup.spans     # what it did, and what it has seen since

It is no part of the subject: what it prints, logs or asks of the network is nobody's
effect. What its exporters were to send goes nowhere. It may start no process, and
replace nothing by which the child is played.
"""

from __future__ import annotations

import asyncio
import builtins
import gc
import json
import os
import platform
import re
import sys
import threading
import time
from collections.abc import Generator, Iterable, Mapping, Sequence, Sized
from contextlib import contextmanager, suppress
from functools import partial
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from operator import is_
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, TypeAlias, cast

from refengine.testing.isolation.side_doors import hear
from refengine.testing.loading import Fault, error_line

KIND: Final = "setup"
PROCESSES: Final = (
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.system",
    "subprocess.Popen",
)
"""What Python tells of where a process is started."""
PROVIDERS: Final = "opentelemetry.sdk.trace"
PROVIDER: Final = (PROVIDERS, "TracerProvider")
EXPORTERS: Final = (
    ("opentelemetry.sdk.trace.export", "SpanExporter"),
    ("opentelemetry.sdk.metrics.export", "MetricExporter"),
    ("opentelemetry.sdk._logs.export", "LogExporter"),
    ("opentelemetry.sdk._logs.export", "LogRecordExporter"),
)
"""What sends what an observer has seen, by the module and the name of its class."""
KEEPS: Final = "InMemorySpanExporter"
"""An exporter that sends nothing, whose setup may look into it."""
HARNESS: Final = ("__main__", "refengine.testing")
CODE: Final = (FunctionType, type)
CONTAINERS: Final = (dict, list, set)

ClassName: TypeAlias = tuple[str, str]
"""A module, and a class of it."""


class SpanCounter:
    """A processor of spans, as OpenTelemetry's providers take it, that counts them."""

    def __init__(self) -> None:
        self.spans: int = 0
        self._lock = threading.Lock()

    def on_start(self, span: object, *_: object, **__: object) -> None:
        """Count a span."""
        del span
        with self._lock:
            self.spans += 1

    def on_end(self, span: object) -> None:
        """Hear that one ended."""

    def _on_ending(self, *_: object) -> None:
        """Hear that one is about to end."""

    def shutdown(self) -> None:
        """End."""

    def force_flush(self, *_: object, **__: object) -> bool:
        """Have nothing left to send."""
        return True


class SideSetup:
    """One setup: run once, and then asked what it changed and saw."""

    def __init__(
        self, name: str, file: str, counter: SpanCounter | None = None
    ) -> None:
        """``name`` is what the user calls it; ``counter`` hears of its spans."""
        self.name = name
        self.file: str = os.path.realpath(file)
        self.changed: int = 0
        self.traces: bool = False
        """Whether there is a provider of spans, however many have begun."""
        self._counter = counter or SpanCounter()
        self._running = False
        self._started = False

    @property
    def spans(self) -> int:
        """How many spans have begun since it was run."""
        return self._counter.spans

    @property
    def runs(self) -> bool:
        """Whether it has changed what is observed and makes no spans, as a runner."""
        return self.changed > 0 and not self.traces

    @property
    def reply(self) -> dict[str, Any]:
        """What a reply says of it."""
        return {"setup": {"changed": self.changed, "spans": self.spans}}

    def run(self) -> None:
        """Run it; raises Fault with what is wrong with it."""
        hear(dict.fromkeys(PROCESSES, self._starts))
        needed, modules = _needed(), ImportedModules()
        if PROVIDERS not in sys.modules:
            gc.freeze()  # then only what it makes is looked through for providers
        self._running = True
        try:
            with modules.watched():
                self._execute()
        finally:
            self._running = False
        if self._started:
            raise self._fault("starts a process, which no session could end")
        taken = [name for name, each in _needed().items() if needed[name] is not each]
        if taken:
            raise self._fault(f"replaces {taken[0]}, by which the side is played")
        self.changed = modules.changed
        self._silence()

    def _execute(self) -> None:
        name = re.sub(r"\W", "_", Path(self.file).stem)
        if name in sys.modules:
            name = f"{name}_setup"
        loader = SourceFileLoader(name, self.file)
        spec = spec_from_file_location(name, self.file, loader=loader)
        if spec is None:
            raise self._fault("cannot be imported")
        module = module_from_spec(spec)
        sys.modules[name] = module
        sys.path.append(str(Path(self.file).parent))
        try:
            loader.exec_module(module)
        except Fault:
            raise
        except (SystemExit, KeyboardInterrupt) as error:
            raise self._fault(f"ends the process ({error_line(error)})") from error
        except BaseException as error:
            where = f"{error_line(error)}{self._line(error)}"
            raise self._fault(f"fails: {where}") from error

    def _silence(self) -> None:
        """Count the spans that begin from now on, and have none of them sent."""
        if PROVIDERS not in sys.modules:
            return
        for (module, kind), each in instances((PROVIDER, *EXPORTERS)):
            if (module, kind) == PROVIDER:
                each.add_span_processor(self._counter)
                self.traces = True
            elif type(each).__name__ != KEEPS:
                _silence(each, sys.modules[module])

    def _starts(self, _: tuple[Any, ...]) -> None:
        if self._running and not _asks_of_the_system():
            self._started = True
            raise self._fault("starts a process, which no session could end")

    def _fault(self, why: str) -> Fault:
        return Fault(KIND, f"its setup {self.name} {why}")

    def _line(self, error: BaseException) -> str:
        """Return the last line of its own that an error came through."""
        lines: list[int] = []
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.file:
                lines.append(trace.tb_lineno)
            trace = trace.tb_next
        return f" ({self.name}, line {lines[-1]})" if lines else ""


def _asks_of_the_system() -> bool:
    """Tell whether Python itself asks what it runs on, of a program that ends."""
    frame = sys._getframe(1)  # noqa: SLF001  # the way to a stack without its sources
    while frame.f_back is not None and frame.f_code.co_filename != platform.__file__:
        frame = frame.f_back
    return frame.f_code.co_filename == platform.__file__


def _needed() -> Mapping[str, object]:
    """Return what the child itself goes by, under names that a user knows."""
    return {
        "sys.stdin": sys.stdin,
        "sys.stdout": sys.stdout,
        "sys.stderr": sys.stderr,
        "builtins.open": builtins.open,
        "time.time": time.time,
        "time.sleep": time.sleep,
        "time.monotonic": time.monotonic,
        "time.perf_counter": time.perf_counter,
        "json.dumps": json.dumps,
        "json.loads": json.loads,
        "asyncio.sleep": asyncio.sleep,
        "asyncio.run": asyncio.run,
        "asyncio.new_event_loop": asyncio.new_event_loop,
        "asyncio.get_event_loop": asyncio.get_event_loop,
        "the policy of asyncio's event loops": asyncio.get_event_loop_policy(),  # pyright: ignore[reportDeprecated]  # until 3.16
    }


class ImportedModules:
    """What modules and their classes were when they were imported, and what changed.

    An attribute is told by its identity; a collection also by how long it is, since
    callbacks are registered in such. A value that a module keeps for itself, as an
    observer does its provider, is nothing that is observed.
    """

    def __init__(self) -> None:
        self._around = _around()
        self._before: dict[str, ModuleAsItWas] = {}
        for name, module in [*sys.modules.items()]:
            self._look_at(name, module)

    @property
    def changed(self) -> int:
        """How many attributes are others by now."""
        now = _around()
        others = sum(now[each] != was for each, was in self._around.items())
        return others + sum(each.changed for each in self._before.values())

    def _look_at(self, name: str, module: object) -> None:
        root = name.partition(".")[0]
        is_own = root in sys.stdlib_module_names or name.startswith(HARNESS)
        if not is_own and isinstance(module, ModuleType):
            self._before[name] = ModuleAsItWas(name, module)

    @contextmanager
    def watched(self) -> Generator[None, None, None]:
        """Look at each module that is imported in the block, before it is changed."""
        watching = cast("Any", self)
        sys.meta_path.insert(0, watching)
        try:
            yield
        finally:
            sys.meta_path.remove(watching)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return what the other finders find, looked at once it has run."""
        finders = (each for each in [*sys.meta_path] if each is not cast("Any", self))
        found = (each.find_spec(fullname, path, target) for each in finders)
        spec = next((each for each in found if each is not None), None)
        loader: Any = None if spec is None else spec.loader
        if loader is None or isinstance(loader, type):
            return spec  # builtin and frozen ones are Python's own
        executes = loader.exec_module

        def execute(module: ModuleType) -> None:
            executes(module)
            self._look_at(fullname, module)

        with suppress(AttributeError):  # it has slots
            loader.exec_module = execute
        return spec


def _around() -> dict[tuple[str, ...], object]:
    """Return what is no module's: variables, and who finds modules.

    A variable by which an exporter is told where to send turns nothing on.
    """
    variables = tuple(each for each in os.environ.items() if each[0][:5] != "OTEL_")
    return {("environ",): variables, ("finders",): len(sys.meta_path)}


class ModuleAsItWas:
    """The attributes that a module and its own classes had when they were looked at.

    They are held, and compared as whole dicts first: nearly all are as they were, and
    a framework has a hundred thousand.
    """

    __slots__ = ("_classes", "_found", "_lengths", "_name")

    def __init__(self, name: str, module: ModuleType) -> None:
        self._name = name
        self._found = found = {**vars(module)}
        kinds = [each for each in found.values() if isinstance(each, type)]
        own = [each for each in kinds if each.__module__ == name]
        self._classes = [(each, {**vars(each)}) for each in own]
        sized = {
            key: cast("Sized", each)
            for key, each in found.items()
            if type(each) in CONTAINERS and not key.startswith("_")
        }
        self._lengths = {key: (each, len(each)) for key, each in sized.items()}

    @property
    def changed(self) -> int:
        """How many are others by now, or of another length."""
        module = sys.modules.get(self._name)
        now = vars(module) if isinstance(module, ModuleType) else {}
        others = [each for each in _others(self._found, now) if self._shows(each, now)]
        longer = [
            key
            for key, (each, length) in self._lengths.items()
            if key not in others and len(each) != length
        ]
        inside = sum(len(_others(was, vars(each))) for each, was in self._classes)
        return len(others) + len(longer) + inside

    def _shows(self, key: str, now: Mapping[str, object]) -> bool:
        """Whether it is no module that was imported below, and not the module's own."""
        value = self._found[key]
        if isinstance(value, ModuleType) and isinstance(now[key], ModuleType):
            return False
        return not key.startswith("_") or type(value) in CODE


def _others(was: Mapping[str, object], now: Mapping[str, object]) -> Sequence[str]:
    """Return the names of values that are not the same object any more."""
    if len(was) == len(now) and all(map(is_, was.values(), now.values())):
        return ()
    return [key for key, each in was.items() if now.get(key, each) is not each]


def instances(classes: Iterable[ClassName]) -> Sequence[tuple[ClassName, Any]]:
    """Return the objects of classes that there are; none if nobody imported it.

    All are looked for at once: a process has a few hundred thousand objects.
    """
    named = {each: getattr(sys.modules.get(each[0]), each[1], None) for each in classes}
    kinds = {each: kind for each, kind in named.items() if isinstance(kind, type)}
    # By its type: what only looks like one may do anything when it is asked.
    every = gc.get_objects()
    names = {
        of: found
        for of in set(map(type, every))
        if (found := [name for name, kind in kinds.items() if issubclass(of, kind)])
    }
    made = (each for each in every if type(each) in names)
    return [(name, each) for each in made for name in names[type(each)]]


def _silence(exporter: Any, module: ModuleType) -> None:  # noqa: ANN401  # of any vendor
    """Have an exporter take everything and send nothing."""
    results: list[Any] = [getattr(module, each, None) for each in dir(module)]
    done = next((each.SUCCESS for each in results if hasattr(each, "SUCCESS")), None)
    for name, result in (("export", done), ("force_flush", True), ("shutdown", None)):
        setattr(exporter, name, partial(_answer, result))


def _answer(result: object, *_: object, **__: object) -> object:
    return result
