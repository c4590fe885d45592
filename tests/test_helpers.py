"""Handlers made by a function call: what they do, and what they refuse."""

import asyncio
import logging
from typing import Any

import pytest

from refengine import helpers
from refengine.context import Context
from refengine.errors import (
    HandlerArgumentError,
    HookError,
    HookReturnError,
    NotAsyncError,
    ToolError,
    ToolKindError,
    UnknownToolNameError,
)
from refengine.helpers import (
    with_after_model_rewrite_history,
    with_before_agent,
    with_before_model_rewrite_history,
    with_global_tool_wrapper,
    with_instruction,
    with_instruction_func,
    with_invokable_tool_wrapper,
    with_remove_tools,
    with_return_directly_on,
    with_streamable_tool_wrapper,
    with_tool_call_logging,
    with_tools,
    with_tools_func,
)
from refengine.hooks import AgentConfig, hooks_of
from refengine.messages import Message
from refengine.profile import EINO_0_8, SEED_001
from refengine.stream import convert_stream
from refengine.tools import (
    StreamToolCallResult,
    ToolCallResult,
    ToolInfo,
    ToolMeta,
    ToolMiddleware,
    ToolsConfig,
)
from tests.support import (
    DONE,
    USER,
    Model,
    Pieces,
    Whole,
    build,
    calls,
    finish,
    play,
    run,
    tool_texts,
)


async def wrap(ctx, input, next):
    return await next(ctx, input)


def keep(ctx, value):
    return ctx, value


ONE_OF_EACH = {
    "with_instruction": lambda: with_instruction("x"),
    "with_instruction_func": lambda: with_instruction_func(keep),
    "with_tools": lambda: with_tools(Whole()),
    "with_tools_func": lambda: with_tools_func(keep),
    "with_before_agent": lambda: with_before_agent(lambda ctx, _: ctx),
    "with_before_model_rewrite_history": lambda: with_before_model_rewrite_history(
        keep
    ),
    "with_after_model_rewrite_history": lambda: with_after_model_rewrite_history(keep),
    "with_invokable_tool_wrapper": lambda: with_invokable_tool_wrapper(wrap),
    "with_streamable_tool_wrapper": lambda: with_streamable_tool_wrapper(wrap),
    "with_global_tool_wrapper": lambda: with_global_tool_wrapper(invokable=wrap),
    "with_remove_tools": lambda: with_remove_tools("gone"),
    "with_return_directly_on": lambda: with_return_directly_on("t"),
    "with_tool_call_logging": lambda: with_tool_call_logging(logging.getLogger("t")),
}


def model_after(*handlers, **made_of):
    """Return the model of an agent of these handlers, after one run."""
    model = made_of.setdefault("model", Model(DONE))
    play(*handlers, **made_of)
    return model


def cause_of(*handlers, **made_of):
    """Return what the hook raised that stopped the build."""
    with pytest.raises(HookError) as caught:
        play(*handlers, **made_of)
    return caught.value.cause


# All of them


def test_every_helper_stands_in_this_test():
    assert {name for name in vars(helpers) if name.startswith("with_")} == set(
        ONE_OF_EACH
    )


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_helper_s_handler_has_its_name_and_some_hooks(name):
    handler = ONE_OF_EACH[name]()

    assert handler.name == name
    assert set(hooks_of(handler, set())[1]) == handler.hooks != frozenset()


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_helper_s_handler_cannot_be_changed(name):
    with pytest.raises(AttributeError):
        setattr(ONE_OF_EACH[name](), "name", "another")  # noqa: B010  # checkers see it


def test_all_helpers_together_make_an_agent_that_runs():
    result = play(
        *(make() for make in ONE_OF_EACH.values()),
        model=Model(calls("t"), DONE),
        tools=[Whole()],
    )

    assert result.status == "returned_directly"


@pytest.mark.parametrize("profile", [SEED_001, EINO_0_8], ids=lambda p: p.name)
def test_nothing_accumulates_over_runs_and_agents(profile):
    handlers = [
        with_instruction("x"),
        with_tools(Whole("extra")),
        with_remove_tools("t"),
    ]
    models = [Model(DONE, DONE) for _ in range(2)]

    async def run_all():
        for model in models:
            agent = await build(
                *handlers,
                model=model,
                tools=[Whole()],
                profile=profile,
                instruction="i",
            )
            await asyncio.gather(finish(agent), finish(agent))

    run(run_all())
    requests = [request for model in models for request in model.requests]

    assert [request.messages[0].content for request in requests] == ["i\nx"] * 4
    assert [[t.name for t in request.tools] for request in requests] == [["extra"]] * 4


