"""The profiles of frameworks in Python, held against the installed packages.

    python -m tests.test_profile_confirmed

writes anew the rows of their pages that say how each posture is confirmed.
"""

import re
from itertools import product
from pathlib import Path

import pytest

from compat.engines.capabilities import refusal_of
from compat.engines.langchain import LangChainEngine
from compat.engines.langgraph import LangGraphEngine
from compat.engines.openai_agents import doors as openai_agents
from compat.engines.pydantic_ai import doors as pydantic_ai
from compat.engines.strands import doors as strands
from compat.profiles.comparing import played, scenarios, unconfirmed
from compat.profiles.confirming import confirmed, projected
from refengine.profile import (
    LANGCHAIN_1,
    LANGGRAPH_PREBUILT_1,
    OPENAI_AGENTS_0,
    PYDANTIC_AI_2,
    SEED_001,
    STRANDS_1,
    choosing,
    options,
)
from refengine.testing.clock import run
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import first_divergence

DOCS = Path(__file__).parent.parent / "docs"
GRAPHS = {LANGCHAIN_1: LangChainEngine(), LANGGRAPH_PREBUILT_1: LangGraphEngine()}
ENGINES = {
    **GRAPHS,
    PYDANTIC_AI_2: pydantic_ai.engine(),
    OPENAI_AGENTS_0: openai_agents.engine(),
    STRANDS_1: strands.engine(),
}
PAGES = {
    LANGCHAIN_1: DOCS / "profiles-langchain.md",
    LANGGRAPH_PREBUILT_1: DOCS / "profiles-langchain.md",
    PYDANTIC_AI_2: DOCS / "profiles-pydantic-ai.md",
    OPENAI_AGENTS_0: DOCS / "profiles-openai-agents.md",
    STRANDS_1: DOCS / "profiles-strands.md",
}
BOTH = [
    pytest.param(each, posture, id=f"{each.name}-{posture}")
    for each, posture in product(ENGINES, options())
]
NOT_TOLD = {
    ("langgraph-prebuilt-1", "after_hooks"): {"handlers_first"},
    ("pydantic-ai-2", "changed_call_id"): {"leaks_into_event"},
    ("openai-agents-0", "answer"): {"last_message"},
    ("strands-1", "failing_call"): {"siblings_cancelled"},
}
"""Options that only an engine with both lists of extensions tells apart; failing_call
only one in which a call that fails ends the run."""


@pytest.mark.parametrize(("under", "posture"), BOTH)
def test_a_posture_is_confirmed_on_the_package_or_listed_with_a_reason(
    under, posture
) -> None:
    found = confirmed(ENGINES[under], under, posture)
    others = {each for each in options()[posture] if each != found.value}
    beyond = NOT_TOLD.get((under.name, posture), set())

    if posture in unconfirmed()[under.name]:
        assert found.ran == 0 or found.divergence is not None
    else:
        assert found.divergence is None
        assert found.ran > 0
        assert set(found.told_from) == others - beyond


def test_the_lists_of_unconfirmed_postures_do_not_grow_by_accident() -> None:
    assert {name: len(found) for name, found in unconfirmed().items()} == {
        "langchain-1": 16,
        "langgraph-prebuilt-1": 20,
        "pydantic-ai-2": 23,
        "openai-agents-0": 27,
        "strands-1": 18,
        "langchain-js-1": 1,
        "ai-sdk-6": 2,
        "ai-sdk-7": 1,
        "langchain4j-1": 5,
        "rig-0.44": 6,
        "eino-0.9": 1,
    }


def test_where_there_is_no_such_point_the_value_is_that_of_seed_001() -> None:
    for under in ENGINES:
        for posture, why in unconfirmed()[under.name].items():
            if why.endswith("as seed-001"):
                assert getattr(under, posture) == getattr(SEED_001, posture)


@pytest.mark.parametrize("posture", ["before_model_edits", "unanswered_calls", "route"])
def test_the_old_hook_that_keeps_its_edits_is_the_other_option(posture: str) -> None:
    kept = choosing(LANGGRAPH_PREBUILT_1, "before_model_edits", "kept")
    for each in scenarios()[posture]:
        scenario = read_scenario(each)
        theirs = run(play(scenario, LangGraphEngine(keeps_edits=True)))
        ours = played(scenario, kept)
        found = first_divergence(projected(theirs), projected(ours))

        assert found is None or refusal_of(theirs) is not None


def test_a_limit_of_no_steps_is_refused_when_the_run_starts() -> None:
    [each] = scenarios()["iterations_below_one"]
    for engine in GRAPHS.values():
        trace = run(play(read_scenario(each), engine))
        [told] = trace.of("event")

        assert told.data["class"] == "ValueError"
        assert not trace.of("build_error", "model_request")


def row(under, posture: str) -> str:
    """Return what the page says of one posture."""
    value = getattr(under, posture)
    why = unconfirmed()[under.name].get(posture)
    ran = [
        str(at)
        for at, each in enumerate(scenarios()[posture], 1)
        if confirmed_by(under, posture, each)
    ]
    how = why or f"confirmed by {posture} {', '.join(ran)}"
    return f"| `{posture}` | `{value}` | {how} |"


def confirmed_by(under, posture: str, each) -> bool:
    return refusal_of(run(play(read_scenario(each, posture), ENGINES[under]))) is None


def rows(under) -> list[str]:
    return [row(under, posture) for posture in options()]


def shown_rows(page: str, under) -> list[str]:
    """Return the rows of a profile that the page has."""
    section = page.split(f"## {under.name}\n")[1]
    return re.findall(r"^\| `.*$", section.split("\n## ")[0], re.MULTILINE)


@pytest.mark.parametrize("under", ENGINES, ids=lambda each: each.name)
def test_the_page_tells_every_posture(under) -> None:
    assert shown_rows(PAGES[under].read_text("utf-8"), under) == rows(under)


def rewritten(page: str, under) -> str:
    """Return a page with the rows of a profile as they are now."""
    head, title, rest = page.partition(f"## {under.name}\n")
    old = "\n".join(shown_rows(page, under))
    return head + title + rest.replace(old, "\n".join(rows(under)), 1)


if __name__ == "__main__":
    for profile, path in PAGES.items():
        path.write_text(rewritten(path.read_text("utf-8"), profile), "utf-8")
