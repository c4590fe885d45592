"""On what a measurement was made: the few facts that explain a time, and no name."""

from __future__ import annotations

import os
import platform
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


def _cpu() -> str:
    """Return the processor's name; Linux tells it to those who read a file."""
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text("utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