# Instruction


@pytest.mark.parametrize(
    ("base", "texts", "expected"),
    [
        ("base", ["a"], "base\na"),
        ("base", ["a", "b"], "base\na\nb"),
        ("", ["a"], "a"),
        ("", ["a", "b"], "a\nb"),
        ("base", [""], "base"),
        ("", ["", "a"], "a"),
        ("base\n", ["\na"], "base\n\n\na"),
    ],
)
def test_with_instruction_joins_with_one_newline_and_skips_what_is_empty(
    base, texts, expected
):
    model = model_after(*map(with_instruction, texts), instruction=base)

    assert model.instruction == expected


@pytest.mark.parametrize("text", [None, 3, b"text", ["text"]])
def test_with_instruction_takes_a_text(text):
    with pytest.raises(HandlerArgumentError, match="give a text"):
        with_instruction(text)


def test_with_instruction_func_replaces_the_instruction():
    model = model_after(
        with_instruction("a"),
        with_instruction_func(lambda ctx, text: (ctx, f"before {text}")),
        with_instruction("b"),
        instruction="base",
    )

    assert model.instruction == "before base\na\nb"


def test_with_instruction_func_may_be_async_and_hands_its_context_on():
    async def shout(ctx, instruction):
        return ctx.with_value("k", 1), instruction.upper()

    model = model_after(with_instruction_func(shout), instruction="base")

    assert model.instruction == "BASE"
    assert model.contexts[0].get("k") == 1


@pytest.mark.parametrize("wrong", [None, "text", (None, "text"), "ab", ("ctx", "text")])
def test_with_instruction_func_is_told_what_to_return(wrong):
    cause = cause_of(with_instruction_func(lambda *_: wrong))

    assert isinstance(cause, HookReturnError)
    assert cause.handler == "with_instruction_func"
    assert "a pair (context, instruction)" in str(cause)


def test_with_instruction_func_s_instruction_is_a_text():
    cause = cause_of(with_instruction_func(lambda ctx, _: (ctx, None)))

    assert isinstance(cause, HookReturnError)


# Tools


def test_with_tools_adds_behind_and_the_last_tool_of_a_name_runs():
    old, new = Whole("t"), Whole("t")
    model = model_after(
        with_tools(Whole("a"), ToolMeta(Whole("b"))),
        with_tools(new),
        tools=[old],
        model=Model(calls("t"), DONE),
    )

    assert model.shown == ["t", "a", "b"]
    assert (old.count, new.count) == (0, 1)


def test_with_tools_keeps_a_return_directly_that_is_set():
    result = play(
        with_tools(ToolMeta(Whole(), return_directly=True)), model=Model(calls("t"))
    )

    assert result.status == "returned_directly"


def test_with_tools_extends_the_list_it_finds():
    tools = [ToolMeta(Whole("a"))]
    config = AgentConfig("", tools)
    add: Any = with_tools(Whole("b")).before_agent
    add(Context(), config)

    assert config.tools is tools
    assert [meta.name for meta in tools] == ["a", "b"]


def test_with_tools_needs_a_tool():
    with pytest.raises(HandlerArgumentError, match="give at least one tool"):
        with_tools()


class WithoutInstance:
    """A tool's class, given where a tool is wanted."""

    info = ToolInfo("t")

    async def invoke(self, ctx, arguments, options):
        raise NotImplementedError


@pytest.mark.parametrize("wrong", ["search", None, [Whole()], WithoutInstance, wrap])
def test_with_tools_takes_tools(wrong):
    with pytest.raises(HandlerArgumentError, match="give tools, which have an info"):
        with_tools(wrong)


def test_with_tools_refuses_a_tool_that_can_do_nothing():
    class Inert:
        info = ToolInfo("inert")

    with pytest.raises(ToolKindError, match="inert"):
        with_tools(Inert())


def test_with_tools_func_s_result_is_the_whole_set():
    def keep_first(ctx, tools):
        return ctx, tools[:1]

    model = model_after(with_tools_func(keep_first), tools=[Whole("a"), Whole("b")])

    assert model.shown == ["a"]


def test_with_tools_func_may_change_the_list_in_place_and_give_tools_as_they_are():
    async def add(ctx, tools):
        tools.append(Whole("b"))
        return ctx, (*tools, Whole("c"))

    model = model_after(with_tools_func(add), tools=[Whole("a")])

    assert model.shown == ["a", "b", "c"]


