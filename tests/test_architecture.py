"""The floors of ARCHITECTURE.md, checked on the imports at module level."""

import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

FLOORS = (
    ("refengine",),
    ("refengine.state",),
    ("refengine.testing",),
    # compat itself is its __init__, which is empty
    (
        "compat.verdicts",
        "compat.pipes",
        "compat.process",
        "compat.spreading",
        "compat.warm",
        "compat.watcher",
        "compat",
    ),
    (
        "compat.adapters",
        "compat.corpora",
        "compat.dialects",
        "compat.drivers",
        "compat.engines",
        "compat.environments",
        "compat.wire",
        "compat.models",
    ),
    ("compat.report",),
    (
        "compat.migration",
        "compat.observe",
        "compat.profiles",
        "compat.state",
        "compat.timeline",
    ),
    ("property_tests",),
    ("benchmarks",),
    ("compat.cluster",),
    ("compat.cli",),
    ("tools",),
)
LEVEL = {name: level for level, names in enumerate(FLOORS) for name in names}

# A report reads verdict types only; traces are what verdicts show.
NARROW = {"compat.report": {"compat.report", "compat.verdicts", "refengine.testing"}}

# Doors into all floors, which open them when they are used.
EXEMPT = {"refengine.__main__", "refengine._pytest_plugin"}

# What else opens a higher floor when it is used, each way with its reason.
LAZY = {
    # an agent is given types of the user's own where it is to keep values of them
    "refengine.agent imports refengine.state.values inside a function",
}

# What comes with every installation, and the modules that need an extra on top.
RUNTIME = {"click", "packaging", "pydantic", "pydantic_core", "rich"}
GRAPHS = {"langchain", "langchain_core", "langgraph"}
OPENAI_AGENTS = {"agents", "openai"}
PYDANTIC_AI = {"pydantic_ai", "pydantic_graph"}
STRANDS = {"strands"}
WIRE = {"httpx2", "starlette", "uvicorn", "vcr", "yaml"}
EXTRAS = {
    "refengine.testing.strategies": {"hypothesis"},
    "refengine.testing.graphs": GRAPHS,
    "refengine.testing.adk": {"google"},
    "refengine.testing.pydantic_ai": PYDANTIC_AI,
    "compat.engines.flow.adk": {"google"},
    "compat.engines.flow.drawn_hooks": {"hypothesis"},
    "compat.engines.flow.generating": {"hypothesis"},
    "compat.engines.callbacks.generating": {"hypothesis"},
    "compat.engines.observers.generating": {"hypothesis"},
    "compat.engines.stream_loop.generating": {"hypothesis"},
    "compat.engines.graphs": GRAPHS,
    "compat.engines.openai_agents": OPENAI_AGENTS,
    "compat.engines.pydantic_ai": PYDANTIC_AI,
    "compat.engines.strands": STRANDS,
    "compat.wire": WIRE,
    "compat.report.plots": {"matplotlib"},
    "compat.cluster": {"distributed"},
}

Node = ast.Import | ast.ImportFrom

PACKAGES = ("refengine", "compat", "property_tests", "benchmarks", "tools")
NEEDS_EXTRAS = {"property_tests", "benchmarks", "tools"}


