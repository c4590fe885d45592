"""Each row of docs/migrating-from-struct.md does what the struct did."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from property_tests.checks.adapted import about_runs
from property_tests.mutants.doors import ArrangedEngine
from refengine.agent import ChatModelAgentConfig
from refengine.profile import SEED_001, Profile
from refengine.struct_middleware import AgentMiddleware
from refengine.testing import ReferenceEngine, Scenario, Trace, first_divergence
from refengine.testing.scenario import MiddlewareSpec, WrapToolCallSpec
from refengine.testing.strategies import scenarios
from tests.properties.support import noted, played_by, searching

PAGE = Path(__file__).parents[2] / "docs" / "migrating-from-struct.md"
ALWAYS = "additional_instruction"
FENCED = re.MULTILINE | re.DOTALL


def python_of_the_page() -> str:
    found = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), FENCED)
    return "\n".join(found)


def forms() -> dict[str, Callable[[AgentMiddleware], object]]:
    """Run the page and return the forms that it defines."""
    namespace: dict[str, Any] = {"__name__": "page"}
    exec(compile(python_of_the_page(), str(PAGE), "exec"), namespace)  # noqa: S102  # our page
    return namespace["FORMS"]


FORMS = forms()
FIELDS = list(FORMS)


def handlers_of(struct: AgentMiddleware) -> list[object]:
    """Return a struct as the page says: the forms of its fields, in order.

    A struct without an instruction adds its newline all the same.
    """
    wraps = struct.wrap_tool_call
    given_ = {
        ALWAYS: True,
        "additional_tools": struct.additional_tools,
        "before_chat_model": struct.before_chat_model,
        "after_chat_model": struct.after_chat_model,
        "wrap_tool_call.invokable": wraps.invokable,
        "wrap_tool_call.streamable": wraps.streamable,
    }
    return [FORMS[field](struct) for field, value in given_.items() if value]


def ported(config: ChatModelAgentConfig, _: Profile) -> ChatModelAgentConfig:
    forms_ = [form for each in config.middlewares for form in handlers_of(each)]
    return replace(config, middlewares=(), handlers=[*forms_, *config.handlers])


def with_field(spec: MiddlewareSpec, field: str) -> MiddlewareSpec:
    """Return the struct with that one field."""
    name, _, kind = field.partition(".")
    value = getattr(spec, name)
    if kind:
        value = WrapToolCallSpec(**{kind: getattr(value, kind)})
    return MiddlewareSpec(id=spec.id, **{name: value})


def with_fields(scenario: Scenario, field: str) -> Scenario:
    """Return the scenario whose structs have that one field."""
    [agent] = scenario.all_agents
    structs = tuple(with_field(each, field) for each in agent.middlewares)
    changed = agent.model_copy(update={"middlewares": structs})
    return scenario.model_copy(update={"agent": changed})


def observed(trace: Trace) -> Trace:
    """Return what was seen, without which state object a hook was given.

    The page says that handlers share none.
    """
    return Trace(
        replace(each, data={k: v for k, v in each.data.items() if k != "state"})
        for each in about_runs(trace)
    )


def compare(scenario: Scenario) -> None:
    noted(scenario)
    struct = played_by(scenario, ReferenceEngine(SEED_001))
    port = played_by(scenario, ArrangedEngine("ported", SEED_001, ported))

    assert first_divergence(observed(struct), observed(port)) is None


@pytest.mark.parametrize("field", FIELDS)
@searching(60)
@given(scenarios())
def test_the_form_of_a_field_does_what_the_field_did(
    field: str, scenario: Scenario
) -> None:
    compare(with_fields(scenario, field))


@searching(100)
@given(scenarios(unknown_calls=True))
def test_the_forms_of_all_fields_do_what_the_structs_did(scenario: Scenario) -> None:
    compare(scenario)


def test_the_table_has_a_row_for_each_field() -> None:
    table = PAGE.read_text("utf-8").partition("## Field by field")[2]
    rows = re.findall(r"^\| `([a-z_.]+)` \| `(with_\w+)` \|", table, re.MULTILINE)

    assert [field for field, _ in rows] == FIELDS
    assert all(f"{helper}(" in python_of_the_page() for _, helper in rows)


def test_every_field_of_the_struct_has_a_row() -> None:
    fields = set(AgentMiddleware.__dataclass_fields__)

    assert {field.partition(".")[0] for field in FIELDS} == fields
