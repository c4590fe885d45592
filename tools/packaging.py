"""Everything about the package that needs other packages and minutes of time.

    python -m tools.packaging [STEP …]

builds wheel and sdist twice and compares their bytes, checks both, tells the size and
the import time of what is installed, installs each extra alone and uses it once, and
runs the hooks of pre-commit and the GitHub Action as far as they run without GitHub.
Exits with 1 if a step fails; each says what it found.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

ROOT: Final = Path(__file__).parent.parent
NOT_SENT: Final = (
    *(".git", ".venv", "build", "dist", "node_modules", "*.egg-info"),
    *("__pycache__", ".*_cache", ".hypothesis", ".refengine"),
)
LONG_AGO: Final = "1577836800"
"""A time that both builds are told, as SOURCE_DATE_EPOCH."""
USES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "testing": "-c 'import refengine.testing.strategies, pytest'",
        "bench": "-m refengine bench run old.py --quick --json cost.json",
        "langchain": "-m refengine conform langchain --clause ORD-001 --examples 0",
        "openai-agents": "-m refengine conform openai-agents --clause INS-001"
        " --examples 0",
        "pydantic-ai": "-m refengine conform pydantic-ai --clause ORD-001 --examples 0",
        "strands": "-m refengine conform strands --clause ORD-001 --examples 0",
        "adk": "-m refengine conform google-adk --clause FLOW-001 --examples 0",
        "cluster": "-m refengine conform reference --clause ORD-001 --cluster local:1",
        "go": '-c \'import subprocess; subprocess.run(["go", "version"], check=True)\'',
        "wire": "-m refengine cassette replay plain_text.yaml",
        "docs": "-m mkdocs --version",
    }
)
"""Each extra that stands by itself, and what uses it once."""
SUBJECT: Final = "from refengine import AgentMiddleware\n\n\ndef subject(world):\n    "


class StepError(Exception):
    """A step found something wrong; its text says what."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the steps work, and the packages that were built."""

    top: Path
    wheel: Path
    sdist: Path


Step: TypeAlias = "Callable[[Bench], str]"


def run(command: str, at: Path, **environ: str) -> str:
    """Run a command; return what it printed, or raise a StepError with its end."""
    done = subprocess.run(  # noqa: S603  # our own commands
        shlex.split(command),
        cwd=at,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    if done.returncode:
        raise StepError(f"{command}: exit code {done.returncode}\n{said[-1500:]}")
    return said


def python_of(top: Path, name: str, *packages: str) -> Path:
    """Return the Python of a new environment that has these packages."""
    folder = top / name
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    if packages:
        named = " ".join(map(shlex.quote, packages))
        run(f"{python} -m pip install -q {named}", top)
    return python


def built(top: Path) -> Bench:
    """Build wheel and sdist twice, from copies; raises StepError if they differ."""
    python = python_of(
        top, "building", *("build", "hatchling", "twine", "check-wheel-contents")
    )
    hashes: list[dict[str, str]] = []
    for number in ("first", "second"):
        source, out = top / number / "source", top / number / "dist"
        shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*NOT_SENT))
        told = {"SOURCE_DATE_EPOCH": LONG_AGO, "PYTHONHASHSEED": "random"}
        run(f"{python} -m build -n -o {out} {source}", top, **told)
        files = sorted(out.iterdir())
        hashes.append(
            {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in files}
        )
    if hashes[0] != hashes[1]:
        raise StepError(f"two builds differ: {hashes}")
    [sdist], [wheel] = (sorted((top / "first/dist").glob(g)) for g in ("*.gz", "*.whl"))
    return Bench(top, wheel, sdist)


def bytes_(bench: Bench) -> str:
    """Tell the hashes, which were the same twice."""
    files = (bench.wheel, bench.sdist)
    return "; ".join(f"{each.name}, {each.stat().st_size:,} bytes" for each in files)


def checked(bench: Bench) -> str:
    """Have twine and check-wheel-contents look at both."""
    tools = bench.top / "building" / "bin"
    said = run(f"{tools}/twine check --strict {bench.wheel} {bench.sdist}", bench.top)
    packages = "refengine,compat,property_tests,benchmarks"
    run(f"{tools}/check-wheel-contents --toplevel {packages} {bench.wheel}", bench.top)
    return (
        f"{said.count('PASSED')} of 2 pass twine check, check-wheel-contents is silent"
    )


