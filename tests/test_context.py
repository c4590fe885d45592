"""The context: immutable, threaded forward, its place in a run never lost."""

import pytest

from refengine.context import (
    BLOCK,
    Context,
    delete_run_local,
    get_run_local,
    lay_over,
    set_run_local,
)
from refengine.errors import NoRunLocalError
from refengine.tools import ToolCallResult, ToolInfo
from tests.support import DONE, USER, Model, Whole, build, calls, finish, play, run


class Named:
    """A handler that the test gives its hooks."""

    def __init__(self, **hooks):
        self.name = "named"
        self.hooks = frozenset(hooks)
        for hook, method in hooks.items():
            setattr(self, hook, method)


def test_a_value_is_added_and_the_older_context_stays_as_it_was():
    older = Context({"a": 1})
    newer = older.with_value("b", 2)

    assert (newer.get("a"), newer.get("b")) == (1, 2)
    assert older.get("b") is None


def test_the_newest_value_of_a_key_counts():
    ctx = Context().with_value("k", 1).with_value("k", 2)

    assert ctx.get("k") == 2
    assert list(ctx.items()) == [("k", 2)]


def test_a_value_of_none_is_a_value():
    assert Context().with_value("k", None).get("k", "default") is None
    assert Context().get("k", "default") == "default"


def test_a_context_does_not_follow_the_mapping_it_was_made_from():
    given = {"a": 1}
    ctx = Context(given)
    given["a"] = 2

    assert ctx.get("a") == 1


@pytest.mark.parametrize("many", [BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 10_000])
def test_any_number_of_values_is_kept(many):
    ctx = Context()
    for n in range(many):
        ctx = ctx.with_value(f"k{n}", n)

    assert [ctx.get(f"k{n}") for n in range(many)] == list(range(many))
    assert len(dict(ctx.items())) == many


def test_a_key_written_again_in_a_later_block_is_seen_once_with_its_last_value():
    ctx = Context().with_value("k", "old")
    for n in range(2 * BLOCK):
        ctx = ctx.with_value(f"k{n}", n)
    ctx = ctx.with_value("k", "new")

    assert ctx.get("k") == "new"
    assert [value for key, value in ctx.items() if key == "k"] == ["new"]


def test_values_that_are_laid_over_win():
    base = Context({"a": 1, "b": 1})
    laid = lay_over(base, Context({"b": 2, "c": 2}))

    assert dict(laid.items()) == {"a": 1, "b": 2, "c": 2}
    assert lay_over(base, None) is base


def test_all_values_of_a_long_context_are_laid_over():
    over = Context()
    for n in range(3 * BLOCK):
        over = over.with_value(f"k{n % BLOCK}", n)
    laid = lay_over(Context({"k0": "base", "own": 0}), over)

    assert dict(laid.items()) == {"own": 0, **dict(over.items())}


def test_run_local_values_outside_a_run_are_refused():
    for use in (get_run_local, delete_run_local):
        with pytest.raises(NoRunLocalError):
            use(Context(), "k")
    with pytest.raises(NoRunLocalError):
        set_run_local(Context(), "k", 1)


def test_a_run_local_value_outlives_the_context_it_was_set_in():
    seen = []

    def before(ctx, messages):
        seen.append(get_run_local(ctx, "n", 0))
        set_run_local(ctx, "n", seen[-1] + 1)
        return Context(), messages

    play(
        Named(before_model_rewrite_history=before),
        model=Model(calls("t"), DONE),
        tools=[Whole()],
    )

    assert seen == [0, 1]


def test_two_runs_share_no_run_local_value():
    seen = []

    def before(ctx, messages):
        seen.append(get_run_local(ctx, "n"))
        set_run_local(ctx, "n", 1)
        return ctx, messages

    async def run_twice():
        model = Model(DONE, DONE)
        agent = await build(Named(before_model_rewrite_history=before), model=model)
        await finish(agent)
        await finish(agent)

    run(run_twice())

    assert seen == [None, None]


def test_a_deleted_run_local_value_is_gone():
    seen = []

    def before(ctx, messages):
        set_run_local(ctx, "k", 1)
        delete_run_local(ctx, "k")
        delete_run_local(ctx, "k")
        seen.append(get_run_local(ctx, "k", "none"))
        return ctx, messages

    play(Named(before_model_rewrite_history=before))

    assert seen == ["none"]


def test_before_agent_s_context_reaches_every_run_and_a_run_s_own_wins():
    def before_agent(ctx, config):
        return ctx.with_value("a", "built").with_value("b", "built")

    async def run_twice():
        model = Model(DONE, DONE)
        agent = await build(Named(before_agent=before_agent), model=model)
        await finish(agent, ctx=Context({"b": "run"}))
        await finish(agent)
        return [(ctx.get("a"), ctx.get("b")) for ctx in model.contexts]

    assert run(run_twice()) == [("built", "run"), ("built", "built")]


def test_before_model_s_context_reaches_this_iteration_s_tools_and_no_further():
    def before(ctx, messages):
        return ctx.with_value("seen", ctx.get("seen", 0) + 1), messages

    tool = Whole()
    model = Model(calls("t"), calls("t"), DONE)
    play(Named(before_model_rewrite_history=before), model=model, tools=[tool])

    assert [ctx.get("seen") for ctx in model.contexts] == [1, 1, 1]
    assert [ctx.get("seen") for ctx in tool.contexts] == [1, 1]


def test_call_id_and_run_path_survive_a_wrapper_that_hands_on_another_context():
    async def wrap(ctx, input, next):
        return await next(Context({"k": 1}), input)

    tool = Whole()
    play(
        Named(wrap_invokable_tool_call=wrap),
        model=Model(calls("t"), DONE),
        tools=[tool],
    )
    (ctx,) = tool.contexts

    assert (ctx.run_path, ctx.tool_call_id, ctx.get("k")) == (("agent",), "c0", 1)


def test_an_agent_inside_a_tool_extends_the_run_path_of_the_agent_around_it():
    inner_model = Model(DONE)

    class Inner:
        """A tool that runs an agent."""

        info = ToolInfo("t")

        async def invoke(self, ctx, arguments, options):
            agent = await build(model=inner_model)
            async with agent.run((USER,), ctx=ctx) as started:
                paths = [event.run_path async for event in started]
            return str(paths)

    result = play(model=Model(calls("t"), DONE), tools=[Inner()])

    assert [ctx.run_path for ctx in inner_model.contexts] == [("agent", "agent")]
    assert inner_model.contexts[0].tool_call_id is None
    assert "[('agent', 'agent')]" in [each.content for each in result.messages]


def test_a_wrapper_sees_the_context_of_the_one_around_it():
    seen = []

    async def outer(ctx, input, next):
        return await next(ctx.with_value("k", "outer"), input)

    async def inner(ctx, input, next):
        seen.append(ctx.get("k"))
        return ToolCallResult("short")

    play(
        Named(wrap_invokable_tool_call=outer),
        Named(wrap_invokable_tool_call=inner),
        model=Model(calls("t"), DONE),
        tools=[Whole()],
    )

    assert seen == ["outer"]
