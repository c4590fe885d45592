"""What drivers are built with is missing, old or broken: one line, and no traceback."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.commands import refengine

SOURCES = {
    "ts": "export const subject = () => ({ wrapGenerate: (o) => o.doGenerate() });",
    "go": "package own\n\nfunc Subject() any { return nil }\n",
}
ENGINES = {"ts": "ai-sdk@5", "go": "eino@0.9.13"}
NODE = "echo v22.0.0 x64"
BUILDS = 'test "$1" = env && exit 0; echo "go: no route to modules" >&2; exit 1'


def pair(folder: Path, suffix: str) -> tuple[str, str]:
    names = f"old.{suffix}", f"new.{suffix}"
    for name in names:
        (folder / name).write_text(SOURCES[suffix], "utf-8")
    return names


def only(monkeypatch: pytest.MonkeyPatch, at: Path, tools: Mapping[str, str]) -> None:
    """Leave these tools on the path, no others, and no build that was kept."""
    (at / "bin").mkdir()
    for name, script in tools.items():
        (at / "bin" / name).write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        (at / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(at / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(at / "cache"))
    monkeypatch.setattr(sys, "executable", str(at / "python"))  # a Go may be beside it


CASES: Mapping[str, tuple[str, Mapping[str, str], str]] = {
    "no-node": ("ts", {}, "needs Node.js 20 or newer with npm"),
    "no-npm": ("ts", {"node": NODE}, "needs Node.js 20 or newer with npm"),
    "old-node": (
        "ts",
        {"node": "echo v18.1.0 x64", "npm": ""},
        "(Node.js v18.1.0 x64 is)",
    ),
    "no-version": ("ts", {"node": "echo hello", "npm": ""}, "(Node.js hello is)"),
    "broken-node": ("ts", {"node": "exit 1", "npm": ""}, "bin/node does not work"),
    "broken-npm": (
        "ts",
        {"node": NODE, "npm": "echo no route to packages >&2; exit 1"},
        "make sure that npm can reach its registry\n  no route to packages\n",
    ),
    "broken-compiler": (
        "ts",
        {"node": f'test "$1" = -p || exit 1; {NODE}', "npm": ""},
        "the driver of ai-sdk@5 could not be built",
    ),
    "no-go": ("go", {}, "needs a Go toolchain"),
    "broken-go": ("go", {"go": "echo no >&2; exit 1"}, "bin/go does not work"),
    "no-modules": (
        "go",
        {"go": BUILDS},
        "make sure that GOPROXY can be reached\n  go: no route to modules\n",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_check_without_what_builds_its_drivers_says_so_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    suffix, tools, told = CASES[case]
    only(monkeypatch, tmp_path, tools)

    done = refengine("migrate", "check", *pair(tmp_path, suffix), at=tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert told in done.stderr
    assert ENGINES[suffix] in done.stderr
    last = done.stderr.rindex("refengine migrate check: ")
    assert done.stderr[last:].count("\n") <= 2


@pytest.mark.parametrize("suffix", SOURCES)
def test_an_engine_that_is_none_is_told_with_those_there_are(
    tmp_path: Path, suffix: str
) -> None:
    asked = "migrate", "check", *pair(tmp_path, suffix), "--new-engine=mine@1"

    done = refengine(*asked, at=tmp_path)

    assert done.returncode == 2
    assert "'mine@1' is not an engine in" in done.stderr
    assert ENGINES[suffix] in done.stderr


@pytest.mark.parametrize("suffix", SOURCES)
def test_a_folder_of_checks_without_tools_says_so_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    piece = tmp_path / "pieces" / "one"
    piece.mkdir(parents=True)
    old, new = pair(piece, suffix)
    declared = f'about = "a"\nold = "{old}"\n[cases."{new}"]\nholds = "same-effects"\n'
    (piece / "migration.toml").write_text(declared, "utf-8")
    only(monkeypatch, tmp_path, {})

    done = refengine("migrate", "check", "--all", "pieces", at=tmp_path)

    assert done.returncode == 2
    assert done.stderr.startswith("refengine migrate check: engine ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "asked",
    [
        ("conform", "ai-sdk@5"),
        ("conform", "--dialect", "stream-loop", "typescript-loop"),
    ],
    ids=["engine", "dialect"],
)
def test_conform_says_it_in_a_line_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...]
) -> None:
    python = sys.executable
    only(monkeypatch, tmp_path, {"node": "exit 1", "npm": ""})
    monkeypatch.setattr(sys, "executable", python)  # which plays the worlds

    done = refengine(*asked, at=tmp_path)

    assert done.returncode == 2
    assert "DriverBuildError: the driver of" in done.stderr
    assert "does not work" in done.stderr
    assert done.stderr.count("\n") == 1
