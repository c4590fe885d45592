"""What is wrong is refused at build, in a line or two that say what to do.

The border shows name, value and type; see ``refengine.errors`` for the tree.
"""

from typing import Any

import pytest

from refengine import errors
from refengine.context import Context
from refengine.extensions import MAX_EXTENSIONS
from refengine.helpers import with_before_model_rewrite_history, with_instruction
from refengine.messages import Message
from refengine.profile import EINO_0_8, PROFILES, profile
from refengine.struct_middleware import AgentMiddleware
from refengine.tools import ToolInfo, ToolsConfig
from tests.support import DONE, USER, Model, Whole, build, calls, finish, play, run


def refused(kind, *handlers, **made_of):
    """Return the message that building or running is refused with."""
    with pytest.raises(kind) as caught:
        play(*handlers, **made_of)
    return checked(caught.value)


def checked(error):
    """Return the error's message, which is a line or two and ends without a stop."""
    text = str(error)

    assert text.count("\n") <= 1
    assert len(text) <= 300
    assert not text.endswith(".")
    return text


class Handler:
    """A handler as the tests need one: all that is given is set on it."""

    def __init__(self, name="mine", **attributes):
        self.name = name
        for attribute, value in attributes.items():
            setattr(self, attribute, value)


def keep(ctx, *_):
    return ctx


async def wrap(ctx, value, next):
    return await next(ctx, value)


# The configuration


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (0, "max_iterations=0 (int)"),
        (-1, "max_iterations=-1 (int)"),
        (True, "max_iterations=True (bool)"),
        ("3", "max_iterations='3' (str)"),
        (2.0, "max_iterations=2.0 (float)"),
        (None, "max_iterations=None (NoneType)"),
    ],
)
def test_max_iterations_is_a_whole_number_of_at_least_one(given, shown):
    message = refused(errors.MaxIterationsError, max_iterations=given)

    assert message == f"{shown}: give a whole number of at least 1"


def test_one_iteration_is_enough_for_an_answer():
    assert play(max_iterations=1).status == "completed"


def test_one_extension_too_many_is_refused_with_both_numbers():
    handlers = [with_instruction("x") for _ in range(MAX_EXTENSIONS)]
    message = refused(
        errors.TooManyExtensionsError, *handlers, middlewares=[AgentMiddleware()]
    )

    assert message == (
        "10001 struct middlewares and handlers, but at most 10000 are run:"
        " merge some of them"
    )


def test_the_largest_number_of_extensions_is_not_refused():
    model = Model(DONE)
    play(*(with_instruction("x") for _ in range(MAX_EXTENSIONS)), model=model)

    assert model.instruction == "\n".join("x" * MAX_EXTENSIONS)


def test_one_object_at_two_positions_is_refused():
    twice = Handler("twice", before_agent=keep)
    between = Handler("between", before_agent=keep)
    message = refused(errors.SameExtensionTwiceError, twice, between, twice)

    assert message == (
        "handler 'twice' is the same object at positions 0 and 2:"
        " make a second one if both are meant"
    )


def test_one_object_at_two_positions_acts_twice_where_the_profile_allows_it():
    model = Model(DONE)
    twice = with_instruction("x")
    play(twice, twice, model=model, profile=EINO_0_8)

    assert model.instruction == "x\nx"


def test_two_objects_of_one_name_are_fine():
    assert play(*(Handler("same", before_agent=keep) for _ in range(2)))


def test_an_unknown_profile_is_answered_with_a_suggestion():
    with pytest.raises(errors.UnknownProfileError) as caught:
        profile("seed-01")

    assert checked(caught.value) == (
        "no profile 'seed-01': did you mean 'seed-001'? known are "
        + ", ".join(each.name for each in PROFILES)
    )


@pytest.mark.parametrize("given", ["hi", {"role": "user"}, None, 3])
def test_a_run_is_given_messages(given):
    async def run_it():
        agent = await build()
        agent.run([given])

    with pytest.raises(errors.InputError) as caught:
        run(run_it())

    assert f"run() got {given!r} ({type(given).__name__})" in checked(caught.value)


def test_the_run_s_input_is_not_known_at_build():
    def look(ctx, config):
        return ctx.with_value("input", config.input)

    message = refused(errors.NotKnownAtBuild, Handler(before_agent=look))

    assert message.startswith("config.input is not known at build: under posture")


# Handlers


def test_an_object_without_a_hook_is_refused():
    class Nothing:
        name = "nothing"

    message = refused(errors.NoHookError, Nothing())

    assert "has no hook: an extension needs a name and one of after_agent" in message