def installed(bench: Bench) -> str:
    """Tell the size of what is installed alone, and the time that an import takes."""
    python = python_of(bench.top, "alone", str(bench.wheel))
    size = sum(
        each.stat().st_size
        for name in ("refengine", "compat", "property_tests", "benchmarks")
        for each in (python.parents[1] / "lib").glob(f"*/site-packages/{name}/**/*")
        if each.is_file() and each.suffix != ".pyc"
    )
    timed = (
        "import time; t = time.process_time(); import refengine; "
        "print(time.process_time() - t)"
    )
    times = sorted(
        float(run(f"{python} -c '{timed}'", bench.top).split()[-1]) for _ in range(9)
    )
    return f"{size / 2**20:.1f} MiB; import refengine takes {times[4] * 1e3:.1f} ms"


def extras(bench: Bench) -> str:
    """Install each extra alone and use it once."""
    work = bench.top / "work"
    work.mkdir()
    (work / "old.py").write_text(f"{SUBJECT}return [AgentMiddleware()]\n", "utf-8")
    for name in ("plain_text.yaml", "manifest.toml"):
        shutil.copy(ROOT / "cassettes" / name, work)
    for name, use in USES.items():
        python = python_of(bench.top, f"extra-{name}", f"{bench.wheel}[{name}]")
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        run(f"{python} {use}", work, PATH=path)
        print(f"  {name}: installed and used", flush=True)  # noqa: T201  # takes minutes
        shutil.rmtree(python.parents[1])
    return f"{len(USES)} extras, each installed alone and used once"


def hooks(bench: Bench) -> str:
    """Run both hooks by pre-commit itself, from a repository like a user's clone."""
    python = python_of(bench.top, "hooking", "pre-commit", str(bench.wheel))
    source, mine = bench.top / "hooks", bench.top / "mine"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*NOT_SENT))
    mine.mkdir()
    for folder in (source, mine):
        run("git init -q", folder)
    run(f"{python} -m refengine init migration migrations/trim", mine)
    run(f"{python} -m refengine init engine conformance", mine)
    for folder in (source, mine):
        run("git add -A -f", folder)
        run("git -c user.name=x -c user.email=x@example.org commit -q -m x", folder)
    rev = run("git rev-parse HEAD", source).strip()
    args = '["conformance/door.py:Door", --clause, ORD-001, --examples, "0"]'
    config = (
        f"repos:\n- repo: {source}\n  rev: {rev}\n  hooks:\n"
        f"  - id: refengine-migrate\n  - id: refengine-conform\n    args: {args}\n"
    )
    (mine / ".pre-commit-config.yaml").write_text(config, "utf-8")
    home = {"PRE_COMMIT_HOME": str(bench.top / "pre-commit")}
    run("git add -A", mine)
    said = run(f"{python} -m pre_commit run --all-files", mine, **home)
    if said.count("Passed") != len(("refengine-migrate", "refengine-conform")):
        raise StepError(said)
    return "both hooks pass in a repository of their own"


def action(bench: Bench) -> str:
    """Run the steps of the GitHub Action as a runner would, without GitHub."""
    yaml = import_module("yaml")  # comes with mkdocs, and has no types of its own
    read = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    steps: list[dict[str, str]] = read["runs"]["steps"]
    python = python_of(bench.top, "acting")
    work = bench.top / "acted"
    work.mkdir()
    told = {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_ACTION_PATH": str(bench.top / "first" / "source"),
        "GITHUB_STEP_SUMMARY": str(work / "summary.md"),
        "REFENGINE_EXTRAS": "testing",
        "REFENGINE_RUN": "conform reference --clause ORD-001 --examples 0"
        " --markdown $GITHUB_STEP_SUMMARY",
    }
    for number, each in enumerate(steps):
        script = work / f"step{number}"
        script.write_text(each["run"], "utf-8")
        run(f"{each['shell']} {script}", work, **told)
    if "| reference | " not in (work / "summary.md").read_text("utf-8"):
        raise StepError("the action left no summary")
    return "its steps install and judge, and the summary is written"


STEPS: Final[Mapping[str, Step]] = MappingProxyType(
    {
        "bytes": bytes_,
        "checks": checked,
        "installed": installed,
        "hooks": hooks,
        "action": action,
        "extras": extras,
    }
)


def main(names: list[str]) -> int:
    """Run the named steps, or all; print what each found; return the exit code."""
    unknown = set(names) - STEPS.keys()
    if unknown:
        sys.stderr.write(f"no such step: {', '.join(sorted(unknown))}\n")
        return 2
    failed = 0
    with tempfile.TemporaryDirectory() as top:
        bench = built(Path(top))
        for name in names or STEPS:
            try:
                print(f"{name}: {STEPS[name](bench)}", flush=True)  # noqa: T201  # its answer
            except StepError as error:
                failed = 1
                print(f"{name}: FAILED {error}", flush=True)  # noqa: T201  # its answer
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