@pytest.mark.parametrize("wrong", [None, [], (None, []), ("ctx", [])])
def test_with_tools_func_is_told_what_to_return(wrong):
    cause = cause_of(with_tools_func(lambda *_: wrong))

    assert isinstance(cause, HookReturnError)
    assert "a pair (context, list of tools)" in str(cause)


def test_with_remove_tools_removes_and_the_tool_is_unknown():
    model = model_after(with_remove_tools("a", "c"), tools=[Whole(n) for n in "abc"])

    assert model.shown == ["b"]


def test_with_remove_tools_may_remove_all():
    assert model_after(with_remove_tools("a"), tools=[Whole("a")]).shown == []


def test_with_remove_tools_leaves_a_name_that_is_not_there():
    assert model_after(with_remove_tools("b"), tools=[Whole("a")]).shown == ["a"]


def test_with_remove_tools_does_not_reach_what_is_added_later():
    model = model_after(with_remove_tools("a"), with_tools(Whole("a")))

    assert model.shown == ["a"]


@pytest.mark.parametrize(
    "name", ["Delete_all", "delete-all", "deleteall", " delete_all"]
)
def test_with_remove_tools_refuses_another_spelling_of_a_tool_s_name(name):
    cause = cause_of(with_remove_tools("other", name), tools=[Whole("delete_all")])

    assert isinstance(cause, UnknownToolNameError)
    assert cause.names == (name,)
    assert "did you mean 'delete_all'?" in str(cause)


def test_with_return_directly_on_ends_the_run_with_the_tool_s_result():
    result = play(
        with_return_directly_on("b"),
        model=Model(calls("a"), calls("b")),
        tools=[Whole("a"), Whole("b")],
    )

    assert result.status == "returned_directly"
    assert result.answer == Message("tool", "b(x)", tool_call_id="c0", name="b")


def test_with_return_directly_on_refuses_a_name_that_is_not_there():
    cause = cause_of(with_return_directly_on("serach"), tools=[Whole("search")])

    assert isinstance(cause, UnknownToolNameError)
    assert str(cause) == (
        "with_return_directly_on: no tool is named ['serach'];"
        " did you mean 'search'? at this position there are ['search']"
    )


@pytest.mark.parametrize("helper", [with_remove_tools, with_return_directly_on])
def test_names_are_texts_and_at_least_one(helper):
    for wrong in ([], [["a"]], ["a", None]):
        with pytest.raises(HandlerArgumentError, match="give a list of tools' names"):
            helper(*wrong)


# Hooks as they are


def test_with_before_agent_changes_the_configuration():
    async def change(ctx, config):
        config.instruction = "changed"
        config.tools = []
        return ctx.with_value("k", 1)

    model = model_after(with_before_agent(change), tools=[Whole()], instruction="base")

    assert (model.instruction, model.shown) == ("changed", [])
    assert model.contexts[0].get("k") == 1


def test_the_history_helpers_rewrite_before_and_after_the_model():
    answer = Message("assistant", "rewritten")
    model = Model(DONE)
    result = play(
        with_before_model_rewrite_history(lambda ctx, messages: (ctx, messages[1:])),
        with_after_model_rewrite_history(lambda ctx, messages: (ctx, [USER, answer])),
        model=model,
        instruction="dropped",
    )

    assert model.requests[0].messages == (USER,)
    assert result.messages == [USER, answer]
    assert result.answer is answer


TAKE_A_FUNCTION = [
    with_instruction_func,
    with_tools_func,
    with_before_agent,
    with_before_model_rewrite_history,
    with_after_model_rewrite_history,
    with_invokable_tool_wrapper,
    with_streamable_tool_wrapper,
]


@pytest.mark.parametrize("helper", TAKE_A_FUNCTION)
@pytest.mark.parametrize("wrong", [None, "text", with_instruction("x")])
def test_what_is_no_function_is_refused_by_the_helper_s_name(helper, wrong):
    with pytest.raises(HandlerArgumentError, match=f"^{helper.__name__} got "):
        helper(wrong)


@pytest.mark.parametrize("helper", TAKE_A_FUNCTION[-2:])
def test_a_wrapper_is_async(helper):
    with pytest.raises(
        NotAsyncError, match=f"^keep of '{helper.__name__}' is not async"
    ):
        helper(keep)


# Tool wrappers


async def shout_whole(ctx, input, next):
    result = await next(ctx, input)
    return ToolCallResult(result.result.upper())


