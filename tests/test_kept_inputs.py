"""What a call changed besides its result is there again after an interrupt.

Each world is played with a tool that asks and with one that does not; both have to come
to the same.
"""

from dataclasses import replace

import pytest

from refengine.agent import ChatModelAgentConfig, build_agent
from refengine.errors import NotKeepableError
from refengine.interrupts import interrupt, is_reentry
from refengine.profile import SEED_001, profile
from refengine.state import Checkpoints, MemoryStore
from refengine.stream import StreamReader
from refengine.tools import ToolCallResult, ToolInfo, ToolsConfig
from tests.support import DONE, USER, Model, calls, reader, run

TAKES = profile("langchain-1")
LEAKS = replace(profile("eino-draft"), events_at_interrupt="held")


class Echo:
    """A tool that returns its arguments; ``fails`` and ``asks`` are calls by number."""

    def __init__(self, name="t", *, fails=(), asks=()):
        self.info = ToolInfo(name)
        self.count = 0
        self._fails = fails
        self._asks = asks

    async def invoke(self, ctx, arguments, options):
        if not is_reentry():
            self.count += 1
        if self.count in self._fails:
            raise ValueError(arguments)
        if self.count in self._asks:
            interrupt("go on?")
        return arguments


class StreamedEcho(Echo):
    """The same, in a stream of one piece."""

    async def invoke(self, ctx, arguments, options):
        raise AssertionError

    async def stream(self, ctx, arguments, options) -> StreamReader[str]:
        return reader([await Echo.invoke(self, ctx, arguments, options)])


class Wrapping:
    """A handler that wraps tool calls of both kinds with one function."""

    def __init__(self, name, wrap):
        self.name = name
        self.wrap_invokable_tool_call = wrap
        self.wrap_streamable_tool_call = wrap


def adds(text):
    async def wrap(ctx, input, next):
        input.arguments += text
        return await next(ctx, input)

    return Wrapping("adds", wrap)


def sets(tool="t", **fields):
    """Set fields of the input of calls of one tool, in place."""

    async def wrap(ctx, input, next):
        if input.name == tool:
            for name, value in fields.items():
                setattr(input, name, value)
        return await next(ctx, input)

    return Wrapping("sets", wrap)


def hands_on(tool="t", **fields):
    """Hand on another input, and leave the one that was given as it is."""

    async def wrap(ctx, input, next):
        other = replace(input, **fields) if input.name == tool else input
        return await next(ctx, other)

    return Wrapping("hands on", wrap)


async def calls_twice(ctx, input, next):
    """Call next twice with one input, and join what came."""
    texts = []
    for _ in range(2):
        try:
            texts.append((await next(ctx, input)).result)
        except ValueError as error:
            texts.append(f"failed: {error}")
    return ToolCallResult(f"{texts} {input}")


async def streams_twice(ctx, input, next):
    first = await (await next(ctx, input)).result.__anext__()
    input.arguments += f"({first})"
    return await next(ctx, input)


TWICE = Wrapping("twice", calls_twice)
TWICE.wrap_streamable_tool_call = streams_twice


def played(*handlers, tools, names=("t",), under=SEED_001, stream=False):
    """Return what a run that is resumed whenever it asks came to, and its asking."""

    async def play():
        notices, events = [], []
        config = ChatModelAgentConfig(
            *("agent", "", Model(calls(*names), DONE)),
            tools_config=ToolsConfig(tools),
            handlers=handlers,
            checkpoints=Checkpoints(MemoryStore()),
        )
        agent = await build_agent(config, under, on_notice=notices.append)
        asked = 0
        current = agent.run([USER], stream=stream, checkpoint="run")
        while True:
            result = await current.result()
            events += [(e.kind, e.call_id) for e in result.events if e.kind == "tool"]
            if result.status != "interrupted":
                return asked, (result.messages, events, notices)
            asked += 1
            current = agent.resume("run")

    return run(play())


