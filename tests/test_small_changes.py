"""Small changes of a module: what is changed, to what, and what is left alone."""

import ast
from pathlib import Path
from textwrap import indent

import pytest

from compat.migration.reproducer import SideFiles
from compat.migration.sharpness import changes_of
from refengine.testing.probes import Lines, TooManyStepsError
from refengine.testing.small_changes import OPERATORS, apply_change, small_changes

BODIES = {
    "constant": ("limit = 3", {"3 -> 4"}),
    "true": (
        "f(deep=True)",
        {"True -> False", "no deep=True for f", "no f(deep=True)"},
    ),
    "text": ("x = f'a{b}'", {"'a' -> 'ax'"}),
    "comparison": ("y = a < b", {"a < b -> a <= b"}),
    "comparisons": ("y = a == b in c", {"a == b -> a != b", "b in c -> b not in c"}),
    "and/or": ("y = a and b", {"a and b -> a or b"}),
    "not": ("y = not a", {"not a -> a"}),
    "condition": ("y = 1.5 if a else b", {"a -> not a", "1.5 -> 2.5"}),
    "statement": ("a.append(b)", {"no a.append(b)"}),
    "assignment": ("a.b = c", {"no a.b = c"}),
    "again": ("a = g(a)", {"no a = g(a)"}),
    "annotated": ("a.b: int = c", {"no a.b: int = c"}),
    "annotated item": ("a[b]: int = c", {"no a[b]: int = c"}),
    "annotated again": ("a: int = g(a)", {"no a: int = g(a)"}),
    "await": ("x = await a", {"await a -> a"}),
    "argument": ("x = g(a, k)", {"no k for g", "a, k -> k, a"}),
    "swap": ("x = [*a, *b]", {"*a, *b -> *b, *a"}),
    "fold": (
        "y = a.lower() in b",
        {"a.lower() -> a", "a.lower() in b -> a.lower() not in b"},
    ),
    "space": ("y = a.strip()", {"a.strip() -> a"}),
    "strip of letters": ("y = a.strip(b)", set[str]()),
    "return": ("return a", {"no return a"}),
}
ALONE = {
    "annotation": "x: Literal['a'] = b",
    "annotation alone": "a.b: int",
    "docstring": '"""Says what it does."""',
    "end": "return None",
    "text of an error": "raise E('why') from e",
    "type": "x = cast('list[int]', b)",
    "name of a logger": "x = getLogger('mine')",
    "name of a graph": "x = create_agent(m, name='mine')",
    "form of a question": "x = {'action_request': a, 'config': {'allow': True}}",
    "order of classes": "x = isinstance(a, (TimeoutError, KeyError))",
    "type of what an agent is given": "x = Agent(m, deps_type=dict)",
    "assertion": "assert a == 3, 'why'",
}


def texts(body: str) -> set[str]:
    source = "async def f(a, b, c, d):\n" + indent(body, "    ")
    found = small_changes(source)
    for each in found:
        tree = ast.parse(source)
        apply_change(tree, each.number)
        assert ast.unparse(tree) != ast.unparse(ast.parse(source))
        compile(tree, "changed", "exec")
    return {each.text for each in found}


@pytest.mark.parametrize("name", BODIES)
def test_code_is_changed_in_each_of_the_ways_that_are_listed(name: str) -> None:
    body, expected = BODIES[name]

    assert expected == texts(body)


@pytest.mark.parametrize("name", ALONE)
def test_what_nothing_can_show_is_left_alone(name: str) -> None:
    expected = {
        "text of an error": {"no raise E('why') from e"},
        "order of classes": {"no (TimeoutError, KeyError) for isinstance"},
    }

    assert expected.get(name, set()) == texts(ALONE[name])


@pytest.mark.parametrize(
    ("body", "dropped"),
    [
        ("try:\n    g()\nexcept E:\n    return None", False),
        ("try:\n    g()\nexcept E:\n    return None\nh()", True),
        ("try:\n    return None\nexcept E:\n    h()\nelse:\n    k()", True),
        ("try:\n    g()\nfinally:\n    return None", True),
        ("if a:\n    return None\nelse:\n    h()", False),
        ("if a:\n    return None\nh()", True),
        ("with a:\n    return None", False),
        ("match a:\n    case 1:\n        return", False),
        ("for x in a:\n    return None", True),
    ],
)
def test_a_return_of_nothing_is_dropped_where_something_follows(
    body: str, dropped: bool
) -> None:
    assert dropped == any(each.startswith("no return") for each in texts(body))


