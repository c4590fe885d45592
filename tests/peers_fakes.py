"""Frameworks that tests make up: what each does wrong is its name."""

import os
import signal
import sys

from benchmarks.peers.peer import ANSWER, Peer, Variant

BREAKS = 5
"""So many handlers are too many for those that fail by number."""


def run(n, seen, calls=2, tool=1, answer=ANSWER):
    """Return a run that does its work, or as much of it as is said."""

    async def work():
        if seen is not None:
            seen.model += 2
            seen.tool += tool
            seen.hooks += n * calls
        return answer

    return work


def works(n, seen):
    return run(n, seen)


def skips_the_tool(n, seen):
    return run(n, seen, tool=0)


def skips_handlers(n, seen):
    return run(n, seen, calls=1)


def answers_otherwise(n, seen):
    return run(n, seen, answer="Something else.")


def skips_the_tool_the_second_time(n, seen):
    tools = iter((1, 0))

    async def work():
        return await run(n, seen, tool=next(tools))()

    return work


def silent(n, seen):
    return run(n, seen, tool=int(n < BREAKS))


def raises(n, seen):
    if n >= BREAKS:
        raise RecursionError("too deep\nby far")
    return run(n, seen)


def is_killed(n, seen):
    if n >= BREAKS:
        os.kill(os.getpid(), signal.SIGKILL)
    return run(n, seen)


def never_starts(n, seen):
    os.kill(os.getpid(), signal.SIGKILL)


def leaves(n, seen):
    if n >= BREAKS:
        os._exit(7)
    return run(n, seen)


def prints(n, seen):
    sys.stdout.write("what a framework prints\n")
    os.write(1, b"and past Python\n")
    return run(n, seen)


def variant(build):
    return Variant(build.__name__, "before_model_rewrite_history", build)


def peer(*builds):
    """Return a peer with these hooks, whose version is that of a package we have."""
    return Peer("fake", "pydantic", lambda: [variant(build) for build in builds])


def not_installed():
    raise ImportError("No module named 'fake'", name="fake")


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


FINE = peer(works)
PRINTS = peer(prints)
BREAKING = peer(silent, raises, is_killed, leaves)
KILLED = peer(is_killed)
DYING = peer(never_starts)
MIXED = peer(works, skips_the_tool)
ABSENT = Peer("absent", "no-such-distribution", not_installed)
UNVERSIONED = Peer("unversioned", "no-such-distribution", list)
DEADLY = Peer("deadly", "pydantic", dies)


def spins(n):
    """Return how often a run with ``n`` handlers goes round; a setup replaces it."""
    return n * 100


def growing(n, seen):
    done = run(n, seen)

    async def work():
        for _ in range(spins(n)):
            pass
        return await done()

    return work


GROWING = peer(growing)