def same(*handlers, tools, asks, **how):
    """Return what a world comes to, asked or not."""
    never, wanted = played(*handlers, tools=[tools()], **how)
    often, found = played(*handlers, tools=[tools(asks=asks)], **how)

    assert (never, often) == (0, len(asks))
    assert found == wanted
    return found[0][2].content


def test_a_change_in_place_is_there_for_the_next_call_of_a_wrapper_around():
    told = same(TWICE, adds("+"), tools=Echo, asks=(2,))

    assert told.startswith("['x+', 'x++']")


def test_a_change_in_place_is_made_once_where_the_wrapper_is_entered_again():
    assert same(TWICE, adds("+"), tools=Echo, asks=(1,)).startswith("['x+', 'x++']")


def test_a_change_in_place_is_there_at_the_second_interrupt_too():
    assert same(TWICE, adds("+"), tools=Echo, asks=(1, 2)).startswith("['x+', 'x++']")


def test_each_of_two_wrappers_puts_back_its_own_change():
    told = same(TWICE, adds("1"), adds("2"), tools=Echo, asks=(2,))

    assert told.startswith("['x12', 'x1212']")


def test_a_change_in_place_is_there_after_an_error_that_was_caught():
    def tools(asks=()):
        return Echo(fails=(1,), asks=asks)

    told = same(TWICE, adds("+"), tools=tools, asks=(2,))

    assert told.startswith("['failed: x+', 'x++']")


def test_a_change_in_place_is_there_for_a_streamed_call():
    told = same(TWICE, adds("+"), tools=StreamedEcho, asks=(2,), stream=True)

    assert told == "x+(x+)+"


def test_name_and_id_that_were_changed_in_place_are_there_as_well():
    inner = sets(name="other", call_id="own")
    told = same(TWICE, inner, tools=Echo, asks=(2,))

    assert "name='other'" in told
    assert "call_id='own'" in told


@pytest.mark.parametrize("change", [sets, hands_on])
@pytest.mark.parametrize("under", [SEED_001, TAKES, LEAKS], ids=lambda p: p.name)
def test_an_id_that_a_sibling_was_given_is_there_after_an_interrupt(change, under):
    handler = change("first", call_id="own")

    def play(asks):
        tools = [Echo("t", asks=asks), Echo("first")]
        return played(handler, tools=tools, names=("t", "first"), under=under)

    never, wanted = play(())
    once, found = play((1,))

    assert (never, once) == (0, 1)
    assert found == wanted


def test_an_id_that_was_taken_over_stands_in_the_history():
    handler = sets("first", call_id="own")
    tools = [Echo("t", asks=(1,)), Echo("first")]
    _, found = played(handler, tools=tools, names=("t", "first"), under=TAKES)

    assert [each.tool_call_id for each in found[0][2:4]] == ["c0", "own"]


def test_an_ignored_change_of_a_finished_sibling_is_told_on_resume():
    handler = hands_on("first", call_id="own")
    tools = [Echo("t", asks=(1,)), Echo("first")]
    _, (_, _, notices) = played(handler, tools=tools, names=("t", "first"))

    assert [(each.kind, each.call_id) for each in notices] == [("ignored_change", "c1")]


@pytest.mark.parametrize("change", [sets, hands_on])
@pytest.mark.parametrize("field", ["name", "call_id"])
def test_what_is_no_text_is_refused_where_it_is_put_in(change, field):
    handler = change(**{field: 5})

    with pytest.raises(NotKeepableError) as raised:
        played(handler, tools=[Echo()])
    error = raised.value

    assert (error.handler, error.hook) == (handler.name, "wrap_invokable_tool_call")
    assert (error.path, error.got) == (f"input.{field}", "int")


def test_what_is_no_text_is_refused_where_the_wrapper_fails_too():
    async def wrap(ctx, input, next):
        input.arguments = 5
        raise OSError

    with pytest.raises(NotKeepableError, match="wrap_invokable_tool_call of 'broken'"):
        played(Wrapping("broken", wrap), tools=[Echo()])