def test_names_of_handlers_and_what_a_module_exports_are_left_alone() -> None:
    source = """
__all__ = ["A"]
class A:
    name = "mine"
    @property
    def name(self):
        return "mine"
if TYPE_CHECKING:
    x = 3
if __name__ == "__main__":
    x = 3
"""

    assert small_changes(source) == []


@pytest.mark.parametrize(
    ("base", "given", "left"),
    [("BasePlugin", "'n'", 0), ("BasePlugin", "name='n'", 0), ("Base", "'n'", 1)],
)
def test_the_name_of_a_plugin_is_left_alone(base: str, given: str, left: int) -> None:
    body = f"    def __init__(self):\n        super().__init__({given})"

    found = [each.text for each in small_changes(f"class A({base}):\n{body}\n")]

    assert left == sum("'n' ->" in each for each in found)


def test_docstring_of_a_tool_is_shown_to_a_model() -> None:
    source = '@tool\ndef find():\n    """Finds."""\n'

    assert [each.text for each in small_changes(source)] == ["'Finds.' -> 'Finds.x'"]


def test_each_operator_is_explained_and_used() -> None:
    used = {
        each.operator
        for body, _ in BODIES.values()
        for each in small_changes("async def f():\n    " + body)
    }

    page = Path(__file__).parent.parent / "docs" / "check-report.md"
    text = page.read_text("utf-8")

    assert set(OPERATORS) == used
    assert all(f"| {name} | {what} |\n" in text for name, what in OPERATORS.items())


def test_what_would_notice_a_changed_bound_is_told_exactly() -> None:
    [comparison, constant] = small_changes("def f(x):\n    y = len(x) > 8000\n")

    assert comparison.needs == "a world in which len(x) is exactly 8000"
    assert constant.needs == "a world in which len(x) is exactly 8001"


SHARED = b"""
OF_OLD = 1
OF_NEW = 2
def old(world):
    return f(OF_OLD)
def new(world):
    return f(OF_NEW, more)
def more():
    return helper.deep()
"""
HELPER = b"""
def deep():
    return 3
def unused():
    return 4
"""


def side(entry: str, text: bytes, name: str, **more: bytes) -> SideFiles:
    return SideFiles({entry: text, **more}, entry, name)


def test_only_code_that_the_subject_leads_to_is_changed() -> None:
    found = changes_of(side("both.py", SHARED, "new", **{"helper.py": HELPER}), [])

    assert {(each.file, each.change.line) for each in found} == {
        ("both.py", 3),
        ("both.py", 7),
        ("both.py", 9),
        ("helper.py", 3),
    }


def test_lines_that_old_does_not_have_come_first() -> None:
    old = [b"OF_NEW = 2\n    return f(OF_NEW, more)"]
    found = changes_of(side("n.py", SHARED, "new"), old)

    assert [found[0].change.line, found[1].change.line] == [9, 3]


def test_constant_of_a_module_matters_where_it_is_used() -> None:
    found = changes_of(side("n.py", SHARED, "new"), [])
    [constant] = [each for each in found if each.change.line == 3]

    assert constant.near == {("n.py", 7)}


def test_lines_are_reached_as_they_run_and_too_many_steps_end_it() -> None:
    lines = Lines(limit=50)
    lines.install()
    code = "def f(n):\n    'Docs.'\n    while n:\n        n -= 1\n    return 'end'\n"
    names: dict[str, object] = {}
    tree = lines.probed(ast.parse(code), "f.py")
    exec(compile(tree, "f.py", "exec"), names)  # noqa: S102  # our own code

    assert names["f"](3) == "end"
    assert lines.reached == {("f.py", 3), ("f.py", 4), ("f.py", 5)}
    assert lines.steps == 5
    with pytest.raises(TooManyStepsError):
        names["f"](-1)
