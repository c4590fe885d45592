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
import os
import platform
import re
import sys
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager, suppress
from functools import partial
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, cast

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
        if "opentelemetry.sdk.trace" not in sys.modules:
            return
        for each in _instances("opentelemetry.sdk.trace", "TracerProvider"):
            each.add_span_processor(self._counter)
            self.traces = True
        for module, kind in EXPORTERS:
            for each in _instances(module, kind):
                if type(each).__name__ != KEEPS:
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
        "asyncio.sleep": asyncio.sleep,
        "asyncio.run": asyncio.run,
        "asyncio.new_event_loop": asyncio.new_event_loop,
        "asyncio.get_event_loop": asyncio.get_event_loop,
    }


class ImportedModules:
    """What modules and their classes were when they were imported, and what changed.

    An attribute is told by its identity; a collection also by how long it is, since
    callbacks are registered in such. A value that a module keeps for itself, as an
    observer does its provider, is nothing that is observed.
    """

    def __init__(self) -> None:
        self._before = _around()
        for name, module in [*sys.modules.items()]:
            self._before |= _attributes(name, module)

    @property
    def changed(self) -> int:
        """How many attributes are others by now."""
        now = _around()
        for name, module in [*sys.modules.items()]:
            now |= _attributes(name, module)
        return sum(now.get(each, was) != was for each, was in self._before.items())

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
            self._before |= _attributes(fullname, module)

        with suppress(AttributeError):  # it has slots
            loader.exec_module = execute
        return spec


def _around() -> dict[tuple[str, ...], object]:
    """Return what is no module's: variables, and who finds modules.

    A variable by which an exporter is told where to send turns nothing on.
    """
    variables = tuple(each for each in os.environ.items() if each[0][:5] != "OTEL_")
    return {("environ",): variables, ("finders",): len(sys.meta_path)}


def _attributes(name: str, module: object) -> dict[tuple[str, ...], object]:
    root = name.partition(".")[0]
    is_own = root in sys.stdlib_module_names or name.startswith(HARNESS)
    if is_own or not isinstance(module, ModuleType):
        return {}
    found: dict[tuple[str, ...], object] = {}
    for key, value in [*vars(module).items()]:
        if not key.startswith("_") or type(value) in CODE:
            found[name, key] = _told(value)
        if isinstance(value, type) and value.__module__ == name:
            inside = ((inner, each) for inner, each in [*vars(value).items()])
            found |= {(name, key, inner): id(each) for inner, each in inside}
    return found


def _told(value: object) -> object:
    if isinstance(value, ModuleType):
        return "module"  # one that was imported below it
    if type(value) in CONTAINERS:
        return id(value), len(cast("Sized", value))
    return id(value)


def _instances(module: str, name: str) -> Iterator[Any]:
    """Yield the objects of a class that there are; none if nobody imported it."""
    kind = getattr(sys.modules.get(module), name, None)
    if isinstance(kind, type):
        # By its type: what only looks like one may do anything when it is asked.
        every = gc.get_objects()
        yield from (each for each in every if issubclass(type(each), kind))


def _silence(exporter: Any, module: ModuleType) -> None:  # noqa: ANN401  # of any vendor
    """Have an exporter take everything and send nothing."""
    results: list[Any] = [getattr(module, each, None) for each in dir(module)]
    done = next((each.SUCCESS for each in results if hasattr(each, "SUCCESS")), None)
    for name, result in (("export", done), ("force_flush", True), ("shutdown", None)):
        setattr(exporter, name, partial(_answer, result))


def _answer(result: object, *_: object, **__: object) -> object:
    return result
