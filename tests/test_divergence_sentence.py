"""A divergence is one sentence and a few lines of code, whatever is in it."""

import re
from dataclasses import replace

import pytest

from compat.migration.codes import CODES
from compat.migration.differences import narrowed
from compat.report.counterexample import code
from compat.report.divergence_sentence import SHAPES, sentence
from compat.report.migration import facts
from compat.verdicts.migration import DescribedDivergence, Difference, Migration
from refengine.testing import read_scenario
from refengine.testing.channels import CHANNELS
from refengine.testing.trace import MISSING

USER = {"role": "user", "content": "a\nb"}
ASKS = {"role": "assistant", "tool_calls": [{"name": "refund"}]}
RUN = {"id": "c1", "name": "refund", "arguments": "{}", "call_id": "c1"}
PART = {"id": "part-1", "kind": "text", "state": "error", "error": "Broken"}
VERDICT = Migration("same-effects", 1, "")
REFUSED = read_scenario(
    {
        "agent": {"tools": [{"name": "refund"}]},
        "model_script": ["assistant:[c1:refund({})]"],
        "runs": [{"input": ["user:Hello"], "denies": ["c1"]}],
    }
)


def found(
    code: str, old: object, new: object, channel: str = "requests", where: str = "run 1"
) -> DescribedDivergence:
    summary = CODES[code].summary if code in CODES else "something is otherwise"
    difference = Difference(channel, "[0]", old, new)
    return DescribedDivergence(code, "error", summary, difference, where)


def at(
    path: str, code: str, old: object, new: object, channel: str, more: str = ""
) -> DescribedDivergence:
    summary = CODES[code].summary
    difference = Difference(channel, f"[0]{path}", old, new)
    return DescribedDivergence(code, "error", summary, difference, f"run 1{more}")


def inside_a_tool(old: object, new: object) -> DescribedDivergence:
    ours, theirs = ([{"name": "pay", "parameters": {"n": each}}] for each in (old, new))
    whole = at(".tools", "TOOLS_MERGE", ours, theirs, "requests")
    return replace(whole, innermost=narrowed(whole.difference))


