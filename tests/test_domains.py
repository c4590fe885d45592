"""The domain of OLD: what it means to raise, and what breaks for want of something."""

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from compat.migration.check import check_all, code_of
from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.report.migration import lines
from compat.verdicts.migration import Migration
from refengine.testing.own_failures import own_failure, unwrapped
from refengine.testing.scenario_files import read_scenario

WORLDS = (
    {"agent": {}, "model_script": ["assistant:yes"], "runs": [{"input": ["user:hi"]}]},
    {"agent": {}, "model_script": ["assistant:no"], "runs": [{"input": ["user:"]}]},
)
"""In the second one the user says nothing."""

STRUCT = """
from refengine import AgentMiddleware

def subject(world):
    def before(ctx, state{more}):
        {body}
    return [AgentMiddleware(before_chat_model=before)]
"""
HANDLER = """
class First:
    name = "first"

    def __init__(self, world):
        self.world = world

    def before_agent(self, ctx, config):
        config.instruction += "\\n"
        return ctx

    def before_model_rewrite_history(self, ctx, messages):
        {body}
        return ctx, messages

def subject(world):
    return [First(world)]
"""
FIRST = 'world.effect("first", state.messages[-1].content[0])'
LIKE_FIRST = 'self.world.effect("first", messages[-1].content[:1])'


def judged(
    folder: Path, old: str, new: str, worlds=WORLDS, *, domain: str = "ordinary"
) -> Migration:
    """Return the verdict of two files of these texts in a few worlds."""
    refs = []
    for name, text in (("old", old), ("new", new)):
        (folder / f"{name}.py").write_text(text, "utf-8")
        refs.append(parse_ref(f"{folder}/{name}.py"))
    scenarios = [read_scenario(each, "a world") for each in worlds]
    made = tuple(MigrationWorld(each, "by hand", fixed=True) for each in scenarios)
    how = CheckOptions(domain=domain)
    sides = {"new": (refs[1], Terms())}
    return check_all(refs[0], sides, Corpus(made, 0), how, explain=True)["new"].verdict


def test_a_text_is_given_where_old_needs_one_and_it_is_played_again(tmp_path) -> None:
    old, new = STRUCT.format(more="", body=FIRST), HANDLER.format(body=LIKE_FIRST)

    verdict = judged(tmp_path, old, new)

    assert verdict.sufficient
    assert (verdict.outside, verdict.failures["old"]) == ({}, {})


def test_all_that_breaks_is_judged_if_that_is_asked_for(tmp_path) -> None:
    old, new = STRUCT.format(more="", body=FIRST), HANDLER.format(body=LIKE_FIRST)

    verdict = judged(tmp_path, old, new, domain="all")

    assert not verdict.sufficient
    assert list(verdict.failures["old"].values()) == [1]


def test_what_cannot_be_mended_is_left_out_and_told_with_its_line(tmp_path) -> None:
    body = 'world.effect("n", 1 / (len(state.messages[-1].content) - 2))'
    new = 'self.world.effect("n", 1 / (len(messages[-1].content) - 2 or 1))'
    old, new = STRUCT.format(more="", body=body), HANDLER.format(body=new)
    third = {"agent": {}, "runs": [{"input": ["user:hello"]}]}

    verdict = judged(tmp_path, old, new, [*WORLDS, third])
    report = "\n".join(map(str, lines(verdict)))

    assert verdict.sufficient
    assert verdict.outside == {"its own code breaks": 1}
    assert "ZeroDivisionError: division by zero (old.py, line 6)" in report


def test_what_old_raises_on_purpose_is_behaviour(tmp_path) -> None:
    body = 'if not state.messages[-1].content: raise KeyError("say something")'
    old, new = STRUCT.format(more="", body=body), HANDLER.format(body="pass")

    verdict = judged(tmp_path, old, new)

    assert verdict.divergence is not None
    assert verdict.divergence.code == "ERROR_LOST"


