"""``refengine init migration|engine [DIR]``: files to start from, which run at once.

Both sides of a migration are small and real, so the first check says "holds"; what is
in them is then replaced by what is to be migrated. So is the engine behind a door.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

import typer

from compat.commands import new_app, runner, told
from compat.migration import engine_skeletons
from compat.migration.engine_skeletons import For

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

TEST: Final = '''"""The same check in pytest; needs refengine[testing]."""

from pathlib import Path

HERE = Path(__file__).parent


def test_port_does_what_the_old_side_did(assert_migrates):
    assert_migrates(HERE / "old.py", HERE / "new.py")
'''

FILES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "old.py": OLD,
        "new.py": NEW,
        "migration.toml": SETTINGS,
        "test_migration.py": TEST,
    }
)

app = new_app("Write a skeleton to start from.")


class AlreadyThereError(ValueError):
    """A file of the skeleton would overwrite one that is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"{path} is already there: name another folder")


@app.callback()
def _init() -> None:
    """Write a skeleton to start from."""


@app.command()
def migration(
    folder: Annotated[
        Path, typer.Argument(help="where to; made if it is not there")
    ] = (Path("migration")),
) -> None:
    """Write old.py, new.py, migration.toml and a test, which can be checked at once.

    Exit codes: 0 written, 2 a file is already there, or cannot be written.
    """
    with told("init", AlreadyThereError, OSError):
        write(folder)
    typer.echo(f"wrote {', '.join(FILES)} to {folder}")
    typer.echo(f"next: refengine migrate check {folder / 'old.py'} {folder / 'new.py'}")


@app.command()
def engine(
    folder: Annotated[
        Path, typer.Argument(help="where to; made if it is not there")
    ] = (Path("conformance")),
    *,
    kind: Annotated[
        For, typer.Option("--for", help="what the door is to drive")
    ] = For.async_,
) -> None:
    """Write a door to an engine, a small engine behind it, a test and a CI workflow.

    The engine is judged at once by "refengine conform"; put yours in its place.
    Exit codes: 0 written, 2 a file is already there, or cannot be written.
    """
    files, door = engine_skeletons.FILES[kind], engine_skeletons.DOORS[kind]
    with told("init", AlreadyThereError, OSError):
        write(folder, files)
    typer.echo(f"wrote {', '.join(files)} to {folder}")
    typer.echo(f"next: refengine conform {folder / door}")


def write(folder: Path, files: Mapping[str, str] = FILES) -> None:
    """Write the skeleton; raises AlreadyThereError before anything is written."""
    for name in files:
        if (folder / name).exists():
            raise AlreadyThereError(folder / name)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")


main = runner(app, "init")