@pytest.mark.parametrize(
    ("each", "said"),
    [
        (
            found("INSTRUCTION", MISSING, {"role": "system", "content": "\n"}),
            'In the first run, NEW sends one more system message than OLD: "⏎".',
        ),
        (
            found("MESSAGE_LOST", USER, MISSING, where="run 2, model call 12"),
            (
                "In the second run, on the 12th model call, NEW no longer sends the"
                ' user\'s message "a⏎b".'
            ),
        ),
        (
            found(
                "MESSAGE_CHANGED",
                {**ASKS, "content": "my card is 4"},
                {**ASKS, "content": "my card is #"},
                "requests",
            ),
            (
                "In the first run, the model's answer reads the model's call of"
                ' `refund` beside "my card is #" in NEW, and the model\'s call of'
                ' `refund` beside "my card is 4" in OLD.'
            ),
        ),
        (
            found("TOOLS_MERGE", ["a", "b"], ["a"]),
            "In the first run, NEW no longer shows the model `b`.",
        ),
        (
            inside_a_tool({"type": "integer"}, {"type": "number"}),
            (
                "In the first run, NEW shows the model `parameters.n.type` of the tool"
                ' `pay` as "number", and OLD as "integer".'
            ),
        ),
        (
            inside_a_tool({"minimum": 1}, {}),
            (
                "In the first run, NEW shows the model no `parameters.n.minimum` of the"
                " tool `pay`, which is 1 in OLD."
            ),
        ),
        (
            DescribedDivergence(
                *("TYPE", "error", "of another type"),
                Difference("effects", "[2].data", {"s": 0, "x": 1}, {"s": 0.0, "x": 1}),
                "run 1, effect 3",
                innermost=Difference("effects", "[2].data.s", 0, 0.0),
            ),
            (
                "In the first run, `s` is 0.0 in NEW, and 0 in OLD: equal, of another"
                " type."
            ),
        ),
        (
            at(".results_without_call", "PAIRING", [], ["p17"], "pairing"),
            (
                "In the first run, NEW has the result `p17` without the call that it"
                " belongs to."
            ),
        ),
        (
            at(".calls_without_result", "PAIRING", ["p1", "p2"], ["p2"], "pairing"),
            "In the first run, the call `p1` has a result in NEW, and none in OLD.",
        ),
        (
            at(".calls_without_result", "PAIRING", ["p1"], ["p2"], "pairing"),
            (
                "In the first run, the call without a result is `p2` in NEW, and `p1`"
                " in OLD."
            ),
        ),
        (
            at(".values.cut", "STATE_LOST", 0, MISSING, "second_turn"),
            "In the first run, after one more turn, NEW does not keep 0 as `cut`.",
        ),
        (
            at(".actions", "EVENT_CHANGED", {"state_delta": {"paid": 1}}, {}, "events"),
            (
                "In the first run, an event carries the actions {} in NEW, and"
                ' {"state_delta": {"paid": 1}} in OLD.'
            ),
        ),
        (
            at(
                ".actions",
                "EVENT_CHANGED",
                {"state_delta": {"a": 1}},
                MISSING,
                "events",
            ),
            (
                'In the first run, an event carries the actions {"state_delta": {"a":'
                " 1}} in OLD, and none in NEW."
            ),
        ),
        (
            found("ASKED", ["sure?"], MISSING, "events"),
            "In the first run, NEW does not ask the person `sure?`, and OLD does.",
        ),
        (
            found("EXTRA_CALL", MISSING, RUN, "tool_executions"),
            "In the first run, NEW runs `refund`, and OLD does not.",
        ),
        (
            found(
                "EFFECT_CHANGED",
                {"attempt": 5, "delay": 0.04, "error": "TimeoutError"},
                {"attempt": 5, "delay": 0.08, "error": "TimeoutError"},
                "effects",
            ),
            (
                'In the first run, NEW does a side effect with {"delay": 0.08}, and'
                ' OLD with {"delay": 0.04}.'
            ),
        ),
        (
            found(
                "EFFECT_CHANGED",
                {"name": "pay", "args": {"sum": 2}, "approved": True},
                {"name": "pay", "args": {}, "approved": True, "asked": {"sum": 1}},
                "effects",
            ),
            (
                "In the first run, NEW does a side effect with `pay`, shown with"
                ' {"sum": 1}, and OLD with `pay`, shown as it is called.'
            ),
        ),
        (
            at(".to", "DELIVERED_TO", {"each": 1}, {}, "deliveries", ", on_step"),
            "In the first run, NEW delivers `on_step` to nobody, and OLD to `each`.",
        ),
        (
            at(".to", "DELIVERED_TO", {"a": 1}, {"a": 2, "b": 1}, "deliveries", ", f"),
            (
                "In the first run, NEW delivers `f` to `a` 2 times and `b`, and OLD to"
                " `a`."
            ),
        ),
        (
            found("PART_EVENT", PART, MISSING, "part_events"),
            (
                "In the first run, whoever reads the run is not told by NEW that"
                " `part-1`, a text, has the state error of `Broken`."
            ),
        ),
        (
            found("SAVED", MISSING, {"session": "s-a"}, "saved"),
            (
                "In the first run, a store has something else of a session, or nothing:"
                ' {"session": "s-a"} in NEW, and nothing in OLD.'
            ),
        ),
        (
            at(".data", "EFFECT_CHANGED", ["on", "id-1"], ["on", ""], "effects"),
            (
                'In the first run, NEW does a side effect with ["on", ""], and OLD with'
                ' ["on", "id-1"].'
            ),
        ),
        (
            at(".name", "EFFECT_CHANGED", "refused", "paid", "effects"),
            'In the first run, NEW does "paid" where OLD does "refused".',
        ),
        (
            found("EFFECT_LOST", {"name": "banner", "data": "on"}, MISSING, "effects"),
            'In the first run, NEW does not do `banner` with "on", and OLD does.',
        ),
    ],
)
def test_a_divergence_is_told_in_the_words_of_the_code(each, said: str) -> None:
    assert sentence(each) == said


