"""Adapters: one interface in another's place, and what is refused by name."""

import asyncio
from types import SimpleNamespace

import pytest

from compat.adapters import (
    AdaptedMiddleware,
    ChangedContextError,
    NoCapabilityError,
    NoStructError,
    NotCarriedError,
    adapt,
    handler_of,
    middlewares_of,
    tool_middleware_of,
)
from compat.adapters.state import Lent
from compat.engines.adapted import AdaptedEngine
from refengine import (
    AgentMiddleware,
    Message,
    MixedExtensionsWarning,
    ToolMeta,
    ToolMiddleware,
    with_after_model_rewrite_history,
    with_before_agent,
    with_before_model_rewrite_history,
    with_instruction,
    with_invokable_tool_wrapper,
    with_tools,
)
from refengine.context import Context
from refengine.errors import HookError, HookReturnError, NotAToolError
from refengine.profile import EINO_0_9, EINO_DRAFT, PROFILES, SEED_001, choosing
from refengine.testing import ReferenceEngine
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

N = 10_000
each_profile = pytest.mark.parametrize("under", PROFILES, ids=lambda each: each.name)
both_ways = pytest.mark.parametrize("adapted", [False, True], ids=["struct", "adapted"])


def played(structs, *, adapted, profile=SEED_001, **made_of):
    """Run an agent of these structs once, natively or adapted."""
    profile = choosing(profile, "struct_middleware", "supported")  # no warnings
    if adapted:
        return play(*adapt(structs, profile), profile=profile, **made_of)
    return play(middlewares=structs, profile=profile, **made_of)


def noting(seen):
    def note(ctx, state):
        seen.append(state)

    return note


def appending(text):
    def append(ctx, state):
        state.messages.append(Message("user", text))

    return append


async def identity(ctx, input, next):
    return await next(ctx, input)


# What an adapted struct is


def test_names_count_through_the_list() -> None:
    made = adapt([AgentMiddleware(), AgentMiddleware(additional_instruction="x")])

    assert [each.name for each in made] == [
        "legacy-middleware[0]",
        "legacy-middleware[1]",
    ]


@pytest.mark.parametrize(
    ("struct", "hooks"),
    [
        ({"additional_instruction": "x"}, {"before_agent"}),
        ({"additional_tools": [Whole()]}, {"before_agent"}),
        ({"before_chat_model": noting([])}, {"before_model_rewrite_history"}),
        ({"after_chat_model": noting([])}, {"after_model_rewrite_history"}),
        ({"wrap_tool_call": ToolMiddleware(lambda inner: inner)}, {"bind_tool"}),
        ({"wrap_tool_call": ToolMiddleware(None, lambda inner: inner)}, {"bind_tool"}),
        ({}, {"before_agent"}),
    ],
)
def test_a_handler_has_the_hooks_that_the_struct_has_fields_for(struct, hooks) -> None:
    [made] = adapt([AgentMiddleware(**struct)], EINO_DRAFT)

    assert made.hooks == hooks


def test_an_empty_addition_is_a_hook_where_it_still_brings_its_separator() -> None:
    struct = AgentMiddleware(before_chat_model=noting([]))
    [kept], [skipped] = adapt([struct], SEED_001), adapt([struct], EINO_0_9)

    assert kept.hooks - skipped.hooks == {"before_agent"}


@each_profile
def test_a_struct_with_nothing_builds_and_runs(under) -> None:
    result = played([AgentMiddleware()], adapted=True, profile=under)

    assert result.answer == DONE


def test_the_same_struct_may_stand_twice() -> None:
    struct, model = AgentMiddleware(additional_instruction="x"), Model(DONE)
    played([struct, struct], adapted=True, model=model, instruction="base")

    assert model.instruction == "base\nx\nx"


def test_something_else_than_a_struct_is_refused_with_its_place() -> None:
    with pytest.raises(NoStructError, match=r"middlewares\[1\].*handlers=") as caught:
        adapt([AgentMiddleware(), with_instruction("x")])
    assert caught.value.position == 1


@both_ways
def test_a_tool_that_is_none_is_refused_at_build(adapted) -> None:
    with pytest.raises(NotAToolError):
        played([AgentMiddleware(additional_tools=["t"])], adapted=adapted)