def modules(root: Path) -> dict[str, Path]:
    """Return the source files by module name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = path
    return found


@cache
def import_nodes(source: str) -> tuple[tuple[Node, bool], ...]:
    """Return the imports of a source, and whether each is made when it is imported.

    So is what only a type checker does, and not what stands inside a function. The
    house is read once for all questions about it.
    """
    found: list[tuple[Node, bool]] = []
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(source), True)]
    while waiting:
        node, outside = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append((node, outside))
        elif not isinstance(node, ast.expr):  # which holds no statement
            function = ast.FunctionDef | ast.AsyncFunctionDef
            outside = outside and not isinstance(node, function)
            waiting += ((each, outside) for each in ast.iter_child_nodes(node))
    return tuple(found)


def base_of(node: ast.ImportFrom, name: str, path: Path) -> str:
    """Return the module an import is from, a relative one made absolute."""
    if not node.level:
        return node.module or ""
    up = node.level - 1 if path.stem == "__init__" else node.level
    package = name.split(".")[: -up or None]
    return ".".join([*package, node.module] if node.module else package)


def imported(
    name: str, path: Path, known: dict[str, Path], *, inside: bool = False
) -> set[str]:
    """Return the modules that a module imports; ``from a import b`` is a.b if known.

    With ``inside``, those that its functions import, too.
    """
    found: set[str] = set()
    for node, outside in import_nodes(path.read_text("utf-8")):
        if not outside and not inside:
            continue
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.Import):
            found.update(names)
        else:
            base = base_of(node, name, path)
            inner = (f"{base}.{each}" for each in names)
            found.update(each if each in known else base for each in inner)
    return found


def floor_of(module: str) -> str | None:
    """Return the floor a module stands on, the narrowest that fits."""
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    floor = next((name for name in names if name in LEVEL), None)
    # A room of the harness that no floor names would stand on its lowest unnoticed.
    return None if floor == "compat" and module != "compat" else floor


def may(here: str, there: str) -> bool:
    """Tell whether a floor may import from another."""
    return LEVEL[there] <= LEVEL[here] and there in NARROW.get(here, LEVEL)


def violations(root: Path) -> Iterator[str]:
    """Yield each import that goes up, and each module that stands nowhere."""
    known = modules(root)
    for name, path in known.items():
        if name in EXEMPT:
            continue
        here = floor_of(name)
        if here is None:
            yield f"{name} stands on no floor: name it in FLOORS and ARCHITECTURE.md"
            continue
        for target in sorted(imported(name, path, known)):
            there = floor_of(target)
            if there is not None and (target in EXEMPT or not may(here, there)):
                yield f"{name} imports {target}"


def lazy_violations(root: Path) -> Iterator[str]:
    """Yield each import inside a function that goes up, but for those of the doors."""
    known = modules(root)
    for name, path in known.items():
        here = floor_of(name)
        if name in EXEMPT or here is None:
            continue
        outside = imported(name, path, known)
        for target in sorted(imported(name, path, known, inside=True) - outside):
            there = floor_of(target)
            if there is not None and LEVEL[there] > LEVEL[here]:
                yield f"{name} imports {target} inside a function"


def strangers(root: Path) -> Iterator[str]:
    """Yield imports of what an installation without extras does not have.

    The engine itself has only the standard library; the suite, the benchmarks
    and the tools are run by what extras bring.
    """
    known = modules(root)
    for name, path in known.items():
        floor = floor_of(name)
        if name in EXEMPT or floor is None or floor in NEEDS_EXTRAS:
            continue
        has = {*PACKAGES, *sys.stdlib_module_names}
        has |= set() if floor == "refengine" else RUNTIME
        for room, extra in EXTRAS.items():
            has |= extra if f"{name}.".startswith(f"{room}.") else set()
        for target in sorted(imported(name, path, known)):
            if target.partition(".")[0] not in has:
                yield f"{name} imports {target}"


def test_imports_go_down() -> None:
    assert list(violations(ROOT)) == []


def test_only_the_doors_open_higher_floors_when_they_are_used() -> None:
    assert set(lazy_violations(ROOT)) == LAZY


def test_engine_needs_the_standard_library_and_the_harness_no_extra() -> None:
    assert list(strangers(ROOT)) == []


def test_source_is_looked_at() -> None:
    found = modules(ROOT)

    assert {"refengine", "refengine.chain", "compat", *PACKAGES} <= set(found)


def planted(root: Path, module: str, source: str) -> Path:
    """Write a small house with one more module in it."""
    files = {
        "refengine.__init__": "",
        "refengine.core": "",
        "refengine.testing.trace": "",
        "refengine.__main__": "import compat.observe",
        "compat.__init__": "",
        "compat.verdicts": "from refengine.testing import trace",
        "compat.adapters.legacy": "from refengine import core",
        "compat.observe.rows": "",
        "compat.report.text": "from compat.verdicts.migration import Verdict",
        "property_tests.checks": "import compat.observe.rows",
        "benchmarks.floor": "import property_tests.checks",
        module: source,
    }
    for name, text in files.items():
        path = root.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def test_small_house_stands(tmp_path: Path) -> None:
    root = planted(tmp_path, "refengine.tools", "import asyncio, refengine.core")

    assert list(violations(root)) == []
    assert list(strangers(root)) == []


@pytest.mark.parametrize(
    ("module", "source", "target"),
    [
        ("refengine.tools", "import refengine.testing", "refengine.testing"),
        ("refengine.tools", "from refengine.testing import x", "refengine.testing"),
        ("refengine.tools", "from .testing import trace", "refengine.testing.trace"),
        ("refengine.testing.deep", "from ..core import x\nimport compat", "compat"),
        ("refengine.tools", "from refengine import __main__", "refengine.__main__"),
        ("compat.adapters.x", "from compat.report import text", "compat.report.text"),
        ("compat.engines.x", "import compat.observe.rows", "compat.observe.rows"),
        ("compat.verdicts", "import compat.adapters.legacy", "compat.adapters.legacy"),
        ("compat.report.html", "from refengine import core", "refengine.core"),
        ("compat.report.html", "import compat.engines", "compat.engines"),
        ("compat.migration.run", "import property_tests", "property_tests"),
        ("property_tests.x", "import benchmarks.floor", "benchmarks.floor"),
        (
            "refengine.tools",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import compat",
            "compat",
        ),
        ("refengine.tools", "try:\n    import compat\nfinally:\n    pass", "compat"),
        ("refengine.tools", "class Tool:\n    import compat", "compat"),
    ],
)
def test_import_that_goes_up_is_found(
    tmp_path: Path, module: str, source: str, target: str
) -> None:
    root = planted(tmp_path, module, source)

    assert list(violations(root)) == [f"{module} imports {target}"]


def test_import_inside_a_function_is_one_of_use(tmp_path: Path) -> None:
    lazy = "def main():\n    import compat\n    class A:\n        import compat.observe"
    root = planted(tmp_path, "refengine.tools", lazy)

    assert list(violations(root)) == []
    assert list(lazy_violations(root)) == [
        "refengine.tools imports compat inside a function",
        "refengine.tools imports compat.observe inside a function",
    ]


def test_room_without_a_floor_is_found(tmp_path: Path) -> None:
    root = planted(tmp_path, "compat.attic.box", "")

    [found] = violations(root)
    assert found.startswith("compat.attic.box stands on no floor")


@pytest.mark.parametrize("stranger", ["pydantic", "hypothesis.strategies", "langchain"])
def test_stranger_in_the_engine_is_found(tmp_path: Path, stranger: str) -> None:
    root = planted(tmp_path, "refengine.tools", f"import {stranger}")

    assert list(strangers(root)) == [f"refengine.tools imports {stranger}"]


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        ("refengine.testing.world", "import pydantic", False),
        ("refengine.testing.world", "import hypothesis", True),
        ("refengine.testing.strategies", "import hypothesis", False),
        ("compat.observe.command", "from rich.console import Console", False),
        ("compat.engines.langchain", "import langchain.agents", True),
        ("property_tests.pytest_suite", "import pytest", False),
    ],
)
def test_extra_is_needed_only_where_it_is_listed(
    tmp_path: Path, module: str, source: str, found: bool
) -> None:
    root = planted(tmp_path, module, source)

    assert bool(list(strangers(root))) == found


def test_architecture_page_names_the_floors_in_order() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    cells = re.findall(r"^\| (`.+?) \|", page, re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"`([a-z_.]+)`", cell)]
    floors = [name for names in FLOORS for name in names]
    lower = floors[: floors.index("property_tests")]
    inside = [name for name in lower if name.startswith("compat.")]
    house = [name for name in floors if name not in inside]

    assert named == house + inside


def test_architecture_page_names_the_exempt() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")

    for module in EXEMPT:
        assert f"`{module.replace('.', '/')}.py`" in page


def test_every_file_that_architecture_page_names_is_there() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    named = set(re.findall(r"`((?:[\w.]+/)*\w+\.(?:py|toml|md)|(?:\w+/)+)`", page))
    folders = [ROOT / name for name in (*PACKAGES, "tests", "examples")]
    there = [f"{path}/" for folder in folders for path in folder.rglob("*")]

    assert len(named) > 50
    for name in named:
        end = f"/{name.removesuffix('/')}/"
        assert any(path.endswith(end) for path in there), name


def test_architecture_page_is_read_at_one_sitting() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")

    assert len(page.split()) <= 1_150  # two pages


def lazy_packages(root: Path) -> Iterator[str]:
    """Yield the packages whose public names are brought in at their first use."""
    for floor in ("refengine", "compat", "property_tests", "benchmarks"):
        for path in (root / floor).rglob("__init__.py"):
            if "def __getattr__" in path.read_text("utf-8"):
                yield ".".join(path.parent.relative_to(root).parts)


@pytest.mark.parametrize("package", sorted(lazy_packages(ROOT)))
def test_no_public_name_hides_behind_a_module_of_the_same_name(package) -> None:
    """A module that is imported first would stand where the name is looked up."""
    found = importlib.import_module(package)
    modules = {each.name for each in pkgutil.iter_modules(found.__path__)}
    public = (
        getattr(found, "__all__", None)
        or importlib.import_module(f"{package}.public").__all__
    )

    assert public
    assert modules.isdisjoint(public)
