"""A scheduler of dask as a place where units are played.

ClusterError (RefengineError)
├── OtherVersionError       a worker would give another answer
└── LostUnitError           the workers of a unit ended, time after time
"""

from __future__ import annotations

import ipaddress
import json
import logging
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any, Final
from urllib.parse import urlsplit

from compat.cluster.units import own_version, packed, run_unit
from compat.spreading import RefusedUnitError, UnitData, other_threads_draw
from refengine.errors import RefengineError, error
from refengine.testing.machine import install_line

LOCAL: Final = "local:"
FORMS: Final = (
    "local:N for N workers here, or the address of a scheduler:"
    " tls://HOST:PORT, or tcp://127.0.0.1:PORT"
)


class ClusterAddressError(ValueError):
    """A text that names no workers, or some that may not be asked."""

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        super().__init__(f"--cluster {text!r}: {why}; give {FORMS}")


@dataclass(frozen=True, slots=True)
class LocalWorkers:
    """So many workers, started for one command on the loopback interface."""

    workers: int


@dataclass(frozen=True, slots=True)
class RunningScheduler:
    """A scheduler that somebody has started."""

    address: str


def cluster_address(text: str) -> LocalWorkers | RunningScheduler:
    """Return what ``--cluster`` names; raises ClusterAddressError.

    What dask sends between machines is pickled, so whoever can write to a connection
    can run code at its end: without TLS only this machine is talked to.
    """
    if text.startswith(LOCAL):
        return LocalWorkers(_count(text))
    parts = urlsplit(text)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme not in {"tcp", "tls"} or not host or port is None:
        raise ClusterAddressError(text, "that is not an address of a scheduler")
    if parts.scheme != "tls" and not _is_loopback(host):
        why = f"{host} is another machine, and without TLS anybody between could write"
        raise ClusterAddressError(text, why)
    return RunningScheduler(text)


def _count(text: str) -> int:
    number = text.removeprefix(LOCAL)
    if not (number.isascii() and number.isdigit()) or not int(number):
        raise ClusterAddressError(text, f"{number!r} is not a number of workers")
    return int(number)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, which may mean any machine
        return False


PATIENCE: Final = 30
"""Seconds to reach a scheduler, and until a worker has come."""
AHEAD: Final = 4
"""So many units a worker has before it, so that it never waits for one."""
_QUIET: Final[dict[str, object]] = {
    # What is left of the dashboard is a server that has no page.
    "distributed.scheduler.http.routes": [],
    # Samples of every thread's stack, a hundred a second, are for that dashboard.
    "distributed.worker.profile.enabled": False,
}


class ClusterError(RefengineError):
    """Work that could not be done on a cluster."""


class MissingClusterError(ClusterError):
    """dask is not installed."""

    def __init__(self) -> None:
        super().__init__(
            f"--cluster needs the extra 'cluster': {install_line('cluster')}"
        )


@error
class UnreachableSchedulerError(ClusterError):
    """No scheduler answers, or it has no worker."""

    address: str
    why: str
    says = "--cluster {address}: {why}"


@error
class OtherVersionError(ClusterError):
    """A worker with other sources, which would give another answer."""

    worker: str
    theirs: str
    ours: str
    says = (
        "worker {worker} has refengine {theirs}, and here it is {ours}:"
        " install the same one on both"
    )


@error
class LostUnitError(ClusterError):
    """A unit that ended every worker it was given to, or broke there."""

    kind: str
    why: str
    says = "a unit of kind {kind} was lost: {why}"


class DaskSpread:
    """Plays units on the workers of a scheduler."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401  # dask has no types
        self._client = client

    def each(
        self, kind: str, units: Iterable[UnitData]
    ) -> Generator[tuple[int, UnitData], None, None]:
        """Yield the place of each unit and its answer, as they come.

        What is left is cancelled where its reader stops, also by Ctrl-C. Raises
        RefusedUnitError, OtherVersionError or LostUnitError.
        """
        ours = own_version()
        under_way = _UnderWay(self._client, _asked(kind, units, ours))
        try:
            for at, future in under_way.done():
                if future.status != "finished":
                    raise LostUnitError(kind, str(future.exception()))
                yield at, _answer(json.loads(future.result()), ours)
        finally:
            under_way.cancel()


class _UnderWay:
    """The units that a scheduler has: a few for each worker, however many there are.

    A scheduler that was given all of a large corpus at once would hold all of it.
    """

    def __init__(self, client: Any, asked: Iterator[bytes]) -> None:  # noqa: ANN401  # dask has no types
        self._client = client
        self._asked = enumerate(asked)
        self._found = _dask().as_completed(loop=client.loop)
        self._places: dict[str, tuple[int, Any]] = {}
        self._most = 0

    def done(self) -> Iterator[tuple[int, Any]]:
        """Yield the place of each unit that ended, and its future."""
        self._send()
        for future in self._found:
            at, _ = self._places.pop(future.key)
            self._send()
            yield at, future

    def _send(self) -> None:
        """Fill up what workers have before them, once it is half gone."""
        if len(self._places) > self._most // 2:
            return
        self._most = AHEAD * sum(self._client.nthreads().values())
        for at, payload in islice(self._asked, self._most - len(self._places)):
            # Equal units are played each: whether one is luck is what may be asked.
            future = self._client.submit(run_unit, payload, pure=False)
            self._places[future.key] = at, future
            self._found.add(future)

    def cancel(self) -> None:
        """Take back what has not ended."""
        left = [future for _, future in self._places.values()]
        self._client.cancel(left, force=True)


def _asked(kind: str, units: Iterable[UnitData], ours: str) -> Iterator[bytes]:
    for each in units:
        yield packed({"version": ours, "kind": kind, "unit": dict(each)})


def _answer(reply: UnitData, ours: str) -> UnitData:
    if "other" in reply:
        raise OtherVersionError(reply["worker"], reply["other"], ours)
    if "refused" in reply:
        raise RefusedUnitError(reply["refused"])
    answer: UnitData = reply["answer"]
    return answer


@contextmanager
def opened(on: str) -> Generator[DaskSpread, None, None]:
    """Yield the workers that ``--cluster`` names, for as long as they are asked.

    Workers of this machine bind to loopback, have no dashboard, and end with the
    command. Raises ClusterAddressError or ClusterError.
    """
    where = cluster_address(on)
    dask = _dask()
    with ExitStack() as stack:
        if isinstance(where, LocalWorkers):
            address = stack.enter_context(_started(where)).scheduler_address
        else:
            address = where.address
        try:
            client = dask.Client(address, timeout=PATIENCE, set_as_default=False)
            stack.enter_context(client).wait_for_workers(1, timeout=PATIENCE)
        except (OSError, TimeoutError) as error:
            raise UnreachableSchedulerError(address, _why(error)) from None
        stack.enter_context(other_threads_draw())
        yield DaskSpread(client)


@contextmanager
def _started(local: LocalWorkers) -> Generator[Any, None, None]:
    """Yield workers of this machine, with a scheduler that only it can reach."""
    config = import_module("dask.config")
    with (
        config.set(_QUIET),
        _dask().LocalCluster(
            n_workers=local.workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # Not None: that means the port of everybody's dashboard.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,  # of workers that are ended
        ) as found,
    ):
        yield found


def _dask() -> Any:  # noqa: ANN401  # it has no types
    """Return dask.distributed; raises MissingClusterError."""
    try:
        return import_module("distributed")
    except ModuleNotFoundError:
        raise MissingClusterError from None


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        return f"no scheduler answers there within {PATIENCE} s"
    return f"no scheduler answers there, or it has no worker, within {PATIENCE} s"