def test_a_tool_that_runs_against_a_no_is_told_with_the_no() -> None:
    each = found("AGAINST_NO", MISSING, RUN, "tool_executions")

    assert sentence(each, REFUSED) == "NEW runs `refund` although the person said no."


def test_a_call_that_a_person_would_have_denied_is_told_with_the_no() -> None:
    def told(call: str) -> str:
        ran = {**RUN, "run": 1, "call_id": call}
        extra = found("EXTRA_CALL", MISSING, ran, "tool_executions")
        return sentence(extra, REFUSED)

    assert told("c1") == (
        "NEW runs `refund` without asking, to which the person says no."
    )
    assert told("c2") == "NEW runs `refund`, and OLD does not."


def test_a_tool_that_asks_by_itself_is_not_told_to_run_without_asking() -> None:
    asks = {"name": "refund", "body": [{"op": "ask", "payload": "sure?"}]}
    world = read_scenario(
        {
            "agent": {"tools": [asks]},
            "model_script": ["assistant:[c1:refund({})]"],
            "runs": [{"input": ["user:Hello"], "denies": ["c1"]}],
        }
    )
    ran = {**RUN, "run": 1, "call_id": "c1"}
    extra = found("EXTRA_CALL", MISSING, ran, "tool_executions")

    assert sentence(extra, world) == "NEW runs `refund`, and OLD does not."


@pytest.mark.parametrize(
    ("code", "channel", "old", "lines", "said"),
    [
        (
            *("EFFECT_LOST", "effects", {"name": "banner", "data": "on"}),
            ((" ", "banner on"), ("-", "banner on")),
            'NEW does `banner` with "on" once less than OLD.',
        ),
        (
            *("MISSING_CALL", "tool_executions", RUN),
            ((" ", "c1: refund({})"), ("-", "c2: refund({})")),
            "NEW runs `refund` once less than OLD.",
        ),
    ],
)
def test_what_new_does_less_often_is_told_so(code, channel, old, lines, said) -> None:
    each = replace(found(code, old, MISSING, channel), lines=lines)

    assert sentence(each, REFUSED) == said


@pytest.mark.parametrize(
    ("mark", "who", "other"), [("-", "OLD", "NEW"), ("+", "NEW", "OLD")]
)
def test_a_text_that_one_side_alone_shows_is_told_as_its_own(mark, who, other) -> None:
    each = at(".text", "STREAM_LEAK", "a summary", "the answer", "events")
    lines = ((mark, "model: a summary"), (" ", "model: the answer"))

    said = sentence(replace(each, lines=lines), REFUSED)

    assert said == (
        f'The consumer of the stream is shown "a summary" by {who}, which no kept'
        f" history says, and not by {other}."
    )
    told = [name for name, _ in facts(replace(each, lines=lines), VERDICT)]
    assert told == ["where"]


def test_sides_of_two_kinds_are_told_to_be_so() -> None:
    way = {"run": 0, "asked": "async", "way": "async"}

    assert sentence(found("STATUS", MISSING, way, "ways", "run 1")) == (
        "In the first run, NEW is an agent of a framework, and OLD holds extensions"
        " for refengine's own engine: give both of one kind."
    )


def test_a_world_in_which_nothing_runs_says_so() -> None:
    world = read_scenario({"agent": {}, "runs": []})

    assert [*code(world)] == ["# nothing is run: it shows while the agent is built"]


