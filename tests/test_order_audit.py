"""``refengine audit order``: each two extensions of a stack, in both orders."""

import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from compat.migration import corpus
from compat.migration.check import Checked
from compat.migration.corpus import fixed_worlds
from compat.migration.judge import Terms
from compat.migration.ordering import OrderAuditor, order_code, pairs_of, ranked
from compat.migration.refs import RefError, SubjectRef
from compat.migration.settings import MeantOrder
from compat.migration.subject_runner import CheckOptions
from compat.report.order import order_lines
from compat.report.order_json import OrderReport, schema_text
from compat.verdicts.migration import DivergenceGroup, Migration, Noise
from compat.verdicts.order import JudgedOrder, OrderAudit
from refengine import AgentMiddleware, ToolMiddleware
from refengine.testing import ordering
from refengine.testing.ordering import OF_LANGCHAIN, Move, Ordering, name_of
from tests.commands import refengine
from tests.pages import ROOT

SHARE = 12
"""One fixed world of so many is played: enough to say something and to log it."""
STACK = """\
import logging
import re
from dataclasses import replace

from refengine import AgentMiddleware


class Redact:
    name = "redact"

    def before_model_rewrite_history(self, ctx, messages):
        return ctx, [replace(m, content=re.sub(".", "#", m.content)) for m in messages]


class Log:
    name = "log"

    def before_model_rewrite_history(self, ctx, messages):
        logging.getLogger("agent").warning(messages[-1].content)
        return ctx, messages


class Brief:
    name = "brief"

    def before_agent(self, ctx, config):
        config.instruction += " Be brief."
        return ctx


def subject(world):
    return [LIST]
"""
FACTORY = """\
def create_agent(model, tools=None, *, middleware=()):
    return middleware
"""
LANGCHAIN = '''\
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage


class Guard(AgentMiddleware):
    """Let nobody delete anything."""

    def wrap_tool_call(self, request, handler):
        call = request.tool_call
        if "delete" in str(call["args"]):
            return ToolMessage("denied", tool_call_id=call["id"])
        return handler(request)


class Plain(AgentMiddleware):
    """Understand what models say instead."""

    def wrap_tool_call(self, request, handler):
        call = request.tool_call
        pairs = call["args"].items()
        said = {key: str(value).replace("remove", "delete") for key, value in pairs}
        return handler(request.override(tool_call={**call, "args": said}))


def subject(world):
    given = world.as_langchain()
    parts = [Guard(), Plain()]
    return create_agent(given.model, given.tools, middleware=parts)
'''
MEANT = '[[order]]\nfirst = "{}"\nthen = "{}"\nreason = "as it is"\n'


@pytest.fixture
def audited_file(monkeypatch, tmp_path):
    """Audit a subject with few worlds; return how it ended."""

    def few(words):
        return [*fixed_worlds(words)][::SHARE]

    def audit(text: str, *more: str, every: bool = False):
        monkeypatch.setattr(corpus, "fixed_worlds", fixed_worlds if every else few)
        Path(tmp_path, "agent.py").write_text(text, "utf-8")
        line = ("audit", "order", "agent.py", "--examples", "1", *more)
        return refengine(*line, at=tmp_path)

    return audit


@pytest.fixture
def audited(audited_file):
    """Audit a list of the parts above."""

    def audit(entries: str, *more: str):
        return audited_file(STACK.replace("LIST", entries), *more)

    return audit


def test_pair_that_does_not_commute_is_shown_with_its_world(audited, tmp_path) -> None:
    done = audited("Redact(), Log(), Brief()", "--json", "report.json")

    assert done.returncode == 1
    assert done.stdout.startswith(
        "ORDER MATTERS  1 of 3 pairs does not commute\n"
        "  handlers: redact, log, brief\n\n"
        "1. redact, log: OLD is your stack, NEW has redact behind log\n"
        "DIVERGES  same-state holds, same-effects is required\n\n"
        "EFFECT_CHANGED  NEW does `log` with "
    )
    assert '    model = ["Done."]\n    agent.run(' in done.stdout
    assert "\nCommute: log, brief; redact, brief\n" in done.stdout
    report = OrderReport.model_validate(
        json.loads((tmp_path / "report.json").read_text("utf-8"))
    )
    assert [each.commutes for each in report.each] == [False, True, True]
    assert (report.exit, report.lists[0].names) == (1, ["redact", "log", "brief"])


def test_order_that_is_declared_is_meant_and_one_that_nothing_needs_is_told(
    audited, tmp_path
) -> None:
    text = MEANT.format("redact", "log") + MEANT.format("log", "brief")
    (tmp_path / "migration.toml").write_text(text, "utf-8")

    done = audited("Redact(), Log(), Brief()", "--settings", "migration.toml")

    assert done.returncode == 5
    assert done.stdout.startswith(
        "HAS UNUSED ENTRIES  2 of 3 pairs commute, 1 is meant\n"
    )
    assert "\nMeant: redact, log (as it is): EFFECT_CHANGED\n" in done.stdout
    assert "\ndeclared log, brief: UNUSED, they commute\n" in done.stdout


