"""What is installed and how it is entered: packages, public names, a light import."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import refengine
from refengine import errors

ROOT = Path(__file__).parent.parent
PACKAGES = ["refengine", "compat", "property_tests", "benchmarks"]


def pyproject():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def loaded_by(statement):
    """Return the modules that a fresh interpreter has loaded after the statement."""
    # -S: what site's .pth files load is not ours.
    path = f"import sys\nsys.path.insert(0, {str(ROOT)!r})"
    code = f"{path}\n{statement}\nprint(*sys.modules)"
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_is_light() -> None:
    loaded = loaded_by("import refengine")

    assert {name for name in loaded if name.startswith("refengine")} == {"refengine"}
    assert loaded.isdisjoint({"asyncio", "dataclasses", "inspect", "pydantic"})
    assert loaded.isdisjoint({"hypothesis", "pytest", "typer", "rich"})


def test_an_agent_that_keeps_nothing_loads_nothing_that_keeps() -> None:
    loaded = loaded_by(
        "import asyncio\n"
        "from refengine import ChatModelAgentConfig, Message, build_agent\n"
        "class Model:\n"
        "    async def invoke(self, *_): return Message('assistant', 'done')\n"
        "async def main():\n"
        "    made = await build_agent(ChatModelAgentConfig('a', '', Model()))\n"
        "    await made.run([Message('user', 'hi')]).result()\n"
        "asyncio.run(main())"
    )
    kept = {"keeping", "kept_loop", "kept_layers", "journal", "place", "values"}

    assert "refengine.run" in loaded
    assert loaded.isdisjoint(f"refengine.{name}" for name in kept)


def test_star_import_needs_only_the_engine() -> None:
    loaded = loaded_by("from refengine import *")

    assert "refengine.react" in loaded
    assert loaded.isdisjoint({"pydantic", "hypothesis", "pytest", "typer", "rich"})


def test_public_names_are_sorted_and_stand_once() -> None:
    assert refengine.__all__ == sorted(set(refengine.__all__))


@pytest.mark.parametrize("name", refengine.__all__)
def test_public_name_resolves(name: str) -> None:
    assert getattr(refengine, name) is not None


def test_table_checkers_and_all_name_the_same() -> None:
    tree = ast.parse((ROOT / "refengine" / "__init__.py").read_text("utf-8"))
    seen_by_checkers = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and "refengine." in str(node.module)
        for alias in node.names
    }
    table = {name: f"refengine.{room}" for name, room in refengine._ROOM_OF.items()}

    assert table == seen_by_checkers
    assert sorted(table) == refengine.__all__


def test_public_name_hides_no_module() -> None:
    modules = {path.stem for path in (ROOT / "refengine").iterdir()}

    assert modules.isdisjoint(refengine.__all__)


def test_every_error_is_public() -> None:
    defined = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and value.__module__ == "refengine.errors"
    }

    assert defined <= set(refengine.__all__)


def test_error_tree_in_the_docstring_is_the_real_one() -> None:
    defined = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.RefengineError)
    }
    lines = (errors.__doc__ or "").splitlines()
    drawn = set(re.findall(r"── (\w+)", "\n".join(lines))) | {lines[2].strip()}

    assert drawn == defined


def test_names_are_completed() -> None:
    assert set(refengine.__all__) < set(dir(refengine))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'refengine' has no attribute 'Agnet'"):
        vars(refengine)["__getattr__"]("Agnet")


def test_version_is_the_distribution_s() -> None:
    assert refengine.__version__ == metadata.version("refengine")
    assert refengine.__version__ == pyproject()["project"]["version"]


def test_wheel_holds_the_four_packages_typed_and_said_what_for() -> None:
    config = pyproject()["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert config["packages"] == PACKAGES
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").is_file()
        assert importlib.import_module(package).__doc__


def test_every_package_has_an_init() -> None:
    """One without would be left to luck: namespace packages are found by path."""
    rooms = [*PACKAGES, "tools"]
    folders = {path.parent for each in rooms for path in (ROOT / each).rglob("*.py")}

    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