@pytest.mark.parametrize(
    ("more", "body", "told"),
    [
        (", more", "pass", "missing 1 required positional argument: 'more'"),
        ("", 'state.messages[0].content = "x"', "FrozenInstanceError: cannot assign"),
    ],
)
def test_code_that_breaks_everywhere_is_no_verdict(tmp_path, more, body, told) -> None:
    text = STRUCT.format(more=more, body=body)

    for domain in ("ordinary", "all"):
        verdict = judged(tmp_path, text, text, domain=domain)
        first = str(next(lines(verdict)))

        assert code_of(verdict) == 4
        assert first.startswith("NOT EXERCISED  OLD's own code breaks in 2 of 2 worlds")
        assert told in first


def test_code_of_new_alone_that_breaks_is_a_divergence(tmp_path) -> None:
    old, new = STRUCT.format(more="", body="pass"), HANDLER.format(body="messages[9]")

    verdict = judged(tmp_path, old, new)
    report = "\n".join(map(str, lines(verdict)))

    assert code_of(verdict) == 1
    assert "its own code broke in 2 worlds: IndexError" in report


# Whose an error is, by where it was raised

OWN = """
def looks_up():
    return {}["tenant"]

def raises():
    raise KeyError("tenant")

def asserts():
    assert not "tenant"

def lets_through():
    try:
        return looks_up()
    except KeyError:
        raise

def raises_from():
    try:
        return looks_up()
    except KeyError as error:
        raise RuntimeError("no tenant") from error

def calls(function):
    return function()
"""


@pytest.fixture
def own(tmp_path: Path) -> Callable[..., BaseException]:
    """Return the error that a function of a file of one's own raises."""
    path = tmp_path / "own.py"
    path.write_text(OWN, "utf-8")
    spec = spec_from_file_location("own", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)

    def raised(name: str, *given: object) -> BaseException:
        with pytest.raises(BaseException) as found:  # noqa: PT011  # whatever the function raises
            getattr(module, name)(*given)
        return found.value

    return raised


@pytest.mark.parametrize("name", ["looks_up", "lets_through"])
def test_an_expression_that_breaks_is_told_with_what_it_looked_for(own, name) -> None:
    found = own_failure(own(name))

    assert found is not None
    assert (found.error, found.file, found.line) == ("KeyError", "own.py", 3)
    assert found.missing == "tenant"


@pytest.mark.parametrize("name", ["raises", "asserts", "raises_from"])
def test_what_is_raised_on_purpose_is_no_failure(own, name) -> None:
    assert own_failure(own(name)) is None


def test_only_what_a_framework_puts_around_an_error_is_taken_off(own) -> None:
    mine = own("raises_from")
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("x")
    theirs = caught.value
    theirs.__cause__ = mine

    assert unwrapped(mine) == (mine, [])
    assert own_failure(theirs) is None


# NEW that cannot be built

TWICE = """
class First:
    name = "first"

    def before_agent(self, ctx, config):
        return ctx

def subject(world):
    first = First()
    return [first, first]
"""
RAISES = """
def subject(world):
    raise ValueError("a name that is taken")
"""


@pytest.mark.parametrize(
    ("new", "error"), [(TWICE, "SameExtensionTwiceError"), (RAISES, "ValueError")]
)
def test_new_that_cannot_be_built_diverges_with_the_cause(tmp_path, new, error) -> None:
    old = STRUCT.format(more="", body="pass")

    verdict = judged(tmp_path, old, new)

    assert code_of(verdict) == 1
    assert verdict.divergence is not None
    assert verdict.divergence.code == "ERROR_NEW"
    assert error in dict(verdict.divergence.causes)["new"]


def test_old_that_cannot_be_built_is_a_mistake_in_what_was_given(tmp_path) -> None:
    verdict = judged(tmp_path, RAISES, STRUCT.format(more="", body="pass"))

    assert code_of(verdict) == 2