@pytest.mark.parametrize("name", [None, "", 3, b"name"])
def test_an_object_without_a_name_is_refused(name):
    message = refused(errors.NoHookError, Handler(name, before_agent=keep))

    assert "has no name: an extension needs a name and one of" in message


def test_a_plain_function_is_no_handler():
    assert "has no name" in refused(errors.NoHookError, keep)


def test_a_struct_middleware_among_the_handlers_is_refused():
    assert "has no name" in refused(errors.NoHookError, AgentMiddleware("x" * 1000))


def test_a_class_instead_of_an_instance_is_refused():
    class Forgotten:
        name = "forgotten"
        before_agent = keep

    message = refused(errors.HandlerArgumentError, Forgotten)

    assert message.startswith("handlers= got <class ")
    assert message.endswith("(type): give an instance of that class")


@pytest.mark.parametrize(
    ("method", "meant"),
    [
        ("before_agents", "before_agent"),
        ("beforeagent", "before_agent"),
        ("after_agnet", "after_agent"),
        ("wrap_model_cal", "wrap_model_call"),
        ("wrap_invocable_tool_call", "wrap_invokable_tool_call"),
        ("wrap_streamable_toolcall", "wrap_streamable_tool_call"),
        ("before_model_rewrite_histroy", "before_model_rewrite_history"),
        ("modify_instructions", "modify_instruction"),
    ],
)
def test_a_method_named_almost_like_a_hook_is_refused(method, meant):
    misspelt = type("Misspelt", (), {"name": "mine", "wrap": wrap, method: keep})
    message = refused(errors.MisspeltHookError, misspelt())

    assert message == (
        f"handler 'mine' has a method {method!r}, which is not a hook:"
        f" did you mean {meant!r}? (a private helper starts with '_')"
    )


def test_an_attribute_of_the_instance_is_a_method_too():
    misspelt = Handler(after_agent=keep, before_agentt=keep)

    assert "'before_agentt'" in refused(errors.MisspeltHookError, misspelt)


def test_what_is_no_method_or_private_may_have_any_name():
    class Fine:
        name = "fine"
        before_agents = 3

        def before_agent(self, ctx, config):
            return ctx

        def _before_agent(self):
            """Do something else."""

    assert play(Fine())


def test_a_property_is_not_read_to_look_for_hooks():
    class Lazy:
        name = "lazy"
        before_agent = staticmethod(keep)

        @property
        def connection(self):
            raise RuntimeError("too early")

    assert play(Lazy())


def test_a_hooks_set_with_an_unknown_name_is_refused():
    handler = Handler(hooks={"before_agnt"}, before_agnt=keep)
    message = refused(errors.MisspeltHookError, handler)

    assert "did you mean 'before_agent'?" in message


def test_a_hooks_set_that_names_a_missing_method_is_refused():
    message = refused(errors.NoHookError, Handler(hooks={"after_agent"}))

    assert "has no callable after_agent" in message


def test_a_hook_that_cannot_be_called_is_refused():
    message = refused(errors.NoHookError, Handler(before_agent="text"))

    assert "has no callable before_agent" in message


def test_an_empty_hooks_set_is_no_hook():
    handler = Handler(hooks=frozenset(), before_agent=keep)

    assert "has no hook" in refused(errors.NoHookError, handler)


@pytest.mark.parametrize("capability", ["modify_instruction", "modify_tools"])
def test_a_handler_with_capability_methods_is_refused(capability):
    mixed = Handler(before_agent=keep, **{capability: keep})
    message = refused(errors.MixedCapabilityError, mixed)

    assert message == (
        f"handler 'mine' has before_agent and {capability}:"
        " move what those do into hooks of a handler"
    )


@pytest.mark.parametrize(
    ("capability", "hook"),
    [
        ("pre_process_message_state", "before_model_rewrite_history"),
        ("post_process_message_state", "after_model_rewrite_history"),
    ],
)
def test_a_capability_beside_the_hook_it_stands_for_is_refused(capability, hook):
    mixed = Handler(**{capability: keep, hook: keep})

    assert f"has {hook} and {capability}" in refused(errors.MixedCapabilityError, mixed)


def calling_wrap(*args):
    return wrap(*args)


@pytest.mark.parametrize(
    "hook", ["wrap_model_call", "wrap_invokable_tool_call", "wrap_streamable_tool_call"]
)
@pytest.mark.parametrize("plain", [keep, calling_wrap])
def test_a_wrapper_that_is_not_async_is_refused(hook, plain):
    message = refused(errors.NotAsyncError, Handler(**{hook: plain}))

    assert message == f"{hook} of 'mine' is not async: write 'async def'"


