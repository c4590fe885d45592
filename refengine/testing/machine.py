"""The machine: what a measurement was made on, memory's limit, what is installed."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Final

CPU_INFO: Final = Path("/proc/cpuinfo")


def facts() -> dict[str, str]:
    """Return processor, cores, system and Python; no host, user or path."""
    return {
        "cpu": _cpu(),
        "cores": str(os.cpu_count() or "unknown"),
        "os": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def limit_memory(further: int) -> None:
    """Let this process take so many bytes more than it has; where that can be done.

    What is written counts, and not addresses: each thread sets aside a lot of those.
    """
    if sys.platform != "linux":  # elsewhere the limit is not that of a process, or none
        return
    import resource  # noqa: PLC0415  # not there everywhere

    pages = int(Path("/proc/self/statm").read_text("ascii").split()[5])
    limit = pages * resource.getpagesize() + further
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def _cpu() -> str:
    """Return the processor's name; Linux tells it to those who read a file."""
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text("utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


# How what an extra brings is installed, wherever refengine itself came from. The name
# ``refengine`` is on no registry, so ``pip install 'refengine[wire]'`` would find
# nothing, or a stranger's package. What the extra brings is there under its own names,
# which works beside a checkout as well as beside a wheel.


_OF_EXTRA: Final = re.compile(r"^([^;]+?)\s*;.*extra\s*==\s*[\"']([\w-]+)[\"']")


@cache
def install_line(extra: str) -> str:
    """Return the command that installs what an extra brings."""
    try:
        declared = requires("refengine") or []
    except PackageNotFoundError:  # its sources are on the path, and not installed
        declared = []
    found = [_OF_EXTRA.match(each) for each in declared]
    wanted = [each[1] for each in found if each is not None and each[2] == extra]
    if not wanted:
        return f"pip install '.[{extra}]' in the checkout of refengine"
    return f"pip install {' '.join(map(repr, sorted(wanted)))}"