async def shout_pieces(ctx, input, next):
    opened = await next(ctx, input)
    return StreamToolCallResult(convert_stream(opened.result, str.upper))


def both_kinds():
    model = Model(calls("whole", "pieces"), DONE)
    return {"model": model, "tools": [Whole("whole"), Pieces("pieces")], "stream": True}


@pytest.mark.parametrize(
    ("handler", "texts"),
    [
        (with_invokable_tool_wrapper(shout_whole), ["WHOLE(X)", "abc"]),
        (with_streamable_tool_wrapper(shout_pieces), ["whole(x)", "ABC"]),
        (with_global_tool_wrapper(invokable=shout_whole), ["WHOLE(X)", "abc"]),
        (with_global_tool_wrapper(streamable=shout_pieces), ["whole(x)", "ABC"]),
        (
            with_global_tool_wrapper(invokable=shout_whole, streamable=shout_pieces),
            ["WHOLE(X)", "ABC"],
        ),
    ],
)
def test_a_tool_wrapper_wraps_the_calls_of_its_kind(handler, texts):
    assert tool_texts(play(handler, **both_kinds())) == texts


def as_factory(wrapper):
    def factory(inner):
        async def outer(ctx, input):
            return await wrapper(ctx, input, inner)

        return outer

    return factory


def test_a_tool_middleware_does_the_same_as_a_handler_where_it_stood_before():
    middleware = ToolMiddleware(as_factory(shout_whole), as_factory(shout_pieces))
    made_of = both_kinds()
    tools = made_of.pop("tools")
    config = ToolsConfig(tools, tool_call_middlewares=[middleware])
    before = play(tools_config=config, **made_of)
    after = play(with_global_tool_wrapper(middleware), **both_kinds())

    assert tool_texts(after) == tool_texts(before) == ["WHOLE(X)", "ABC"]


def test_a_tool_middleware_of_one_kind_gives_a_handler_of_one_kind():
    handler = with_global_tool_wrapper(ToolMiddleware(as_factory(shout_whole)))

    assert handler.hooks == {"wrap_invokable_tool_call"}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ([], {}),
        ([ToolMiddleware()], {}),
        ([wrap], {}),
        ([ToolMiddleware(as_factory(wrap))], {"invokable": wrap}),
        ([], {"streamable": "text"}),
    ],
)
def test_with_global_tool_wrapper_takes_wrappers_or_one_middleware(given, named):
    with pytest.raises(HandlerArgumentError, match=r"^with_global_tool_wrapper got "):
        with_global_tool_wrapper(*given, **named)


def test_with_global_tool_wrapper_takes_async_wrappers():
    with pytest.raises(NotAsyncError):
        with_global_tool_wrapper(invokable=wrap, streamable=keep)


# Logging


LOGGER = logging.getLogger("refengine.tests")


def logged(caplog, *handlers, level=logging.INFO, **made_of):
    """Return what was logged in a run, as (level, message) pairs."""
    with caplog.at_level(level, LOGGER.name):
        play(*handlers, with_tool_call_logging(LOGGER), **made_of)
    return [(record.levelname, record.message) for record in caplog.records]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("tool", [Whole, Pieces])
def test_start_and_end_of_a_tool_call_are_logged(caplog, tool, stream):
    model = Model(calls("t"), DONE)

    assert logged(caplog, model=model, tools=[tool()], stream=stream) == [
        ("INFO", "tool t (call c0) starts"),
        ("INFO", "tool t (call c0) ended"),
    ]


def test_arguments_and_results_are_logged_at_debug_only(caplog):
    lines = logged(
        caplog, model=Model(calls("t"), DONE), tools=[Whole()], level=logging.DEBUG
    )

    assert ("DEBUG", "tool t (call c0) arguments: x") in lines
    assert ("DEBUG", "tool t (call c0) result: t(x)") in lines


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("tool", [Whole, Pieces])
def test_a_tool_s_error_is_logged_and_passes_unchanged(caplog, tool, stream):
    error = OSError("disk full")

    with pytest.raises(ToolError) as caught:
        logged(
            caplog,
            model=Model(calls("t"), DONE),
            tools=[tool(fails=error)],
            stream=stream,
        )

    assert caught.value.cause is error
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("INFO", "tool t (call c0) starts"),
        ("ERROR", "tool t (call c0) failed: OSError: disk full"),
    ]


def test_with_tool_call_logging_takes_a_logger():
    with pytest.raises(HandlerArgumentError, match=r"give a logging\.Logger"):
        with_tool_call_logging("refengine")
