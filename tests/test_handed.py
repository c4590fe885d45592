"""What a hook is certainly handed leaves no branch that a world could have missed."""

import ast
from collections.abc import Sequence

import pytest

from refengine.testing.probe_syntax import Probes
from refengine.testing.small_changes import small_changes


def arms(text: str) -> Sequence[str]:
    """Return the branches of a module that a world may take."""
    probes = Probes(0)
    probes.visit(ast.parse(text))
    return [arm for _, arm in probes.arms]


HOOK = """
def before(ctx, state):
    {line}
    return state

def subject(world):
    return [Middleware(before_chat_model=before)]
"""


@pytest.mark.parametrize(
    "line",
    [
        "for each in state.messages: print(each)",
        "for each in reversed(state['messages']): print(each)",
        "for at, each in enumerate(state.get('messages', [])): print(each)",
        "for each in [*state.messages, *more]: print(each)",
        "messages = state.messages\n    for each in messages: print(each)",
        "for each in request.contents: print(each)",
        "for each in state.messages: print(each)\n    state.messages = []",
    ],
)
def test_a_loop_over_what_was_said_is_always_entered(line: str) -> None:
    assert [each.rpartition(": ")[2] for each in arms(HOOK.format(line=line))] == [
        "entered"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "for each in state.messages[1:]: print(each)",
        "for each in state.calls: print(each)",
        "messages = [x for x in state.messages if x]\n    for x in messages: print(x)",
        "state.messages = state.messages[1:]\n    for x in state.messages: print(x)",
        "state.messages.pop()\n    for each in state.messages: print(each)",
        "del state.messages[0:2]\n    for each in state.messages: print(each)",
        "messages = state.messages\n    messages = []\n    for x in messages: print(x)",
        "for messages in [[], [1]]:\n        for each in messages: print(each)",
    ],
)
def test_a_loop_over_what_may_be_empty_has_a_way_past_it(line: str) -> None:
    assert any(each.endswith(": not entered") for each in arms(HOOK.format(line=line)))


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("if not state.messages: return None", 0),
        ("if len(state.messages) == 0: return None", 0),
        ("last = state.messages[-1] if state.messages else None", 0),
        ("last = state['messages'] or []", 0),
        ("if state.messages and a: return None", 3),
        ("if not state.messages or a: return None", 3),
        ("if a and state.messages: return None", 4),
        ("if len(state.messages) == 1: return None", 2),
        ("if len(state.messages) > 0: return None", 0),
        ("m = list(state.messages)\n    if m and a: return\n    m.pop(0)", 3),
        ("m = [*state.messages]\n    if m and a:\n        m.pop(0)\n    del m[:1]", 3),
        ("m = list(state.messages)\n    m.pop(0)\n    if m: return None", 2),
        ("m = list(state.messages)\n    del m[0]\n    if m: return None", 2),
        ("m = state.messages\n    if m: return None\n    m.pop(0)", 2),
        ("m = list(state.messages)\n    n = m\n    n.pop()\n    if m: return None", 2),
        ("m = list(state.messages)\n    while m: m.pop(0)", 2),
    ],
)
def test_a_condition_on_there_being_messages_goes_one_way(line: str, left: int) -> None:
    assert len(arms(HOOK.format(line=line))) == left


def test_what_a_helper_is_given_is_what_its_calls_give_it() -> None:
    helper = "def count({}):\n    for each in {}: print(each)\n"
    given = "def subject(world):\n    def hook(state):\n        count({})\n"

    whole = helper.format("said", "said") + given.format("state.messages")
    cut = whole + "        count(state.messages[2:])\n"

    assert not any(each.endswith("not entered") for each in arms(whole))
    assert any(each.endswith("not entered") for each in arms(cut))


AFTER = """
class Hooks:
    def after_model(self, state, runtime):
        {line}
        return None
    {more}
"""


@pytest.mark.parametrize(
    ("at", "test", "left"),
    [
        ("[-1]", "not isinstance(last, AIMessage)", 0),
        ("[-1]", "last.type != 'ai'", 0),
        ("[-1]", "not isinstance(last, AIMessage) or not last.tool_calls", 3),
        ("[-2]", "last.type != 'ai'", 2),
        ("[-1]", "last.type != 'tool'", 2),
        ("[-1]", "isinstance(last, ToolMessage)", 2),
    ],
)
def test_the_last_message_after_the_model_is_its_answer(
    at: str, test: str, left: int
) -> None:
    line = f"last = state['messages']{at}\n        if {test}: return 1"

    assert len(arms(AFTER.format(line=line, more=""))) == left


@pytest.mark.parametrize(
    "more",
    [
        "def before_model(self, state, runtime):\n        last = state['messages'][-1]",
        "def tell(self, last):\n        print(last)",
        "@after_model\n    def other(state, runtime):\n        return None",
    ],
)
def test_a_name_that_stands_for_something_else_too_is_no_answer(more: str) -> None:
    line = "last = state['messages'][-1]\n        if last.type != 'ai': return 1"

    assert len(arms(AFTER.format(line=line, more=more))) == 2


@pytest.mark.parametrize(("given", "left"), [("last", 0), ("state['messages'][-2]", 2)])
def test_the_answer_is_one_where_a_helper_is_given_it(given: str, left: int) -> None:
    line = f"*_, last = state['messages']\n        self.tell({given})"
    more = "def tell(self, answer):\n        if answer.type == 'ai': print(answer)"

    assert len(arms(AFTER.format(line=line, more=more))) == left


@pytest.mark.parametrize("key", ["post_model_hook", "after_chat_model"])
def test_a_function_is_a_hook_by_what_it_is_given_as(key: str) -> None:
    text = """
def check(state):
    last = state.messages[-1]
    if last.role != "assistant":
        return None

def subject(world):
    return make({key}=check)
"""

    assert arms(text.format(key=key)) == []
    assert len(arms(text.format(key="pre_model_hook"))) == 2


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("if not state.messages: return 1", []),
        ("if state.calls: return 1", ["return 1", "1"]),
        ("told = 1 if state.messages else 2", ["1"]),
    ],
)
def test_what_no_hook_comes_to_is_not_changed(line: str, left: Sequence[str]) -> None:
    found = [each.before for each in small_changes(HOOK.format(line=line))]

    assert [each for each in found if "1" in each or "2" in each] == left


RESULTS = """
class Cuts:
    def wrap_tool_call(self, request, handler):
        return self.cut(handler(request))

    async def awrap_tool_call(self, request, handler):
        return self.cut(await handler(request))

    def cut(self, result):
        if not isinstance(result, KIND):
            return result
        return short(result)
"""


@pytest.mark.parametrize(
    ("was", "now", "left"),
    [
        ("KIND", "ToolMessage", 0),
        ("KIND", "Command", 2),
        ("short(result)", "Command(update=result)", 2),
        ("short(result)", "self.cut(short(result))", 2),
    ],
)
def test_what_a_call_gives_is_a_result_where_no_tool_gives_a_command(
    was: str, now: str, left: int
) -> None:
    text = RESULTS.replace(was, now).replace("KIND", "ToolMessage")

    assert len(arms(text)) == left