@pytest.mark.parametrize(
    ("entries", "code", "said"),
    [
        (
            "Log()",
            4,
            "no list has two extensions, so there is no order (handlers: log)",
        ),
        ("AgentMiddleware(), Log()", 4, "(middlewares: struct; handlers: log)"),
        ("] or 3 or [0", 2, "subject(world) returned 3: that is not a list"),
    ],
)
def test_what_has_no_order_is_told_in_one_line(audited, entries, code, said) -> None:
    done = audited(entries)

    assert done.returncode == code
    assert said in done.stdout + done.stderr


# The trials, without a child: which pairs, by which moves, in which order

REF = SubjectRef("agent.py", "subject", Path())
BASE = OrderAudit("same-effects", 1, "")
FIVE = (("handlers", tuple("abcde")),)


def trials(*apart: str, most: int = 10, meant=()) -> tuple[OrderAudit, list[str]]:
    """Try five entries of which these pairs do not commute; return moves, too."""
    moves: list[str] = []

    def judged(new: SubjectRef, terms: Terms) -> Checked:
        [move] = [*(new.order or ())]
        moves.append(new.text.removeprefix("agent.py, "))
        both = "".join(sorted(move.name + move.other))
        holds = "same-state" if both in apart else "identical"
        return Checked(Migration(terms.required, 1, "", holds))

    found = OrderAuditor(REF, Terms(), meant, CheckOptions(), most)
    return found.tried(BASE, FIVE, judged), moves


def test_all_pairs_of_five_are_in_the_budget_neighbours_first() -> None:
    found, moves = trials()

    assert len(found.judged) == 10
    assert not found.untried
    assert moves[:5] == [
        "a behind b",
        "b behind c",
        "c behind d",
        "d behind e",
        "a behind c",
    ]
    assert order_code(found) == 0


def test_what_the_budget_leaves_out_is_told() -> None:
    found, _ = trials(most=4)

    assert len(found.judged) == 4
    assert {each.why for each in found.untried} == {
        "there are more than 4 pairs (--pairs)"
    }


@pytest.mark.parametrize(
    ("apart", "moves", "untried"),
    [
        (["ab"], ["c before a"], []),  # a may not pass b, so c passes both
        (["bc"], ["a behind c"], []),
        (["ab", "bc"], [], ["ac: neither may pass all that stands between: b"]),
    ],
)
def test_pair_is_tried_so_that_no_other_is_seen(apart, moves, untried) -> None:
    found, all_moves = trials(*apart)

    assert [each for each in all_moves if {"a", "c"} <= set(each.split())] == moves
    told = [f"{e.first}{e.then}: {e.why}" for e in found.untried if e.then == "c"]
    assert told == untried


def test_order_that_is_meant_is_no_fault_of_the_stack() -> None:
    entry = MeantOrder(first="a", then="b", reason="as it is")
    bare, _ = trials("ab")
    found, _ = trials("ab", meant=[entry])

    assert (order_code(bare), order_code(found)) == (1, 0)
    headline = str(next(order_lines(found)))
    assert headline == "HOLDS  9 of 10 pairs commute, 1 is meant"


@pytest.mark.parametrize(
    ("first", "then", "why"),
    [
        ("a", "b", ""),
        ("b", "a", "a stands first"),
        ("b", "c", "they commute"),
        ("a", "x", "no list has both"),
    ],
)
def test_declared_order_that_nothing_needs_says_why(first, then, why) -> None:
    entry = MeantOrder(first=first, then=then, reason="as it is")
    found, _ = trials("ab", meant=[entry])

    assert [each.why for each in found.unused] == ([why] if why else [])


def test_stack_that_differs_from_itself_is_not_accused_of_its_order() -> None:
    noise = (Noise("old", "effects", "[0].data", (1, 2)),)

    def judged(_: SubjectRef, terms: Terms) -> Checked:
        return Checked(Migration(terms.required, 1, "", noise=noise))

    auditor = OrderAuditor(REF, Terms(), (), CheckOptions(), 10)
    found = auditor.tried(BASE, [("handlers", "ab")], judged)
    told = [str(each) for each in order_lines(found)]

    assert order_code(found) == 6
    assert told[0] == "NOT COMPARABLE  1 of 1 pair could not be judged"
    assert not [each for each in told if "If an order is meant" in each]


def test_stack_in_another_language_is_refused() -> None:
    ref = replace(REF, file=Path("agent.go"))

    with pytest.raises(RefError, match="is in go: lists of extensions"):
        OrderAuditor(ref, Terms(), (), CheckOptions(), 10).audit()


