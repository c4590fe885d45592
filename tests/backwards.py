"""Engines for tests of the suite, also as a file that a command is given."""

from dataclasses import replace
from pathlib import Path

from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine


class Backwards(ReferenceEngine):
    """Calls the handlers in reverse."""

    async def build(self, config, on_notice):
        handlers = tuple(reversed(config.handlers))
        return await super().build(replace(config, handlers=handlers), on_notice)


class Narrow(ReferenceEngine):
    """Says that it has no hook but the last one."""

    capabilities = frozenset(("after_agent",))


def broken():
    return named(Backwards(SEED_001))


def mended():
    return named(ReferenceEngine(SEED_001))


def narrow():
    """Declare next to nothing."""
    return named(Narrow(SEED_001))


def named(engine):
    engine.name, engine.version = "mine", "1.4"
    return engine


def placed(folder: Path) -> None:
    """Put this file where a command is run."""
    text = Path(__file__).read_text("utf-8")
    (folder / "engines.py").write_text(text, "utf-8")
