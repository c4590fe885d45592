"""Worlds whose runs have options: who leaves them out of a call is told."""

from pathlib import Path

import pytest

from refengine.testing.scenario_files import read_scenario
from refengine.testing.subject_worlds.option_worlds import (
    FAMILY,
    OPAQUE,
    option_worlds,
    options_read,
)
from refengine.testing.subject_worlds.source import python_sources
from refengine.testing.subject_worlds.unusual import Spoken, unusual
from refengine.testing.subject_worlds.words import Words
from tests.judging_support import judged_in, of_family

OLD = """
from dataclasses import replace
from refengine import AgentMiddleware, ToolMiddleware

def subject(world):
    def invokable(inner):
        async def call(ctx, input):
            tenant = input.call_options.get("user", "public")
            options = {**input.call_options, "tenant": tenant}
            return await inner(ctx, replace(input, call_options=options))
        return call
    return [AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable, None))]
"""
NEW = """
from dataclasses import replace
from refengine import ToolCallInput

class Routed:
    name = "routed"
    def before_agent(self, ctx, config):
        config.instruction += "\\n"
        return ctx
    async def wrap_invokable_tool_call(self, ctx, input, next):
        tenant = input.call_options.get("user", "public")
        return await next(ctx, ROUTED)

def subject(world):
    return [Routed()]
"""
PORTS = {
    "all are handed on": (
        'replace(input, call_options={**input.call_options, "tenant": tenant})',
        True,
    ),
    "all are handed on in a new input": (
        (
            "ToolCallInput(name=input.name, arguments=input.arguments,"
            " call_id=input.call_id,"
            ' call_options={**input.call_options, "tenant": tenant})'
        ),
        True,
    ),
    "its own alone are": ('replace(input, call_options={"tenant": tenant})', False),
    "those that it knows are": (
        (
            'replace(input, call_options={"tenant": tenant, **{k: v for k, v in'
            ' input.call_options.items() if k == "user"}})'
        ),
        False,
    ),
    "one has another default": (
        (
            "replace(input, call_options={**input.call_options,"
            ' "tenant": input.call_options.get("user", "nobody")})'
        ),
        False,
    ),
}


@pytest.mark.parametrize("which", PORTS)
def test_options_that_are_not_handed_on_are_missed(tmp_path: Path, which: str) -> None:
    routed, right = PORTS[which]
    new = NEW.replace("ROUTED", routed)

    verdict = judged_in(of_family(FAMILY), tmp_path, OLD, new)

    assert verdict.fault is None
    assert verdict.sufficient == right


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("call.call_options.get('user', 'public')", "user", ("a", "b")),
        ("request.options['limit']", "limit", ("a", "b")),
        ("input.call_options.get('tries', 3)", "tries", (4, 3)),
        ("options.get('dry', False)", "dry", (True, False)),
        ("'who' in call.call_options", "who", ("a", "b")),
    ],
)
def test_options_are_those_that_a_source_looks_for(text, name, values) -> None:
    assert options_read(python_sources([text])) == ((name, values), OPAQUE)


@pytest.mark.parametrize("text", ["settings.get('user')", "options[key]", "options"])
def test_one_that_no_source_names_is_always_there(text) -> None:
    assert options_read(python_sources([text])) == (OPAQUE,)


def test_worlds_are_ordinary_and_both_streamed_and_not() -> None:
    worlds = [w for _, w in option_worlds(Words(options=(OPAQUE,)))]

    assert {w["runs"][0]["streaming"] for w in worlds} == {True, False}
    assert {unusual(read_scenario(w, "t"), Spoken()) for w in worlds} == {None}
    assert not [*option_worlds(Words())]