def test_a_hook_that_forgets_to_return_is_told_so():
    def forget(ctx, messages):
        messages = [*messages, USER]

    message = refused(
        errors.HookReturnError, Handler(before_model_rewrite_history=forget)
    )

    assert message == (
        "before_model_rewrite_history of 'mine' returned None (is a 'return' missing?):"
        " it has to return a pair (context, messages)"
    )


def test_a_long_wrong_result_is_cut():
    wrong = [Message("user", "x" * 1000)]
    handler = Handler(before_model_rewrite_history=lambda *_: wrong)

    assert "..." in refused(errors.HookReturnError, handler)


def test_a_hook_error_says_who_where_and_what():
    def fail(*_):
        raise LookupError("no such row")

    message = refused(errors.HookError, Handler(before_agent=fail))

    assert message == (
        "before_agent of 'mine' (position 0) raised LookupError: no such row"
    )


# Tools and models


class Inert:
    """A tool or a model that can do nothing."""

    info = ToolInfo("inert")


def test_a_tool_without_a_method_is_refused_at_build():
    message = refused(errors.ToolKindError, tools=[Inert()])

    assert message == "tool 'inert' has neither invoke nor stream: give it one"


def test_a_struct_middleware_s_tool_without_a_method_is_refused_at_build():
    middleware = AgentMiddleware(additional_tools=[Inert()])
    message = refused(errors.ToolKindError, middlewares=[middleware])

    assert message == "tool 'inert' has neither invoke nor stream: give it one"


def test_a_model_without_a_method_is_refused_at_build():
    message = refused(errors.ToolKindError, model=Inert())

    assert message == "model Inert has neither invoke nor stream: give it one"


def test_a_tool_that_returns_no_text_is_told_so():
    class Counting(Whole):
        """A tool that returns a number."""

        async def invoke(self, ctx, arguments, options):
            return 3

    model = Model(calls("t"), DONE)
    message = refused(errors.ToolResultTypeError, model=model, tools=[Counting()])

    assert message == (
        "tool 't' returned int, not str: turn the result into text inside the tool"
    )


async def answer_later(*_):
    return "text"


@pytest.mark.parametrize("answer", [lambda *_: None, answer_later])
def test_a_handler_of_unknown_tools_that_returns_no_text_is_told_so(answer):
    with pytest.raises(errors.ToolResultTypeError) as caught:
        play(
            model=Model(calls("missing"), DONE),
            tools_config=ToolsConfig(unknown_tools_handler=answer),
        )
    got: Any = caught.value.got
    if got is not None:
        got.close()

    assert "'unknown_tools_handler' returned" in checked(caught.value)


def test_a_tool_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(errors.ToolNotFound) as caught:
        play(model=Model(calls("missing"), DONE), tools=[Whole("a"), Whole("b")])

    assert str(caught.value).startswith(
        "the model called tool 'missing'; available: a, b."
    )


def test_a_refused_run_can_be_repeated_with_good_input():
    async def run_twice():
        agent = await build()
        with pytest.raises(errors.InputError):
            agent.run(["hi"])
        return await finish(agent, [USER], ctx=Context())

    assert run(run_twice()).answer == DONE


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("instruction", ["Be brief."], "instruction=['Be brief.'] (list): give a text"),
        ("middlewares", [Whole()], "give a list of AgentMiddleware"),
    ],
)
def test_a_field_of_another_type_is_told_by_its_name(field, value, told):
    with pytest.raises(errors.FieldTypeError) as caught:
        run(build(**{field: value}))

    assert told in str(caught.value)


@pytest.mark.parametrize("tool", ["abc", 3, Whole])
def test_what_is_no_tool_is_refused_at_build(tool):
    with pytest.raises(
        errors.NotAToolError, match="is not a tool: give an object with"
    ):
        run(build(tools=[tool]))


@pytest.mark.parametrize("left", [["text"], [Message("user", "x"), None], "text"])
def test_a_history_of_something_else_is_blamed_on_who_left_it(left):
    handler = with_before_model_rewrite_history(lambda ctx, _: (ctx, left))

    with pytest.raises(errors.HookReturnError, match="with_before_model_rewrite"):
        play(handler)


@pytest.mark.parametrize(
    "messages", ["hi", USER, [USER, "x"], (USER, "x"), [None]], ids=repr
)
def test_a_run_of_something_else_than_messages_is_refused_at_once(messages):
    agent = run(build())

    with pytest.raises(errors.InputError, match="give a list or tuple of Message"):
        agent.run(messages)
