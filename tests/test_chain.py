"""Chains: in order, blamed rightly, wrapped once when an error leaves."""

import asyncio
import functools
from collections import deque
from contextlib import suppress

import pytest

from refengine.context import Context
from refengine.errors import (
    HookError,
    HookReturnError,
    ModelError,
    ToolError,
    ToolResultTypeError,
)
from refengine.messages import Message, MessageChunk
from refengine.tools import (
    StreamToolCallResult,
    ToolCallResult,
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
    each,
    finish,
    play,
    reader,
    run,
    tool_texts,
)

PIPELINES = (
    "before_agent",
    "before_model_rewrite_history",
    "after_model_rewrite_history",
    "after_agent",
)
REWRITES = PIPELINES[1:3]
ONIONS = ("wrap_model_call", "wrap_invokable_tool_call", "wrap_streamable_tool_call")


class Boom(Exception):
    """What a failing hook raises."""


class Named:
    """A handler that the test gives its hooks."""

    def __init__(self, name="named", /, **hooks):
        self.name = name
        self.hooks = frozenset(hooks)
        for hook, method in hooks.items():
            setattr(self, hook, method)


def around(hook, *handlers):
    """Run an agent whose run reaches that hook, streaming if it is the stream's."""
    streams = hook == "wrap_streamable_tool_call"
    tool = Pieces() if streams else Whole()
    return play(*handlers, model=Model(calls("t"), DONE), tools=[tool], stream=streams)


def passing_on(hook):
    """Return a hook of that kind that changes nothing."""
    if hook in REWRITES:
        return lambda ctx, messages: (ctx, messages)
    if hook in PIPELINES:
        return lambda ctx, _: ctx

    async def wrap(ctx, value, next):
        return await next(ctx, value)

    return wrap


def returning(hook, result):
    """Return a hook of that kind that gives back the same thing, whatever it is."""
    if hook in PIPELINES:
        return lambda *_: result

    async def wrap(*_):
        return result

    return wrap


def raising(hook, error):
    def fail(*_):
        raise error

    async def wrap(*_):
        raise error

    return fail if hook in PIPELINES else wrap


def fine(hook, name):
    return Named(name, **{hook: passing_on(hook)})


# Order


@pytest.mark.parametrize("hook", PIPELINES)
def test_a_pipeline_goes_through_the_list_forwards(hook):
    seen = []

    def noting(name):
        def note(ctx, value):
            seen.append((name, ctx.get("last")))
            ctx = ctx.with_value("last", name)
            return (ctx, value) if hook in REWRITES else ctx

        return Named(name, **{hook: note})

    play(noting("a"), noting("b"), noting("c"))

    assert seen == [("a", None), ("b", "a"), ("c", "b")]


@pytest.mark.parametrize("hook", ONIONS)
def test_an_onion_has_the_first_of_the_list_outermost(hook):
    seen = []

    def noting(name):
        async def wrap(ctx, value, next):
            seen.append(f"{name} in")
            result = await next(ctx, value)
            seen.append(f"{name} out")
            return result

        return Named(name, **{hook: wrap})

    around(hook, noting("a"), noting("b"))

    assert seen[:4] == ["a in", "b in", "b out", "a out"]


def test_each_hook_of_a_pipeline_is_given_what_the_one_before_left():
    def adding(text):
        def add(ctx, messages):
            return ctx, [*messages, Message("user", text)]

        return Named(before_model_rewrite_history=add)

    model = Model(DONE)
    play(adding("a"), adding("b"), model=model)

    assert [m.content for m in model.requests[0].messages] == ["hi", "a", "b"]


def test_a_wrapper_may_answer_without_the_tool():
    tool = Whole()
    short = Named(
        wrap_invokable_tool_call=returning("wrap_", ToolCallResult("short")),
    )
    result = play(short, model=Model(calls("t"), DONE), tools=[tool])

    assert tool_texts(result) == ["short"]
    assert tool.count == 0


