"""Agents of every kind: hooks, who follows whom, transfer, and agents as tools."""

import asyncio

import pytest

from compat.dialects.flow import (
    Content,
    CustomAgent,
    FunctionResponse,
    LlmAgent,
    LlmResponse,
    LoopAgent,
    ParallelAgent,
    Part,
    Plugin,
    SequentialAgent,
    agent_tool,
    function_tool,
    text_content,
)
from compat.dialects.flow.errors import AgentNotFoundError
from compat.dialects.flow.run_errors import (
    AgentFieldError,
    AgentPlaceError,
    CalledAgentError,
)
from tests.flow_support import (
    ScriptedModel,
    calls,
    model_of,
    run,
    runner_of,
    saying_plugin,
    short,
    stored,
    tool,
)

WAITS = "agent 'helper' waits for adk_request_confirmation, which a tool cannot be told"
SAYS = ("429", "slow down")
FAILED = LlmResponse(error_code=SAYS[0], error_message=SAYS[1])


def llm(name, *script, **fields):
    return LlmAgent(name=name, model=ScriptedModel(*script), **fields)


def told(agent, *plugins, profile="adk-go-0.4", message="hi", **options):
    runner = runner_of(agent, *plugins, profile=profile, **options)
    return [short(each) for each in asyncio.run(run(runner, message))]


@pytest.mark.parametrize(("profile", "called"), [("adk-go-0.4", 1), ("adk-go-2", 0)])
def test_after_hooks_of_an_agent_whose_model_failed(profile, called):
    log = []
    agent = llm("clerk", TimeoutError(), after_agent=lambda _: log.append(1))

    with pytest.raises(TimeoutError):
        told(agent, profile=profile)

    assert len(log) == called


def test_a_sequence_runs_its_agents_in_turn_and_each_reads_the_ones_before():
    second = llm("b", "two")

    assert told(SequentialAgent(name="seq", sub_agents=[llm("a", "one"), second])) == [
        "a: one",
        "b: two",
    ]
    assert model_of(second).contents[0][-1].parts[1].text == "[a] said: one"


def test_a_loop_goes_round_until_its_limit():
    agent = LoopAgent(
        name="loop",
        sub_agents=[llm("a", "1", "2"), llm("b", "x", "y")],
        max_iterations=2,
    )

    assert told(agent) == ["a: 1", "b: x", "a: 2", "b: y"]


def test_a_loop_ends_behind_the_agent_that_escalates():
    def stop(tool_context):
        tool_context.actions.escalate = True
        tool_context.actions.skip_summarization = True
        return {}

    agent = LoopAgent(
        name="loop",
        sub_agents=[llm("a", calls("stop"), tools=[stop]), llm("b", "never")],
    )

    assert told(agent) == ["a: stop()", "a: stop -> {}"]


@pytest.mark.parametrize(
    ("profile", "follows"), [("adk-go-0.5", []), ("adk-go-2", ["b: so"])]
)
def test_a_sequence_ends_behind_the_agent_that_escalates_in_one_version(
    profile, follows
):
    def stop(tool_context):
        tool_context.actions.escalate = True
        tool_context.actions.skip_summarization = True
        return {}

    agents = [llm("a", calls("stop"), tools=[stop]), llm("b", "so")]

    events = told(SequentialAgent(name="seq", sub_agents=agents), profile=profile)

    assert events == ["a: stop()", "a: stop -> {}", *follows]


def test_parallel_agents_have_branches_and_do_not_read_each_other():
    agents = [llm("a", "one"), llm("b", "two")]
    runner = runner_of(ParallelAgent(name="par", sub_agents=agents))

    events = asyncio.run(run(runner))

    assert {short(each): each.branch for each in events} == {
        "a: one": "par.a",
        "b: two": "par.b",
    }
    for agent in agents:
        assert [x.text for x in model_of(agent).contents[0]] == ["hi"]


