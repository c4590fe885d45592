"""One house: no circle of files, and no public class name twice."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.test_architecture import ROOT, imported, modules


def graph(root: Path, only: str = "", *, inside: bool = False) -> dict[str, set[str]]:
    """Return what each module imports of the house, for a type checker too.

    ``only`` is a pattern of the modules that count. With ``inside``, what their
    functions import counts, too.
    """
    known = {
        name: path
        for name, path in modules(root).items()
        if not only or re.fullmatch(only, name)
    }
    return {
        name: {*imported(name, path, known, inside=inside)} & {*known} - {name}
        for name, path in known.items()
    }


def circle(imports: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of one circle in order, nothing if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def public_classes(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each public class of the house, with its module."""
    for name, path in modules(root).items():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, name


def homes(root: Path) -> dict[str, list[str]]:
    """Return the modules by the public class that they define.

    A dialect has the words of its seed, so it is a house of its own: it has an Event
    because its seed has one, as the engine has.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for name, module in public_classes(root):
        dialect = re.match(r"compat\.dialects\.\w+", module)
        found[f"{dialect[0]}.{name}" if dialect else name].append(module)
    return found


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circle(graph(ROOT)) == []


def test_no_module_of_the_engine_does_so_by_an_import_inside_a_function() -> None:
    engine = graph(ROOT, r"refengine\.(\w+|resume\.\w+)", inside=True)

    assert circle(engine) == []
    assert len(engine) > 35


def test_a_public_class_name_stands_once_in_the_house() -> None:
    found = homes(ROOT)

    assert {name: where for name, where in found.items() if len(where) > 1} == {}
    assert len(found) > 500


SAID = re.compile(
    r" (?:[a-z]+ )?(?:worlds|plays|times|branches|changes|files|clauses|cases|sessions"
    r"|runs|rows|mutants|scenarios|messages|handlers|calls|exchanges|interactions|steps"
    r"|lines|postures|engines|failures|decisions|differences|versions|kinds|workers|entries)\b"
)
"""Text behind a number, in the plural whatever the number is."""
AGREES = re.compile(
    r" (?:are|were|have|show|hold|rest|need|differ|fail|pass|agree|work)\b"
)
"""The same behind a number and what it counts."""


def plurals(path: Path) -> Iterator[str]:
    """Yield each text of a module that is wrong English where its number is one."""
    for text in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(text, ast.JoinedStr):
            continue
        for value, behind in pairwise(text.values):
            if isinstance(value, ast.FormattedValue) and isinstance(
                behind, ast.Constant
            ):
                number = ast.unparse(value.value)
                wrong = AGREES if number.startswith("counted(") else SAID
                if not number.isupper() and wrong.match(str(behind.value)):
                    yield ast.unparse(text)


def test_reports_and_commands_count_one_thing_in_the_singular() -> None:
    told = {
        f"{name}: {text}"
        for name, path in modules(ROOT).items()
        if name.startswith(("compat.report", "compat.cli", "compat.state"))
        for text in plurals(path)
    }

    assert told == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('f"{many} worlds"', 1),
        ('f"{len(x)} more worlds of"', 1),
        ("f\"1 of {counted(n, 'world')} show it\"", 1),
        ("f\"{counted(n, 'world')}: {does(n, 'show')} it\"", 0),
        ('f"at most {MOST} worlds"', 0),
    ],
)
def test_a_plural_for_any_number_is_found(
    tmp_path: Path, text: str, found: int
) -> None:
    root = write(tmp_path, compat__one=f"told = {text}")

    assert len([*plurals(root / "compat/one.py")]) == found


def write(root: Path, **sources: str) -> Path:
    """Write the modules of a small house, given as ``package__module``."""
    for name, source in sources.items():
        path = root.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, "utf-8")
    return root


@pytest.mark.parametrize(
    "back",
    [
        "import compat.one",
        "from compat import one",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import compat.one",
    ],
)
def test_a_circle_is_found(tmp_path: Path, back: str) -> None:
    root = write(tmp_path, compat__one="import compat.two", compat__two=back)

    assert {*circle(graph(root))} == {"compat.one", "compat.two"}


def test_an_import_inside_a_function_makes_no_circle(tmp_path: Path) -> None:
    back = "def main():\n    import compat.one"
    root = write(tmp_path, compat__one="import compat.two", compat__two=back)

    assert circle(graph(root)) == []
    assert {*circle(graph(root, inside=True))} == {"compat.one", "compat.two"}


def test_a_name_that_stands_twice_is_found(tmp_path: Path) -> None:
    root = write(
        tmp_path, compat__one="class Entry: ...", refengine__two="class Entry: ..."
    )

    assert homes(root)["Entry"] == ["refengine.two", "compat.one"]