def test_a_wrapper_may_call_next_twice_and_the_tool_runs_twice():
    async def twice(ctx, input, next):
        first = await next(ctx, input)
        second = await next(ctx, input)
        return ToolCallResult(f"{first.result} {second.result}")

    tool = Whole()
    result = play(
        Named(wrap_invokable_tool_call=twice),
        model=Model(calls("t"), DONE),
        tools=[tool],
    )

    assert tool_texts(result) == ["t(x) t(x)"]
    assert tool.count == 2


# Sync, async and decorated hooks


def async_function(hook):
    async def wrapped(*args):
        return hook(*args)

    return wrapped


def decorated(hook):
    @functools.wraps(hook)
    def wrapped(*args):
        return hook(*args)

    return wrapped


def hidden_async(hook):
    """Return a plain function that gives a coroutine, as many decorators do."""
    return decorated(async_function(hook))


def bound_partial(hook):
    return functools.partial(lambda _, *args: hook(*args), "first")


class CallableObject:
    def __init__(self, hook):
        self._hook = hook

    async def __call__(self, *args):
        return self._hook(*args)


async def as_future(value):
    made = asyncio.get_running_loop().create_future()
    made.set_result(value)
    return await made


def giving_a_future(hook):
    return lambda *args: asyncio.ensure_future(as_future(hook(*args)))


