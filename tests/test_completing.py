"""What a shell is told at Tab: commands, options and names, without loading much."""

import os
import subprocess
import sys

import pytest

from tests.test_light_commands import HEAVY, ROOT

CHILD = """
import sys
before = set(sys.modules)
from compat.cli.main import main
try:
    main()
finally:
    loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
    print(*sorted(loaded), file=sys.stderr)
"""


def completed(line: str) -> set[str]:
    """Return what bash is told for a line, whose last word is not yet whole."""
    words = ["refengine", *line.split(" ")]
    env = {
        **os.environ,
        "_REFENGINE_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert HEAVY.isdisjoint(done.stderr.split())
    return {each.partition(",")[2] for each in done.stdout.splitlines()}


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("co", {"conform"}),
        ("profile ", {"list", "diff", "infer"}),
        ("conform --ex", {"--examples", "--exclude"}),
        ("conform refer", {"reference", "reference-legacy"}),
        ("conform reference --clause ord-00", {"ORD-001", "ORD-002"}),
        ("clause explain INT-00", {"INT-001"}),
        ("conform reference -k OR", {"ORD", "ORD-001"}),
        ("profile diff eino-0.", {"eino-0.7", "eino-0.7.37", "eino-0.8"}),
        ("conform reference --engine-profile seed", {"seed-001"}),
        ("clause list --status un", {"untestable"}),
        ("migrate check a b --require same-a", {"same-answer"}),
        ("migrate bisect a --require id", {"identical"}),
        ("audit order a --require id", {"identical"}),
    ],
)
def test_a_word_is_completed(line: str, some: set[str]) -> None:
    found = completed(line)
    begun = line.rpartition(" ")[2].lower()

    assert some <= found
    assert all(each.lower().startswith(begun) for each in found)


def test_what_is_put_into_a_shell_is_printed() -> None:
    env = {**os.environ, "_REFENGINE_COMPLETE": "zsh_source"}
    command = [sys.executable, "-m", "refengine"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert "compdef" in done.stdout
