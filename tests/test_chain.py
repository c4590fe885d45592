"""Chains: any callable is a hook, and who is wrong is named."""

import asyncio
import functools
from collections import deque

import pytest

from refengine.context import Context
from refengine.errors import (
    HookError,
    HookReturnError,
    ToolResultTypeError,
)
from refengine.messages import MessageChunk
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
    calls,
    each,
    play,
    reader,
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


def test_equal_names_are_told_apart_in_errors():
    hook = "after_agent"

    with pytest.raises(HookError) as caught:
        play(fine(hook, "same"), Named("same", **{hook: raising(hook, Boom())}))

    assert caught.value.handler == "same[1]"


def takes_too_few(_):
    raise AssertionError


@pytest.mark.parametrize("hook", PIPELINES)
def test_a_hook_with_too_few_parameters_is_a_hook_that_raised(hook):
    with pytest.raises(HookError, match="takes 1 positional argument") as caught:
        play(Named("narrow", **{hook: takes_too_few}))

    assert caught.value.handler == "narrow"


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


@pytest.mark.parametrize("hook", PIPELINES)
def test_an_async_hook_that_forgets_to_return_is_told_so(hook):
    async def forget(*_):
        return None

    with pytest.raises(HookReturnError, match="is a 'return' missing"):
        play(Named("broken", **{hook: forget}))


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


def test_a_streamable_tool_that_returns_no_stream_is_named():
    class Wrong(Pieces):
        """A tool that returns a bare generator."""

        async def stream(self, ctx, arguments, options):
            return self._read()

    with pytest.raises(ToolResultTypeError, match="tool 't' returned async_generator"):
        play(model=Model(calls("t"), DONE), tools=[Wrong()])


def test_a_wrapper_s_result_without_text_is_not_blamed_on_the_tool():
    wrong = returning("wrap_", ToolCallResult(5))

    with pytest.raises(HookReturnError, match="a ToolCallResult with a text"):
        play(
            Named("broken", wrap_invokable_tool_call=wrong),
            model=Model(calls("t"), DONE),
            tools=[Whole()],
        )
