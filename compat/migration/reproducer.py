"""A reproducer: a folder with the world, both sides and a script, which runs alone.

The script needs refengine and what the subjects themselves import, nothing of the
harness (verdicts, Migration: "a stand-alone reproducer").
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat.report.counterexample import code
from compat.report.divergence_sentence import sentence
from compat.verdicts.migration import DescribedDivergence, Migration, Side
from compat.wire.scrubbing.scrubber import (
    json_without_secrets,
    output_scrubber,
    without_secrets,
)
from refengine.testing.scenario import Scenario

SCRIPT: Final = "reproduce.py"
WORLD: Final = "world.json"


class NotOursError(ValueError):
    """The folder for a reproducer holds other things, which must not be mixed up."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(
            f"{folder} is not empty and holds no {SCRIPT}: name a new folder"
        )


@dataclass(frozen=True, slots=True)
class SideFiles:
    """One side's own files as they were run, which one holds the subject, its name."""

    files: Mapping[str, bytes]
    entry: str
    name: str
    module: str | None = None


def check_folder(folder: Path) -> None:
    """Refuse a folder that is somebody else's; raises NotOursError."""
    if folder.exists() and any(folder.iterdir()) and not (folder / SCRIPT).exists():
        raise NotOursError(folder)


def write_reproducer(
    folder: Path, verdict: Migration, sides: Mapping[Side, SideFiles], profile: str
) -> Path:
    """Write the reproducer of a divergence; returns the script's path.

    A secret in a file or in the world is not written: whoever runs the script puts it
    back. Raises NotOursError or OSError.
    """
    found, world = verdict.divergence, verdict.world
    if found is None or world is None:
        raise AssertionError(verdict)
    check_folder(folder)
    for side, files in sides.items():
        for name, text in without_secrets(files.files).items():
            target = folder / side / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
    (folder / WORLD).write_text(world_text(world), "utf-8")
    script = folder / SCRIPT
    said = output_scrubber().text(_script(found, world, sides, profile))
    script.write_text(said, "utf-8")
    return script


def world_text(world: Scenario) -> str:
    """Return a world as a file has it, without secrets."""
    told = json_without_secrets(world.model_dump(mode="json", exclude_defaults=True))
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _script(
    found: DescribedDivergence,
    world: Scenario,
    sides: Mapping[Side, SideFiles],
    profile: str,
) -> str:
    at = found.difference
    about = "\n".join(
        (
            f"{found.code}: {sentence(found, world)}",
            "",
            f"{found.where} ({at.channel} {at.path}), in this world:",
            "",
            *(f"    {line}" for line in code(world, found.called)),
        )
    )
    where = {
        side: (files.entry, files.module, files.name) for side, files in sides.items()
    }
    return _TEMPLATE.format(
        about=about.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'),
        channel=at.channel,
        profile=profile,
        where=where,
        world=WORLD,
    )


_TEMPLATE: Final = '''"""{about}

Run it with a Python that has refengine; it exits with 1 while the sides differ, and
with 3 if a side cannot be played.
"""

import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from refengine.profile import profile
from refengine.testing import load_scenario
from refengine.testing.channels import Seen, project
from refengine.testing.isolation.alone import apart

HERE = Path(__file__).resolve().parent
SUBJECTS = {where!r}
MARK = "entries: "


def entries(side):
    """Play the world with one side; print what is compared as JSON."""
    world = load_scenario(HERE / {world!r})
    with apart(HERE / side) as played:
        subject = imported(played.folder, *SUBJECTS[side])
        trace = played.play(world, subject, profile({profile!r}))
    seen = project(Seen(trace), {channel!r})
    print("\\n" + MARK + json.dumps([entry.value for entry in seen], sort_keys=True))


def imported(folder, file, module_name, name):
    """Return the function that is the subject."""
    path = folder / file
    sys.path[:1] = [str(path.parent), str(folder)]
    if module_name:
        sys.path[:2] = [str(folder)]
        module = importlib.import_module(module_name)
    else:
        spec = importlib.util.spec_from_file_location(f"subject_{{path.stem}}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return getattr(module, name)


def ask(side):
    """Return the entries of one side, from a process of its own."""
    command = [sys.executable, __file__, side]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    told = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode or not told:
        print(f"{{side}} cannot be played:\\n{{done.stderr}}")
        sys.exit(3)
    return [json.dumps(each, indent=2) for each in json.loads(told[-1][len(MARK) :])]


def main():
    """Compare both sides and print where they differ."""
    old, new = ask("old"), ask("new")
    for number in range(max(len(old), len(new))):
        ours = old[number] if number < len(old) else "(nothing)"
        theirs = new[number] if number < len(new) else "(nothing)"
        if ours != theirs:
            print("{channel}", number + 1)
            print(f"--- old\\n{{ours}}\\n--- new\\n{{theirs}}")
    print("the sides differ" if old != new else "no difference any more")
    return int(old != new)


if __name__ == "__main__":
    sys.exit(entries(sys.argv[1]) if len(sys.argv) > 1 else main())
'''
