"""What ``--on`` names: so many workers of this machine, or a scheduler that runs."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

LOCAL: Final = "local:"
FORMS: Final = (
    "local:N for N workers here, or the address of a scheduler:"
    " tls://HOST:PORT, or tcp://127.0.0.1:PORT"
)


class ClusterAddressError(ValueError):
    """A text that names no workers, or some that may not be asked."""

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        super().__init__(f"--on {text!r}: {why}; give {FORMS}")


@dataclass(frozen=True, slots=True)
class LocalWorkers:
    """So many workers, started for one command on the loopback interface."""

    workers: int


@dataclass(frozen=True, slots=True)
class RunningScheduler:
    """A scheduler that somebody has started."""

    address: str


def cluster_address(text: str) -> LocalWorkers | RunningScheduler:
    """Return what ``--on`` names; raises ClusterAddressError.

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