def test_an_error_of_one_parallel_agent_ends_the_others():
    async def waits(ctx):
        await asyncio.Event().wait()
        yield ctx.event()

    agents = [CustomAgent(name="w", run=waits), llm("a", TimeoutError())]

    with pytest.raises(TimeoutError):
        told(ParallelAgent(name="par", sub_agents=agents))


def test_an_agent_of_the_users_own_yields_events():
    async def speak(ctx):
        yield ctx.event(content=text_content("model", "own"))

    assert told(CustomAgent(name="own", run=speak)) == ["own: own"]


def transfer(name):
    return calls(("transfer_to_agent", {"agent_name": name}))


def test_a_transfer_offers_its_targets_by_name():
    peer = llm("peer", description="knows peers")
    child = llm("child", "done")
    root = llm("root", transfer("child"), sub_agents=[child, peer])

    told(root, profile="flow-safe")

    config, _, tools = model_of(child).requests[0]
    assert "- peer: knows peers" in config.system_instruction
    assert tools == ("transfer_to_agent",)
    assert config.tools[0].parameters["properties"]["agent_name"]["enum"] == (
        "root",
        "peer",
    )


def test_a_transfer_to_somebody_else_ends_the_run():
    with pytest.raises(AgentNotFoundError, match="ghost"):
        told(llm("root", transfer("ghost"), sub_agents=[llm("child")]))


@pytest.mark.parametrize(
    ("profile", "goes_on"), [("adk-go-0.4", True), ("adk-py-2", False)]
)
def test_an_agent_that_waits_hands_over_only_in_some_versions(profile, goes_on):
    late = tool("late", long_running=True)
    child = llm("child", "so")
    script = (calls("late", ("transfer_to_agent", {"agent_name": "child"})),)
    root = llm("root", *script, tools=[late], sub_agents=[child])

    events = told(root, profile=profile)

    assert ("child: so" in events) is goes_on


@pytest.mark.parametrize(
    ("way", "author"),
    [
        (("b",), "a"),
        (("b", "c"), "a"),
        (("b", "c", "d"), "c"),
        (("b", "a"), "a"),
    ],
    ids=["to-a-child", "to-a-peer", "further-down", "back"],
)
def test_an_agent_that_fails_before_it_speaks_does_so_in_the_name_of_who_is_above_it(
    way, author
):
    scripts = {name: [TimeoutError()] for name in "abcd"}
    for name, target in zip(("a", *way), way, strict=False):
        scripts[name].insert(len(scripts[name]) - 1, transfer(target))
    b = llm("b", *scripts["b"])
    c = llm("c", *scripts["c"], sub_agents=[llm("d", *scripts["d"])])
    runner = runner_of(llm("a", *scripts["a"], sub_agents=[b, c]), profile="adk-py-2")

    with pytest.raises(TimeoutError):
        asyncio.run(run(runner))

    kept = asyncio.run(stored(runner)).events
    assert [each.author for each in kept if each.error_code] == [author]


@pytest.mark.parametrize(
    ("profile", "handed"),
    [("adk-go-0.5", {}), ("adk-py-2", {"seen": 7, "said": "the answer"})],
)
def test_an_agent_as_a_tool_hands_back_its_last_words_and_perhaps_its_state(
    profile, handed
):
    def note(ctx, _):
        ctx.state["seen"] = ctx.state["given"]

    helper = llm("helper", "the answer", before_model=note, output_key="said")
    root = llm(
        "root",
        calls(("helper", {"request": "what?"})),
        "ok",
        tools=[agent_tool(helper)],
    )
    runner = runner_of(root, profile=profile)

    events = asyncio.run(run(runner, state={"given": 7}))

    assert short(events[1]) == "root: helper -> {'result': 'the answer'}"
    assert events[1].actions.state_delta == handed
    assert model_of(helper).contents[0][0].text == "what?"
    assert asyncio.run(stored(runner)).state == {"given": 7} | handed


