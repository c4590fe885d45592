"""The skeleton of a migration: what ``refengine init migration`` writes.

Both sides are small and real, so the first check says "holds"; what is in them is then
replaced by what is to be migrated. Every file is run by a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

OLD: Final = '''"""The old side: put the struct middleware that you have here."""

from refengine import AgentMiddleware

LIMIT = 10


def subject(world):
    """Return what an agent is extended with; called once for every session.

    Take time, ids and random numbers from world.now(), world.new_id() and world.random,
    and tell what leaves the agent by world.effect(name, data).
    """
    return [AgentMiddleware(additional_instruction="Be brief.", before_chat_model=trim)]


def trim(ctx, state):
    """Keep the last messages."""
    state.messages = state.messages[-LIMIT:]
'''

NEW: Final = '''"""The new side: put the port to handlers here."""

LIMIT = 10


def subject(world):
    """Return what an agent is extended with; called once for every session."""
    return [Trim()]


class Trim:
    """Asks for short answers and keeps the last messages."""

    name = "trim"

    def before_agent(self, ctx, config):
        """Add a line to the instruction, as the struct did."""
        config.instruction += "\\nBe brief."
        return ctx

    def before_model_rewrite_history(self, ctx, messages):
        """Keep the last messages."""
        return ctx, messages[-LIMIT:]
'''

SETTINGS: Final = """about = "What this piece does."
old = "old.py"
# same-answer, same-state, same-effects, same-up-to-volatile or identical
require = "same-effects"

[cases."new.py"]
holds = "same-effects"

# A field that differs from run to run by its nature:
# [[volatile]]
# channel = "effects"
# path = "[*].data.at"
# reason = "a time stamp of the vendor"

# A difference that is meant. "world" is the smallest world that needs it, as
# "refengine migrate check old.py new.py --reproducer DIR" writes it (world.json).
# [[cases."new.py".allow]]
# channel = "requests"
# path = "[*].messages[0].content"
# reason = "one newline less"
# world = "worlds/newline.json"
"""

MIGRATION_TEST: Final = '''"""The same check in pytest; needs refengine[testing]."""

from pathlib import Path

HERE = Path(__file__).parent


def test_port_does_what_the_old_side_did(assert_migrates):
    assert_migrates(HERE / "old.py", HERE / "new.py")
'''

MIGRATION: Final[Mapping[str, str]] = MappingProxyType(
    {
        "old.py": OLD,
        "new.py": NEW,
        "migration.toml": SETTINGS,
        "test_migration.py": MIGRATION_TEST,
    }
)
"""The files of a migration by name."""
