"""Starting and ending the process of a side, and all that its subject started."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

import refengine
from compat.migration.pipes import descriptor, poll, read

GRACE: Final = 1.0
"""Seconds in which a child may end by itself, so that its own clean-up runs."""

SILENT: Final = MappingProxyType(
    {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}
)
"""A check sends nothing anywhere, whatever a user's shell has switched on."""

START: Final = """\
import sys
root = sys.argv[1]
sys.path.append(root)
from refengine.testing.child import main
sys.path.remove(root)
main()
"""
"""Finds refengine where the parent found it, without leaving it in the user's path."""


def spawn(cwd: Path, hash_seed: int) -> subprocess.Popen[bytes]:
    """Start a child that waits for requests, in a session of its own."""
    root = str(Path(refengine.__file__).parent.parent)
    process = subprocess.Popen(  # noqa: S603  # our own Python, and no shell
        [sys.executable, "-P", "-c", START, root],
        cwd=cwd,
        env=_environment(hash_seed),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    for pipe in (process.stdin, process.stdout, process.stderr):
        os.set_blocking(descriptor(pipe), False)
    return process


def _environment(hash_seed: int) -> Mapping[str, str]:
    """Return the user's own, with the seed by which sets of text are ordered.

    Sets have one order in all children: else two sides differ by chance. The seed 0
    asks for no order in particular, so the user's own setting is kept.
    """
    seed = {"PYTHONHASHSEED": str(hash_seed)}
    own = {**os.environ, **seed} if hash_seed else {**seed, **os.environ}
    return {**own, **SILENT}


def kill(process: subprocess.Popen[bytes]) -> int:
    """End all that is in the child's session; return how the child itself ended.

    The group is ended before the child is waited for: until then nobody else can have
    its number. A child that is gone already keeps its own exit status.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def close(process: subprocess.Popen[bytes]) -> None:
    """Close the parent's ends of its pipes."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def end(process: subprocess.Popen[bytes]) -> None:
    """Let a child end by itself for a moment, then end it."""
    if process.returncode is None and process.stdin is not None:
        process.stdin.close()
        _drain(descriptor(process.stdout), descriptor(process.stderr))
    kill(process)
    close(process)


def _drain(replies: int, printed: int) -> None:
    """Read what nobody wants any more until the child has ended, or time is up."""
    until = time.monotonic() + GRACE
    while (left := until - time.monotonic()) > 0:
        for each in poll({replies: select.POLLIN, printed: select.POLLIN}, left):
            if read(each) == b"" and each == replies:
                return