@pytest.mark.parametrize(("profile", "runs"), [("adk-go-0.4", 1), ("adk-py-2", 2)])
def test_plugins_see_an_agent_that_is_a_tool_in_some_versions(profile, runs):
    log = []
    helper = llm("helper", "the answer")
    root = llm(
        "root", calls(("helper", {"request": "?"})), "ok", tools=[agent_tool(helper)]
    )

    told(root, saying_plugin(log), profile=profile)

    assert log.count("p.before_run") == runs


def test_an_agent_that_stands_twice_is_refused_with_its_places():
    twice = llm("twice")
    tree = SequentialAgent(name="seq", sub_agents=[llm("a", sub_agents=[twice]), twice])

    with pytest.raises(AgentPlaceError, match=r"agent 'twice' stands under a, seq"):
        runner_of(tree)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "agent '', name: '' (str)"),
        ({"name": "user"}, "agent 'user', name: 'user' (str)"),
        ({"before_model": [None]}, "agent 'a', before_model[0]: None (NoneType)"),
        ({"tools": [3]}, "agent 'a', tools[0]: 3 (int)"),
        ({"sub_agents": ["b"]}, "agent 'a', sub_agents: 'b' (str)"),
        ({"include_contents": "all"}, "agent 'a', include_contents: 'all' (str)"),
    ],
)
def test_a_field_that_cannot_be_used_is_named_when_the_agent_is_made(fields, message):
    with pytest.raises(AgentFieldError) as caught:
        LlmAgent(**({"name": "a"} | fields))

    assert str(caught.value).startswith(message)


def test_a_plugin_with_a_misspelt_hook_is_refused():
    with pytest.raises(TypeError, match="before_modle"):
        Plugin(name="p", before_modle=lambda *_: None)


@pytest.mark.parametrize(
    ("profile", "called"),
    [("adk-go-0.4", ["child", "root"]), ("adk-py-2", ["child"])],
)
def test_after_hooks_of_an_agent_that_handed_over(profile, called):
    log = []

    def note(ctx):
        log.append(ctx.agent_name)

    def tree():
        child = llm("child", "done", after_agent=note)
        return llm("root", transfer("child"), sub_agents=[child], after_agent=note)

    told(tree(), profile=profile)
    assert log == called

    log.clear()
    told(SequentialAgent(name="seq", sub_agents=[tree()]), profile=profile)
    assert log == ["child", "root"]


def waiting(name):
    slow = function_tool(lambda: {"status": "?"}, name="slow", needs_confirmation=True)
    return llm(name, calls("slow"), tools=[slow])


@pytest.mark.parametrize(
    ("profile", "last"), [("adk-go-0.4", "b: two"), ("flow-safe", None)]
)
def test_a_sequence_stops_behind_an_agent_that_waits_for_its_user(profile, last):
    for tree in (SequentialAgent, LoopAgent):
        limit = {"max_iterations": 1} if tree is LoopAgent else {}
        agent = tree(name="top", sub_agents=[waiting("a"), llm("b", "two")], **limit)

        events = told(agent, profile=profile)

        assert ("b: two" in events) is (last is not None)


@pytest.mark.parametrize(("profile", "told_last"), [("adk-go-0.4", 5), ("adk-py-2", 2)])
def test_an_agent_that_escalates_ends_its_parallel_siblings_in_one_version(
    profile, told_last
):
    def stop(tool_context):
        tool_context.actions.escalate = True
        tool_context.actions.skip_summarization = True

    async def speaks(ctx):
        for text in ("1", "2", "3"):
            for _ in range(9):
                await asyncio.sleep(0)
            yield ctx.event(content=text_content("model", text))

    agents = [llm("a", calls("stop"), tools=[stop]), CustomAgent(name="b", run=speaks)]

    events = told(ParallelAgent(name="par", sub_agents=agents), profile=profile)

    assert len([each for each in events if each.startswith("a")]) == 2
    assert (len(events) == 5) is (told_last == 5)


