"""What is installed and how it is entered: packages, public names, a light import."""

import ast
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml

import refengine
from compat.cli.main import COMMANDS
from refengine import errors
from refengine.resume import errors as resume_errors
from refengine.state import errors as state_errors
from refengine.state import store_errors

ROOT = Path(__file__).parent.parent
# The stub has neither: what a checker knows is what it names.
PUBLIC: list[str] = vars(refengine)["__all__"]
MODULE_OF: dict[str, str] = vars(refengine)["_MODULE_OF"]
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
    assert loaded.isdisjoint({"hypothesis", "pytest", "click", "rich"})


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
    assert "refengine.run" in loaded
    keeping = {each for each in loaded if ".resume" in each or ".state" in each}
    assert keeping <= {"refengine.resume", "refengine.resume.checkpoint"}


def test_star_import_needs_only_the_engine() -> None:
    loaded = loaded_by("from refengine import *")

    assert "refengine.loop" in loaded
    assert loaded.isdisjoint({"pydantic", "hypothesis", "pytest", "click", "rich"})


def test_public_names_are_sorted_and_stand_once() -> None:
    assert sorted(set(PUBLIC)) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_resolves(name: str) -> None:
    assert getattr(refengine, name) is not None


def test_table_and_stub_name_the_same() -> None:
    """Checkers read the stub, programs the table: neither knows a name alone."""
    tree = ast.parse((ROOT / "refengine" / "__init__.pyi").read_text("utf-8"))
    stub = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    table = {name: f"refengine.{each}" for name, each in MODULE_OF.items()}

    assert table == stub
    assert sorted(table) == PUBLIC


def test_public_name_hides_no_module() -> None:
    modules = {path.stem for path in (ROOT / "refengine").iterdir()}

    assert modules.isdisjoint(PUBLIC)


def classes_of(module):
    """Return the classes that a module of errors defines, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__
    }


OF_EVERY_STORE = {"CheckpointConflictError", "CheckpointNotFoundError"}
OF_VALUES = {"BadTreeError", "DecodeError", "StateError", "UnknownTypeError"}


def test_every_error_is_public() -> None:
    """Those of records and stores are not: they are named by ``refengine.state``."""
    registry = {
        name
        for name, value in classes_of(state_errors).items()
        if issubclass(value, errors.ConfigurationError)
    }

    assert {name for name in classes_of(errors) if name[0] != "_"} <= set(PUBLIC)
    assert classes_of(resume_errors).keys() <= set(PUBLIC)
    assert registry | OF_EVERY_STORE | OF_VALUES <= set(PUBLIC)


@pytest.mark.parametrize("module", [errors, resume_errors, state_errors, store_errors])
def test_error_tree_in_the_docstring_is_the_real_one(module) -> None:
    defined = {
        name
        for name, value in classes_of(module).items()
        if issubclass(value, errors.RefengineError)
    }
    tree = re.findall(
        r"^    (?:[ │├└─]*── )?([A-Z]\w+)(.*)$", module.__doc__, re.MULTILINE
    )
    drawn = {name for name, rest in tree if "(in refengine.errors)" not in rest}

    assert drawn - {"RefengineError"} == defined - {"RefengineError"}


def test_an_error_says_what_its_fields_are_and_keeps_them() -> None:
    made = errors.HookError("audit", 2, "after_agent", ValueError("no"), tool="t")
    text = "after_agent of 'audit' (position 2) around tool 't' (call None) raised"

    assert (made.handler, made.position, made.tool) == ("audit", 2, "t")
    assert made.args == (str(made),) == (f"{text} ValueError: no",)


def test_names_are_completed() -> None:
    assert set(PUBLIC) < set(dir(refengine))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'refengine' has no attribute 'Agnet'"):
        vars(refengine)["__getattr__"]("Agnet")


def test_version_is_the_distribution_s() -> None:
    assert refengine.__version__ == metadata.version("refengine")
    assert refengine.__version__ == pyproject()["project"]["version"]


def test_wheel_holds_the_four_packages_typed_and_said_what_for() -> None:
    config = pyproject()["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert config["only-include"] == [*PACKAGES, "cassettes/derived"]
    assert config["sources"] == {"cassettes/derived": "compat/models/derived"}
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").is_file()
        assert importlib.import_module(package).__doc__


def test_every_package_has_an_init() -> None:
    """One without would be left to luck: namespace packages are found by path."""
    rooms = [*PACKAGES, "tools"]
    folders = {path.parent for each in rooms for path in (ROOT / each).rglob("*.py")}

    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_steps_of_the_action_judge_what_they_are_given(tmp_path) -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"]
    judge = next(each for each in steps if each["shell"] == "python")
    run = "clause list -k ORD-001 $MORE"
    done = subprocess.run(
        [sys.executable, "-c", judge["run"]],
        cwd=tmp_path,
        env={**os.environ, "REFENGINE_RUN": run, "MORE": "--json"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert [each["id"] for each in json.loads(done.stdout)["clauses"]] == ["ORD-001"]


def test_hooks_of_pre_commit_start_commands_that_there_are() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))

    assert [each["id"] for each in hooks] == ["refengine-migrate", "refengine-conform"]
    for each in hooks:
        name, *line = each["entry"].removeprefix("refengine ").split()
        app = importlib.import_module(COMMANDS[name][0]).app
        command = app.commands[line.pop(0)] if line and name == "migrate" else app
        options = {name for each in command.params for name in each.opts}
        assert set(line) <= options
        assert each["pass_filenames"] is False