FORMS = [
    async_function,
    decorated,
    hidden_async,
    bound_partial,
    CallableObject,
    giving_a_future,
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("hook", PIPELINES)
def test_a_pipeline_hook_may_be_any_kind_of_callable(hook, form):
    entered = []

    def plain(ctx, value):
        entered.append(hook)
        return (ctx, value) if hook in REWRITES else ctx

    play(Named(**{hook: form(plain)}))

    assert entered == [hook]


def async_decorated(wrap):
    @functools.wraps(wrap)
    async def wrapped(*args):
        return await wrap(*args)

    return wrapped


class AsyncCallableObject:
    def __init__(self, wrap):
        self._wrap = wrap

    async def __call__(self, *args):
        return await self._wrap(*args)


@pytest.mark.parametrize(
    "form", [async_decorated, functools.partial, AsyncCallableObject]
)
@pytest.mark.parametrize("hook", ONIONS)
def test_a_wrapper_may_be_decorated_partial_or_an_object(hook, form):
    entered = []

    async def wrap(ctx, value, next):
        entered.append(hook)
        return await next(ctx, value)

    around(hook, Named(**{hook: form(wrap)}))

    assert set(entered) == {hook}


# Who is blamed


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("hook", PIPELINES + ONIONS)
def test_an_error_names_handler_position_and_hook(hook, position):
    handlers = [fine(hook, f"h{n}") for n in range(3)]
    error = Boom("x")
    handlers[position] = Named("broken", **{hook: raising(hook, error)})

    with pytest.raises(HookError) as caught:
        around(hook, *handlers)

    blamed = caught.value
    assert (blamed.handler, blamed.position, blamed.hook) == ("broken", position, hook)
    assert blamed.cause is error
    assert blamed.__cause__ is error


def test_positions_count_through_the_handlers_that_lack_the_hook():
    hook = "before_model_rewrite_history"
    others = [fine("after_agent", f"o{n}") for n in range(2)]

    with pytest.raises(HookError) as caught:
        play(*others, Named("broken", **{hook: raising(hook, Boom())}))

    assert caught.value.position == 2


def test_equal_names_are_told_apart_in_errors():
    hook = "after_agent"

    with pytest.raises(HookError) as caught:
        play(fine(hook, "same"), Named("same", **{hook: raising(hook, Boom())}))

    assert caught.value.handler == "same[1]"


def test_the_first_error_stops_a_pipeline():
    seen = []
    hook = "before_model_rewrite_history"
    after = Named(**{hook: lambda ctx, m: seen.append(1) or (ctx, m)})

    with pytest.raises(HookError):
        play(Named(**{hook: raising(hook, Boom())}), after)

    assert seen == []


def takes_too_few(_):
    raise AssertionError


@pytest.mark.parametrize("hook", PIPELINES)
def test_a_hook_with_too_few_parameters_is_a_hook_that_raised(hook):
    with pytest.raises(HookError, match="takes 1 positional argument") as caught:
        play(Named("narrow", **{hook: takes_too_few}))

    assert caught.value.handler == "narrow"


@pytest.mark.parametrize("hook", PIPELINES)
def test_a_future_that_fails_is_a_hook_that_raised(hook):
    def failed(*_):
        made = asyncio.get_running_loop().create_future()
        made.set_exception(Boom("x"))
        return made

    with pytest.raises(HookError) as caught:
        play(fine(hook, "fine"), Named("broken", **{hook: failed}))

    assert isinstance(caught.value.cause, Boom)


@pytest.mark.parametrize("hook", PIPELINES)
def test_a_type_error_of_a_hook_s_own_is_a_hook_that_raised(hook):
    def confused(*_):
        raise TypeError("mine")

    with pytest.raises(HookError, match="mine"):
        play(Named(**{hook: confused}))


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_s_own_error_is_a_model_error_through_all_wrappers(stream):
    class Broken(Model):
        """A model that is out of order."""

        async def invoke(self, ctx, messages, tools, options):
            raise Boom("x")

    with pytest.raises(ModelError) as caught:
        play(fine("wrap_model_call", "a"), model=Broken(), stream=stream)

    assert isinstance(caught.value.cause, Boom)


def test_a_tool_s_own_error_is_a_tool_error_through_all_wrappers():
    error = Boom("x")
    hook = "wrap_invokable_tool_call"

    with pytest.raises(ToolError) as caught:
        play(
            fine(hook, "a"),
            fine(hook, "b"),
            model=Model(calls("t"), DONE),
            tools=[Whole(fails=error)],
        )

    assert (caught.value.tool, caught.value.call_id) == ("t", "c0")
    assert caught.value.cause is error
    assert caught.value.__cause__ is error


def test_a_wrapper_that_raises_another_error_over_the_tool_s_is_blamed_for_it():
    async def translate(ctx, input, next):
        try:
            return await next(ctx, input)
        except Boom as error:
            raise LookupError("translated") from error

    with pytest.raises(HookError) as caught:
        play(
            fine("wrap_invokable_tool_call", "a"),
            Named("b", wrap_invokable_tool_call=translate),
            model=Model(calls("t"), DONE),
            tools=[Whole(fails=Boom())],
        )

    assert caught.value.handler == "b"
    assert isinstance(caught.value.cause, LookupError)


def test_a_wrapper_that_fails_after_the_tool_failed_and_was_handled_is_blamed():
    async def fail_late(ctx, input, next):
        with suppress(Boom):
            await next(ctx, input)
        raise Boom("late")

    with pytest.raises(HookError, match="late"):
        play(
            Named("a", wrap_invokable_tool_call=fail_late),
            model=Model(calls("t"), DONE),
            tools=[Whole(fails=Boom("early"))],
        )


def test_a_wrapper_that_retries_leaves_the_second_error_as_the_tool_s():
    async def retry(ctx, input, next):
        try:
            return await next(ctx, input)
        except Boom:
            return await next(ctx, input)

    tool = Whole(fails=Boom("x"))
    with pytest.raises(ToolError):
        play(
            Named(wrap_invokable_tool_call=retry),
            model=Model(calls("t"), DONE),
            tools=[tool],
        )

    assert tool.count == 2


# Inside a chain exceptions travel as they are


@pytest.mark.parametrize("hook", ONIONS)
def test_an_outer_wrapper_catches_what_an_inner_one_raised(hook):
    error = Boom("x")
    seen = []
    fallback = {
        "wrap_model_call": DONE,
        "wrap_invokable_tool_call": ToolCallResult("rescued"),
        "wrap_streamable_tool_call": StreamToolCallResult(reader(["rescued"])),
    }[hook]

    async def rescue(ctx, value, next):
        try:
            return await next(ctx, value)
        except Boom as caught:
            seen.append(caught)
            return fallback

    result = around(
        hook,
        Named("outer", **{hook: rescue}),
        fine(hook, "between"),
        Named("inner", **{hook: raising(hook, error)}),
    )

    assert seen == [error]
    assert result.status == "completed"


def test_an_outer_wrapper_catches_what_the_tool_raised():
    error = Boom("x")
    seen = []

    async def rescue(ctx, input, next):
        try:
            return await next(ctx, input)
        except Boom as caught:
            seen.append(caught)
            return ToolCallResult("rescued")

    result = play(
        Named(wrap_invokable_tool_call=rescue),
        fine("wrap_invokable_tool_call", "between"),
        model=Model(calls("t"), DONE),
        tools=[Whole(fails=error)],
    )

    assert seen == [error]
    assert tool_texts(result) == ["rescued"]


def test_an_error_is_wrapped_once_and_is_the_run_s_last_event():
    hook = "wrap_invokable_tool_call"

    async def run_it():
        agent = await build(
            *(fine(hook, f"h{n}") for n in range(3)),
            Named("broken", **{hook: raising(hook, Boom())}),
            model=Model(calls("t"), DONE),
            tools=[Whole()],
        )
        async with agent.run(()) as started:
            events = [event async for event in started]
            with pytest.raises(HookError) as caught:
                await started.result()
        return events, caught.value

    events, error = run(run_it())

    assert [event.kind for event in events] == ["model", "error"]
    assert events[-1].error is error
    assert isinstance(error.cause, Boom)


def test_what_is_no_exception_passes_unwrapped():
    class Stop(BaseException):
        """Like KeyboardInterrupt, but for one test."""

    for hook in ("before_model_rewrite_history", *ONIONS[:2]):
        with pytest.raises(Stop):
            around(hook, Named(**{hook: raising(hook, Stop())}))


# What a hook has to give back


class LikeAContext(Context):
    """A context of another class, whose copies would be plain ones."""


WRONG_PAIRS = [
    None,
    Context(),
    [],
    (Context(),),
    (Context(), [], []),
    (Context(), None),
    (Context(), "text"),
    (Context(), iter([])),
    (Context(), {}),
    (None, []),
    ([], Context()),
    (LikeAContext(), []),
]
WRONG = {
    "before_agent": [None, "ctx", (Context(), None)],
    "after_agent": [None, "ctx", (Context(), []), LikeAContext()],
    "before_model_rewrite_history": WRONG_PAIRS,
    "after_model_rewrite_history": WRONG_PAIRS,
    "wrap_model_call": [None, "text", (Context(), DONE), MessageChunk("a")],
    "wrap_invokable_tool_call": [
        None,
        "text",
        StreamToolCallResult(reader("a")),
    ],
    "wrap_streamable_tool_call": [
        None,
        "text",
        reader("a"),
        ToolCallResult("a"),
        StreamToolCallResult(None),
        StreamToolCallResult(each("a")),
    ],
}


@pytest.mark.parametrize(
    ("hook", "wrong"), [(hook, value) for hook in WRONG for value in WRONG[hook]]
)
def test_a_wrong_result_names_the_hook_that_gave_it(hook, wrong):
    handlers = [fine(hook, f"h{n}") for n in range(3)]
    handlers[1] = Named("broken", **{hook: returning(hook, wrong)})

    with pytest.raises(HookReturnError) as caught:
        around(hook, *handlers)

    assert (caught.value.handler, caught.value.hook) == ("broken", hook)


@pytest.mark.parametrize("hook", [hook for hook in WRONG if hook in PIPELINES])
def test_a_wrong_result_of_the_first_and_only_hook_is_its_own(hook):
    with pytest.raises(HookReturnError, match="is a 'return' missing"):
        play(Named("broken", **{hook: returning(hook, None)}))


@pytest.mark.parametrize("hook", PIPELINES)
def test_an_async_hook_that_forgets_to_return_is_told_so(hook):
    async def forget(*_):
        return None

    with pytest.raises(HookReturnError, match="is a 'return' missing"):
        play(Named("broken", **{hook: forget}))


@pytest.mark.parametrize("hook", PIPELINES)
def test_a_coroutine_of_a_coroutine_is_a_wrong_result(hook):
    made = []

    async def outer(*_):
        made.append(passing_on("wrap_")(*_, None))
        return made[-1]

    with pytest.raises(HookReturnError):
        play(Named("broken", **{hook: outer}))
    made[0].close()


def test_a_wrapper_of_an_open_model_has_to_give_a_stream():
    with pytest.raises(HookReturnError, match="a StreamReader"):
        play(
            fine("wrap_model_call", "a"),
            Named("b", wrap_model_call=returning("wrap_", DONE)),
            stream=True,
        )


def test_a_rewrite_may_give_any_sequence_of_messages():
    model = Model(DONE)
    hook = "before_model_rewrite_history"
    left = (Context(), deque([USER, DONE]))
    play(Named(**{hook: returning(hook, left)}), model=model)

    assert model.requests[0].messages == (USER, DONE)


def test_a_factory_s_endpoint_that_gives_a_wrong_result_is_named():
    def factory(_):
        async def endpoint(ctx, input):
            return "text"

        return endpoint

    middleware = ToolMiddleware(invokable=factory)

    with pytest.raises(HookReturnError, match="tool_call_middlewares") as caught:
        play(
            model=Model(calls("t"), DONE),
            tools_config=ToolsConfig([Whole()], tool_call_middlewares=[middleware]),
        )

    assert caught.value.handler == "tool_call_middlewares[0]"


@pytest.mark.parametrize("wrong", [None, 1, b"bytes", ["a"]])
def test_a_tool_that_returns_no_text_is_named(wrong):
    class Wrong(Whole):
        """A tool that returns something else."""

        async def invoke(self, ctx, arguments, options):
            return wrong

    with pytest.raises(ToolResultTypeError) as caught:
        play(
            fine("wrap_invokable_tool_call", "a"),
            model=Model(calls("t"), DONE),
            tools=[Wrong()],
        )

    assert caught.value.tool == "t"
    assert caught.value.got is wrong


def test_a_streamable_tool_that_returns_no_stream_is_named():
    class Wrong(Pieces):
        """A tool that returns a bare generator."""

        async def stream(self, ctx, arguments, options):
            return self._read()

    with pytest.raises(ToolResultTypeError, match="tool 't' returned async_generator"):
        play(model=Model(calls("t"), DONE), tools=[Wrong()])


@pytest.mark.parametrize("wrong", [None, 1, b"bytes"])
def test_a_stream_of_something_but_text_is_a_wrong_result_of_the_tool(wrong):
    with pytest.raises(ToolResultTypeError) as caught:
        play(model=Model(calls("t"), DONE), tools=[Pieces(chunks=["a", wrong])])

    assert caught.value.got is wrong


def test_a_wrapper_s_result_without_text_is_not_blamed_on_the_tool():
    wrong = returning("wrap_", ToolCallResult(5))

    with pytest.raises(HookReturnError, match="a ToolCallResult with a text"):
        play(
            Named("broken", wrap_invokable_tool_call=wrong),
            model=Model(calls("t"), DONE),
            tools=[Whole()],
        )


# Calls beside each other


def test_a_failing_call_is_blamed_by_itself_and_not_by_its_sibling():
    async def fail_second(ctx, input, next):
        result = await next(ctx, input)
        if input.call_id == "c1":
            raise Boom("x")
        return result

    with pytest.raises(HookError) as caught:
        play(
            Named("broken", wrap_invokable_tool_call=fail_second),
            model=Model(calls("t", "t"), DONE),
            tools=[Whole()],
        )

    assert (caught.value.tool, caught.value.call_id) == ("t", "c1")


def test_an_onion_is_entered_by_many_runs_at_once():
    async def wrap(ctx, input, next):
        await asyncio.gather(*(asyncio.ensure_future(as_future(1)) for _ in range(3)))
        return await next(ctx, input)

    tool = Whole()

    async def run_them():
        agents = [
            await build(
                Named(wrap_invokable_tool_call=wrap),
                model=Model(calls("t", arguments=str(n)), DONE),
                tools=[tool],
            )
            for n in range(20)
        ]
        return await asyncio.gather(*(finish(agent) for agent in agents))

    results = run(run_them())

    assert [tool_texts(each) for each in results] == [[f"t({n})"] for n in range(20)]