@pytest.mark.parametrize(
    ("profile", "branch"), [("adk-go-0.4", ""), ("flow-safe", "par.a")]
)
def test_an_agent_that_was_asked_on_a_branch_goes_on_there_or_on_none(profile, branch):
    slow = tool("slow", long_running=True)
    agent = llm("a", calls("slow"), "waiting", "done", tools=[slow])
    runner = runner_of(ParallelAgent(name="par", sub_agents=[agent]), profile=profile)
    asyncio.run(run(runner))
    response = FunctionResponse("slow", {"status": "ready"}, "c1")

    events = asyncio.run(run(runner, Content("user", (Part(response=response),))))

    assert [(short(each), each.branch) for each in events] == [("a: done", branch)]
    assert model_of(agent).contents[-1][-1].responses[0].response == {"status": "ready"}


def fails(name):
    return llm(name, FAILED)


@pytest.mark.parametrize(
    ("profile", "inner", "result"),
    [
        ("adk-go-0.4", waiting, {}),
        ("adk-py-1", waiting, {"result": ""}),
        ("flow-safe", waiting, {"result": WAITS}),
        ("adk-go-0.4", fails, {"error": str(CalledAgentError("helper", *SAYS))}),
        ("adk-py-1", fails, {"result": ""}),
        ("flow-safe", fails, {"result": "slow down"}),
    ],
)
def test_an_agent_as_a_tool_that_says_nothing_may_say_why(profile, inner, result):
    helper = agent_tool(inner("helper"))
    root = llm("root", calls(("helper", {"request": "?"})), "ok", tools=[helper])

    events = told(root, profile=profile)

    assert events[1] == f"root: helper -> {result}"


@pytest.mark.parametrize(
    ("profile", "said"), [("adk-go-0.4", "so\none\ntwo"), ("adk-py-2", "onetwo")]
)
def test_texts_of_an_agent_as_a_tool_may_be_lines_with_its_thoughts(profile, said):
    parts = (Part(text="so", thought=True), Part(text="one"), Part(text="two"))
    helper = agent_tool(llm("helper", Content("model", parts)))
    root = llm("root", calls(("helper", {"request": "?"})), "ok", tools=[helper])

    events = told(root, profile=profile)

    assert events[1] == f"root: helper -> {{'result': {said!r}}}"


def test_an_agent_as_a_tool_that_is_asked_nothing_is_not_summed_up_either():
    helper = agent_tool(llm("helper", "so"), skip_summarization=True)
    root = llm("root", calls("helper"), "never", tools=[helper])

    events = told(root)

    assert len(events) == 2
    assert "request is missing" in events[1]


@pytest.mark.parametrize(("profile", "shown"), [("flow-safe", ""), ("adk-py-2", "so")])
def test_a_result_that_is_not_summed_up_may_stand_there_as_a_text(profile, shown):
    helper = agent_tool(llm("helper", "so"), skip_summarization=True)
    root = llm("root", calls(("helper", {"request": "?"})), "ok", tools=[helper])

    events = asyncio.run(run(runner_of(root, profile=profile)))

    assert len(events) == 2
    assert events[1].content.text == shown


def test_who_leaves_a_run_ends_the_agents_that_still_work():
    ended = []

    async def waits(ctx):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(ctx.agent.name)
        yield ctx.event()

    async def leave():
        agents = [llm("a", "one"), CustomAgent(name="w", run=waits)]
        runner = runner_of(ParallelAgent(name="par", sub_agents=agents))
        await runner.session_service.create("app", "u", "s")
        events = runner.run("u", "s", "hi")
        first = await anext(events)
        await events.aclose()
        return short(first)

    assert asyncio.run(leave()) == "a: one"
    assert ended == ["w"]


def test_who_is_cancelled_in_a_tool_call_ends_its_siblings_too():
    ended = []

    async def slow():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)

    agent = llm("a", calls("slow", "slow"), tools=[slow])

    async def cancelled():
        task = asyncio.ensure_future(run(runner_of(agent, profile="flow-safe")))
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())

    assert ended == [1, 1]