def test_both_lists_are_used_no_more() -> None:
    struct = AgentMiddleware(additional_instruction="x")

    with pytest.warns(MixedExtensionsWarning):
        play(with_instruction("y"), middlewares=[struct])
    play(*adapt([struct]), with_instruction("y"))  # a warning would be an error


# The state object


@both_ways
@pytest.mark.parametrize(
    ("under", "same"),
    [(SEED_001, "ab|cd"), (EINO_0_9, "abcd"), (EINO_DRAFT, "a|b|c|d")],
    ids=lambda each: getattr(each, "name", each),
)
def test_hooks_share_the_state_object_that_the_profile_says(
    adapted, under, same
) -> None:
    seen = []
    struct = AgentMiddleware(
        before_chat_model=noting(seen), after_chat_model=noting(seen)
    )
    played([struct, struct], adapted=adapted, profile=under)
    groups = [
        f"|{name}" if at and seen[at] is not seen[at - 1] else name
        for at, name in enumerate("abcd")
    ]

    assert "".join(groups) == same


def test_a_history_is_copied_once_a_pass() -> None:
    """Ten hooks look at one list; only then is it made immutable."""
    lists = []

    def note(ctx, state):
        lists.append(state.messages)

    structs = [AgentMiddleware(before_chat_model=note)] * 10
    handed = []

    def rewrite(ctx, messages):
        handed.append(type(messages))
        return ctx, messages

    play(*adapt(structs), with_before_model_rewrite_history(rewrite))

    assert all(each is lists[0] for each in lists)
    assert handed == [tuple]


def pair():
    """Return two adapted structs; each appends its number."""
    return adapt([AgentMiddleware(before_chat_model=appending(n)) for n in "13"])


def test_a_handler_between_two_adapted_ones_is_heard() -> None:
    first, last = pair()
    seen = []

    def between(ctx, messages):
        seen.append((type(messages), [each.content for each in messages[-2:]]))
        return ctx, [*messages, Message("user", "2")]

    model = Model(DONE)
    play(first, with_before_model_rewrite_history(between), last, model=model)

    assert [m.content for m in model.requests[0].messages] == ["\n\n", "hi", *"123"]
    assert seen == [(Lent, ["hi", "1"])]


def test_a_handler_that_drops_the_context_does_not_lose_messages() -> None:
    first, last = pair()
    dropping = with_before_model_rewrite_history(lambda _, m: (Context(), m))
    model = Model(DONE)
    play(first, dropping, last, model=model)

    assert [m.content for m in model.requests[0].messages][-2:] == ["1", "3"]


def test_two_adapted_lists_share_no_state() -> None:
    seen = []
    struct = AgentMiddleware(before_chat_model=noting(seen))
    play(*adapt([struct]), *adapt([struct]))

    assert seen[0] is not seen[1]


def test_many_runs_of_one_agent_never_mix_their_states() -> None:
    """Each hook waits between reading and writing, so all runs stand in it at once."""

    async def slow(ctx, state):
        before = list(state.messages)
        for _ in range(3):
            await asyncio.sleep(0)
        assert state.messages == before
        state.messages.append(Message("user", state.messages[1].content + "!"))

    async def interleaved():
        struct = AgentMiddleware(before_chat_model=slow, after_chat_model=None)
        model = Model(*[DONE] * 50)
        agent = await build(*adapt([struct] * 3), model=model)
        given = [[Message("user", str(at))] for at in range(50)]
        results = await asyncio.gather(*(finish(agent, each) for each in given))
        return [[m.content for m in result.messages] for result in results]

    for at, contents in enumerate(run(interleaved())):
        assert contents == ["\n\n\n", str(at), *[f"{at}!"] * 3, "done"]


# What goes wrong


