"""The model stage: who is called, what wins, and what an error becomes."""

import asyncio

import pytest

from compat.dialects.flow import (
    Content,
    FunctionCall,
    LlmAgent,
    LlmResponse,
    Part,
    Plugin,
    Usage,
    text_content,
)
from compat.dialects.flow.run_errors import (
    CallbackReturnError,
    ModelCallsExceededError,
    ModelGaveNothingError,
    ModelMissingError,
    PluginCallbackError,
)
from tests.flow_support import (
    ScriptedModel,
    as_response,
    calls,
    run,
    runner_of,
    short,
    stored,
    tool,
)


def gives(log, name, value):
    def hook(*_):
        log.append(name)
        if isinstance(value, Exception):
            raise value
        return value

    return hook


def text_of(response):
    return response.content.text


def ids_of(response):
    return [each.id[:4] for each in response.content.calls]


def played(model, agent=(), plugin=(), profile="adk-go-0.4"):
    """Return what a run told, or what it raised, and which hooks were called."""
    log = []
    own = {name: [gives(log, f"a.{name}", x) for x in xs] for name, xs in agent}
    plugged = {name: gives(log, f"p.{name}", x) for name, x in plugin}
    clerk = LlmAgent(name="clerk", model=model, **own)
    runner = runner_of(clerk, Plugin(name="p", **plugged), profile=profile)
    try:
        told = [short(each) for each in asyncio.run(run(runner))]
    except Exception as error:  # noqa: BLE001  # compared by the test
        told = error
    return told, log


def test_a_before_error_reaches_no_error_hook():
    told, log = played(
        ScriptedModel(),
        agent=[("before_model", [KeyError("no")]), ("on_model_error", [None])],
    )

    assert isinstance(told, KeyError)
    assert told.__notes__[0] == "agent 'clerk', callback 0, before_model"
    assert log == ["a.before_model"]


@pytest.mark.parametrize(("profile", "kept"), [("adk-go-0.4", 3), ("adk-py-2", 2)])
def test_a_replaced_chunk_is_partial_only_where_it_inherits_that(profile, kept):
    chunks = [
        LlmResponse(content=text_content("model", "a"), partial=True),
        LlmResponse(content=text_content("model", "ab")),
    ]
    agent = LlmAgent(
        name="clerk",
        model=ScriptedModel(chunks),
        after_model=lambda _, r: as_response(text_of(r).upper()),
    )
    runner = runner_of(agent, profile=profile)

    asyncio.run(run(runner, stream=True))

    assert len(asyncio.run(stored(runner)).events) == kept


def test_a_replaced_failure_is_none_any_more_and_its_cost_stays():
    failed = LlmResponse(error_code="429", usage=Usage(total=5))
    agent = LlmAgent(
        name="clerk",
        model=ScriptedModel(failed),
        after_model=lambda *_: as_response("sorry"),
    )

    events = asyncio.run(run(runner_of(agent, profile="adk-py-2")))

    assert [each.error_code for each in events] == [""]
    assert events[0].usage == Usage(total=5)


def test_state_that_hooks_write_is_read_by_later_ones_and_stored_with_the_event():
    def count(ctx, *_):
        ctx.state["n"] = ctx.state.get("n", 0) + 1
        ctx.state["temp:n"] = ctx.state["n"]

    agent = LlmAgent(
        name="clerk",
        model=ScriptedModel("ok"),
        before_model=[count, count],
        after_model=count,
    )
    runner = runner_of(agent)

    events = asyncio.run(run(runner))

    assert events[0].actions.state_delta == {"n": 3}
    session = asyncio.run(stored(runner))
    assert session.state == {"n": 3}
    assert session.events[-1].actions.state_delta == {"n": 3}


@pytest.mark.parametrize(
    ("profile", "state"), [("adk-py-1", {}), ("adk-py-2", {"n": 1})]
)
def test_state_of_a_plugins_after_model_hook_is_lost_in_one_version(profile, state):
    def write(ctx, _):
        ctx.state["n"] = 1

    plugin = Plugin(name="p", after_model=write)
    agent = LlmAgent(name="clerk", model=ScriptedModel("ok"))
    runner = runner_of(agent, plugin, profile=profile)

    asyncio.run(run(runner))

    assert asyncio.run(stored(runner)).state == state


@pytest.mark.parametrize(
    ("profile", "kept"), [("adk-go-0.4", {}), ("adk-py-2", {"f": 0})]
)
def test_artifacts_of_model_hooks_are_in_the_delta_or_dropped(profile, kept):
    async def save(ctx, _):
        await ctx.save_artifact("f", text_content("user", "x").parts[0])

    agent = LlmAgent(name="clerk", model=ScriptedModel("ok"), before_model=save)
    runner = runner_of(agent, profile=profile)

    events = asyncio.run(run(runner))

    assert events[0].actions.artifact_delta == kept


@pytest.mark.parametrize(
    ("profile", "seen"), [("adk-go-0.4", ""), ("adk-go-2", "adk-")]
)
def test_calls_without_an_id_are_given_one_before_or_behind_the_hooks(profile, seen):
    ids = []
    bare = Content("model", (Part(call=FunctionCall("f")),))
    model = ScriptedModel(bare, "ok")
    agent = LlmAgent(
        name="clerk",
        model=model,
        tools=[tool("f")],
        after_model=lambda _, r: ids.extend(ids_of(r)),
    )
    runner = runner_of(agent, profile=profile)

    events = asyncio.run(run(runner))

    assert ids == [seen]
    assert events[0].calls[0].id.startswith("adk-")
    assert events[1].responses[0].id == events[0].calls[0].id
    assert model.contents[1][-1].responses[0].id == ""


def test_a_plugins_error_leaves_as_it_is_or_wrapped():
    for profile, kind in [("adk-go-0.4", KeyError), ("adk-py-2", PluginCallbackError)]:
        told, _ = played(
            ScriptedModel("x"),
            plugin=[("before_model", KeyError("k"))],
            profile=profile,
        )

        assert isinstance(told, kind)
    assert isinstance(told.__cause__, KeyError)
    assert "plugin 'p' during 'before_model'" in str(told)


def test_a_callback_that_gives_something_else_is_named():
    told, _ = played(ScriptedModel("x"), agent=[("after_model", [None, "text"])])

    assert isinstance(told, CallbackReturnError)
    assert str(told) == (
        "agent 'clerk', callback 1, after_model: gave back 'text' (str);"
        " give LlmResponse or None"
    )


def test_an_agent_without_a_model_is_named():
    runner = runner_of(LlmAgent(name="clerk"))

    with pytest.raises(ModelMissingError, match="agent 'clerk': model not configured"):
        asyncio.run(run(runner))


def test_a_model_that_gives_no_response_is_named():
    class Bad:
        name = "bad"

        async def generate(self, request, *, stream):
            yield "text"

    runner = runner_of(LlmAgent(name="clerk", model=Bad()))

    with pytest.raises(ModelGaveNothingError, match="'text' \\(str\\)"):
        asyncio.run(run(runner))


def test_model_calls_of_one_invocation_have_a_limit_in_some_versions():
    model = ScriptedModel(calls("f"), calls("f"))
    agent = LlmAgent(name="clerk", model=model, tools=[tool("f")])

    def nearly(ctx):
        ctx.invocation.model_calls = 499

    runner = runner_of(agent, Plugin(name="p", before_run=nearly), profile="adk-py-2")

    with pytest.raises(ModelCallsExceededError, match="more than 500 model calls"):
        asyncio.run(run(runner))

    assert len(model.requests) == 1