def test_worst_comes_first_whichever_order_it_is_seen_in() -> None:
    def pair(name: str, code: str, channel: str, many: int) -> JudgedOrder:
        groups = (DivergenceGroup(code, channel, many),)
        found = Migration("same-effects", 9, "", "same-state", groups=groups)
        moved = replace(found, diverging=many)
        return JudgedOrder("handlers", name, "z", "", moved)

    pairs = [
        pair("wording", "REQUEST_CHANGED", "requests", 9),
        pair("runs", "MISSING_CALL", "tool_executions", 2),
        pair("paid twice", "EXTRA_CALL", "tool_executions", 2),
        pair("guard", "AGAINST_NO", "tool_executions", 1),
    ]
    meant = replace(pair("meant", "EXTRA_CALL", "tool_executions", 9), meant="yes")

    assert [each.first for each in ranked([meant, *pairs])] == [
        "guard",
        "paid twice",
        "runs",
        "wording",
        "meant",
    ]


def test_list_that_differs_between_worlds_has_each_pair_once() -> None:
    found = pairs_of([("handlers", "abc"), ("handlers", "ac"), ("handlers", "ca")])

    assert [(each.first, each.then, each.between) for each in found] == [
        ("a", "b", ()),
        ("b", "c", ()),
        ("a", "c", ("b",)),  # which it has to pass in some world
    ]


# What is moved, and what it is called


@pytest.mark.parametrize(
    ("move", "left"),
    [
        (Move("handlers", "a", "c", behind=True), "bca"),
        (Move("handlers", "c", "a", behind=False), "cab"),
        (Move("handlers", "c", "a", behind=True), "abc"),  # where it stands already
        (Move("handlers", "a", "x", behind=True), "abc"),
    ],
)
def test_move_puts_one_entry_past_another(move, left) -> None:
    assert "".join("abc"[at] for at in move.applied("abc")) == left


def audit_log(ctx, state) -> None:
    """Stand for a callback that has a name."""


def test_entry_is_called_by_its_name_or_by_its_first_callback() -> None:
    wraps = ToolMiddleware(invokable=audit_log)
    entries = [
        type("Log", (), {"name": "log"})(),
        AgentMiddleware(before_chat_model=audit_log),
        AgentMiddleware(wrap_tool_call=wraps),
        wraps,
        AgentMiddleware(before_chat_model=lambda *_: None),
        audit_log,
    ]

    assert [*map(name_of, entries)] == [
        "log",
        "audit_log",
        "audit_log",
        "audit_log",
        "struct",
        "audit_log",
    ]


@pytest.mark.parametrize("early", [True, False])
def test_list_of_create_agent_is_reached_whenever_it_is_imported(
    early, tmp_path, monkeypatch
) -> None:
    package = tmp_path / f"frame_{early}"
    package.mkdir()
    lines = (f"from {package.name}.factory import create_agent\n", FACTORY)
    for name, text in zip(("__init__.py", "factory.py"), lines, strict=True):
        (package / name).write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(ordering, "FACTORY", f"{package.name}.factory")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    found = Ordering([Move(OF_LANGCHAIN, "a", "b", behind=True)])

    if early:
        import_module(package.name)
    found.watch()
    create_agent = import_module(package.name).create_agent
    both = [SimpleNamespace(name="a"), SimpleNamespace(name="b")]
    made = [create_agent("model", middleware=both) for _ in range(2)]

    assert [[each.name for each in agent] for agent in made] == [["b", "a"], ["a", "b"]]
    assert found.lists == {
        OF_LANGCHAIN: [("a", "b")],
        f"{OF_LANGCHAIN} 2": [("a", "b")],
    }


def test_middleware_of_langchain_that_does_not_commute_is_shown(
    audited_file,
) -> None:
    done = audited_file(LANGCHAIN, every=True)

    assert done.returncode == 1
    assert done.stdout.startswith(
        "ORDER MATTERS  1 of 1 pair does not commute\n"
        "  middleware of create_agent: Guard, Plain\n\n"
        "1. Guard, Plain: OLD is your stack, NEW has Guard behind Plain\n"
    )
    assert "\nMISSING_CALL  NEW does not run " in done.stdout


def test_published_schema_is_what_the_models_say() -> None:
    published = (ROOT / "docs/audit-order.schema.json").read_text("utf-8")

    assert published == schema_text()


def test_stack_that_may_stand_in_any_order_is_told_so() -> None:
    found, _ = trials()

    assert str(next(order_lines(found))) == "HOLDS  10 of 10 pairs commute"


def test_a_stack_that_cannot_be_played_is_named_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "five.py").write_text("def subject(world):\n    return 5\n", "utf-8")

    done = refengine("audit", "order", "five.py", at=tmp_path)

    assert done.stdout.startswith("CANNOT BE JUDGED  five.py, world 1: subject(world)")