@both_ways
@each_profile
@pytest.mark.parametrize("field", ["before_chat_model", "after_chat_model"])
@pytest.mark.parametrize(
    "hook",
    [
        lambda ctx, state: state.messages,
        lambda ctx, state: (ctx, state.messages),
        lambda ctx, state: setattr(state, "messages", None),
        lambda ctx, state: setattr(state, "messages", "text"),
        lambda ctx, state: setattr(state, "messages", [1, 2]),
    ],
)
def test_a_hook_that_gets_it_wrong_is_blamed_by_its_field(
    adapted, under, field, hook
) -> None:
    with pytest.raises(HookReturnError) as caught:
        played([AgentMiddleware(**{field: hook})], adapted=adapted, profile=under)
    assert caught.value.hook == field


@both_ways
@pytest.mark.parametrize("field", ["before_chat_model", "after_chat_model"])
def test_an_error_tells_the_field_and_the_place(adapted, field) -> None:
    def fail(ctx, state):
        raise OSError("x")

    structs = [AgentMiddleware(), AgentMiddleware(**{field: fail})]
    with pytest.raises(HookError) as caught:
        played(structs, adapted=adapted)
    error = caught.value
    assert (error.hook, error.position) == (field, 1)
    assert error.handler == ("legacy-middleware[1]" if adapted else "middleware[1]")
    assert isinstance(error.cause, OSError)


# Tools


@both_ways
def test_a_factory_is_called_once_a_tool_and_kind(adapted) -> None:
    made = []

    def factory(inner):
        made.append(inner)
        return inner

    struct = AgentMiddleware(wrap_tool_call=ToolMiddleware(factory, factory))
    model = Model(calls("a", "b"), calls("a", "b"), DONE)
    tools = [Whole("a"), Pieces("b")]
    result = played([struct], adapted=adapted, model=model, tools=tools)

    assert len(made) == 2
    assert tool_texts(result) == ["a(x)", "abc"] * 2


def test_a_struct_that_wraps_no_tools_is_no_layer() -> None:
    structs = [AgentMiddleware(additional_instruction="x", after_chat_model=noting([]))]
    text = run(build(*adapt(structs), tools=[Whole()])).explain()

    assert "around an invokable tool, outermost first: nobody" in text
    assert "legacy-middleware[0] · after_chat_model" in text
    assert "legacy-middleware[0] · additional_instruction" in text


def test_a_kind_that_is_not_wrapped_adds_no_layer() -> None:
    struct = AgentMiddleware(wrap_tool_call=ToolMiddleware(None, lambda inner: inner))
    agent = run(build(*adapt([struct] * 3), tools=[Whole()]))
    bare = run(build(tools=[Whole()]))
    info = Whole().info
    onions = (agent.machine.binder.invokable, bare.machine.binder.invokable)

    assert onions[0].bind(info) is onions[1].bind(info)


def test_10_000_structs_are_adapted_in_both_kinds() -> None:
    seen = []

    def wrapping(inner):
        async def outer(ctx, input):
            seen.append(input.name)
            return await inner(ctx, input)

        return outer

    struct = AgentMiddleware(
        before_chat_model=lambda ctx, state: None,
        wrap_tool_call=ToolMiddleware(wrapping, wrapping),
    )
    model = Model(calls("a", "b"), DONE)
    tools = [Whole("a"), Pieces("b")]
    result = played([struct] * N, adapted=True, model=model, tools=tools)

    assert tool_texts(result) == ["a(x)", "abc"]
    assert len(seen) == 2 * N


# Doors


def test_the_door_says_which_engine_it_is() -> None:
    doors = [AdaptedEngine(SEED_001), ReferenceEngine(SEED_001)]

    assert len({each.name for each in doors}) == 2
    assert all("seed-001" in each.name for each in doors)


# Capability objects


class Upper:
    name = "upper"

    def modify_instruction(self, ctx, instruction):
        return instruction.upper()

    async def modify_tools(self, ctx, tools):
        return [each for each in tools if each.name != "gone"]

    def pre_process_message_state(self, ctx, messages):
        return [*messages, Message("user", "more")]


def test_a_capability_object_is_a_handler_of_its_name() -> None:
    handler, model = handler_of(Upper()), Model(DONE)
    play(handler, model=model, instruction="x", tools=[Whole("gone"), Whole("t")])

    assert handler.name == "upper"
    assert handler.hooks == {"before_agent", "before_model_rewrite_history"}
    assert (model.instruction, model.shown) == ("X", ["t"])
    assert model.requests[0].messages[-1].content == "more"