def test_a_text_that_new_leaves_as_it_came_is_told_so() -> None:
    each = found("MESSAGE_CHANGED", {**USER, "content": "[x]"}, USER)
    world = read_scenario({"agent": {}, "runs": [{"input": ["user:a\nb"]}]})

    said = 'NEW leaves the user\'s message ("a⏎b") as it is, and OLD makes "[x]" of it.'
    assert sentence(each, world) == said


VALUES = (MISSING, None, True, 3, "", "x" * 500, "a\nb", [], ["a"], {}, USER, RUN)


@pytest.mark.parametrize("code", [*CODES, "A_CODE_OF_TOMORROW"])
def test_no_code_is_without_a_sentence_whatever_its_values_are(code: str) -> None:
    said = [
        sentence(found(code, old, new, channel), REFUSED)
        for channel in CHANNELS
        for old in VALUES
        for new in VALUES
    ]

    assert all(each.endswith(".") and len(each) < 900 for each in said)
    assert not any(MISSING in each or "\n" in each for each in said)


def test_each_shape_is_of_a_code_and_a_channel_that_there_are() -> None:
    for each in SHAPES:
        name, _, of = each.partition(" ")

        assert name in CODES
        assert of in {"", *CHANNELS} or re.fullmatch(r"\.[a-z_]+", of)


def test_a_world_is_a_few_lines_of_code() -> None:
    world = read_scenario(
        {
            "agent": {"instruction": "Be brief.", "tools": [{"name": "pay"}]},
            "model_script": ['assistant:[c1:pay({"to": "Bo"})]', "assistant:Done."],
            "runs": [
                {"input": ["user:Hello"] * 3 + [f"user:{'ab' * 90}"]},
                {"input": ["user:And?"], "continues": True, "streaming": True},
            ],
        }
    )

    assert [*code(world)] == [
        'instruction = "Be brief."',
        'tools = [tool("pay")]',
        'model = [call("pay", {"to": "Bo"}, id="c1"), "Done."]',
        'agent.run([user("Hello")] * 3 + [user("ab" * 90)])',
        'agent.run("And?", stream=True, later_turn=True)',
    ]


def test_a_long_list_of_messages_has_a_line_for_each() -> None:
    said = [f"user:{word} is a text of some length" for word in ("one", "two", "six")]
    world = read_scenario({"agent": {}, "runs": [{"input": said}]})

    lines = [*code(world)]

    assert max(map(len, lines)) <= 80
    assert sum("user(" in line for line in lines) == 3


def test_a_tool_of_the_subject_is_called_by_name_with_what_it_is_given() -> None:
    script = ['assistant:[o1:<own 1>({"integer": 1})]', "assistant:[o2:pay({})]"]
    world = read_scenario({"agent": {}, "model_script": script})
    called = {"o1": ("refund", '{"amount": 1}'), "o2": ("other", '{"to": "Bo"}')}

    assert [*code(world, called)] == [
        'model = [call("refund", {"amount": 1}, id="o1"), call("pay", id="o2")]'
    ]


@pytest.mark.parametrize(
    "state",
    [
        {"role": "viewer"},
        {"role": "user", "tenant": "a"},
        {"role": "user", "content": None},
        {"role": "assistant", "tool_calls": 3},
        {"role": "assistant", "tool_calls": ["a"]},
        {"role": ["user"]},
        {"model_calls": "many"},
        {"model_calls": None, "name": "x"},
        {"point": None},
        {"name": {"a": 1}, "arguments": 3},
        {"error": {"role": "user"}},
    ],
)
@pytest.mark.parametrize("code", sorted({each.split()[0] for each in SHAPES}))
def test_state_with_keys_of_ours_is_told_as_what_it_is(code: str, state) -> None:
    """State belongs to the subject, and may be called as anything of ours is."""
    for old, new in ((state, MISSING), (MISSING, state), (state, {"role": "admin"})):
        assert sentence(found(code, old, new, "effects"), None)