def test_a_handler_is_no_capability_object() -> None:
    with pytest.raises(NoCapabilityError, match="use it as it is"):
        handler_of(with_instruction("x"))


# ToolMiddleware


def test_a_wrapper_is_a_pair_of_factories() -> None:
    wrap = tool_middleware_of(with_invokable_tool_wrapper(identity))

    assert wrap.invokable is not None
    assert wrap.streamable is None


def test_an_adapted_struct_gives_its_own_factories_back() -> None:
    wrap = ToolMiddleware(lambda inner: inner)
    [made] = adapt([AgentMiddleware(wrap_tool_call=wrap)], EINO_DRAFT)

    assert tool_middleware_of(made) is wrap


@pytest.mark.parametrize(
    "handler",
    [with_instruction("x"), with_before_model_rewrite_history(lambda c, m: (c, m))],
)
def test_what_a_tool_middleware_would_lose_is_refused(handler) -> None:
    with pytest.raises(NotCarriedError, match="no place in a ToolMiddleware"):
        tool_middleware_of(handler)


# The way back


def test_an_adapted_struct_comes_back_as_the_very_object() -> None:
    structs = [AgentMiddleware(additional_instruction="x"), AgentMiddleware()]

    assert all(a is b for a, b in zip(middlewares_of(adapt(structs)), structs))  # noqa: B905  # both have two


def test_helpers_become_the_fields_they_stand_for() -> None:
    tool = Whole()
    text, tools = middlewares_of([with_instruction("x"), with_tools(tool)])

    assert text == AgentMiddleware("x", [])
    assert tools == AgentMiddleware("", [tool])


def after_agent():
    return SimpleNamespace(name="own", after_agent=lambda ctx, _: ctx)


@pytest.mark.parametrize(
    ("handler", "part"),
    [
        (with_before_agent(lambda ctx, _: ctx), "before_agent"),
        (after_agent(), "after_agent"),
        (SimpleNamespace(name="own", wrap_model_call=identity), "wrap_model_call"),
        (Upper(), "before_agent"),
        (with_tools(ToolMeta(Whole(), return_directly=True)), "return_directly"),
    ],
)
def test_what_a_struct_cannot_say_is_refused_by_name(handler, part) -> None:
    with pytest.raises(NotCarriedError) as caught:
        middlewares_of([handler])
    assert (caught.value.part, caught.value.handler) == (part, handler.name)


def test_a_changed_context_is_refused_and_not_lost() -> None:
    def change(ctx, messages):
        return ctx.with_value("k", 1), messages

    structs = middlewares_of([with_before_model_rewrite_history(change)])
    with pytest.raises(HookError, match="set_run_local") as caught:
        play(middlewares=structs)
    assert isinstance(caught.value.cause, ChangedContextError)


def test_a_hook_that_returns_no_pair_is_blamed_on_the_way_back_too() -> None:
    structs = middlewares_of([with_after_model_rewrite_history(lambda c, m: m)])

    with pytest.raises(HookError) as caught:
        play(middlewares=structs)
    assert isinstance(caught.value.cause, HookReturnError)


def test_a_handler_as_a_struct_does_the_same() -> None:
    class Both:
        name = "both"

        def before_model_rewrite_history(self, ctx, messages):
            return ctx, [*messages, Message("user", "more")]

        async def wrap_invokable_tool_call(self, ctx, input, next):
            result = await next(ctx, input)
            result.result += "!"
            return result

    def result_of(*handlers, **structs):
        model, tools = Model(calls("t"), DONE), [Whole()]
        under = choosing(EINO_0_9, "struct_middleware", "supported")
        return play(*handlers, model=model, tools=tools, profile=under, **structs)

    struct = result_of(middlewares=middlewares_of([Both()]))
    assert struct.messages == result_of(Both()).messages
    assert tool_texts(struct) == ["t(x)!"]
    assert struct.messages[0] == USER


def test_an_adapted_struct_is_shown_whole() -> None:
    [made] = adapt([AgentMiddleware(additional_instruction="x")])

    assert isinstance(made, AdaptedMiddleware)
    assert "legacy-middleware[0]" in repr(made)
