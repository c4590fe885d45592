"""OLD as a recording: what was recorded is its trace, and NEW plays in its world."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from compat.migration.check import code_of
from compat.migration.differences import Mask
from compat.migration.judge import Terms
from compat.migration.recorded.checking import judge_recorded
from compat.migration.recorded.sides import SeenPlayed
from compat.migration.recorded.traces import answer_text, recorded_trace
from compat.models.errors import GivenFileError
from compat.models.recordings import read_recording
from compat.report.migration import lines
from compat.verdicts.migration import Exercise, Migration
from refengine import Message, ToolCallResult
from refengine.testing.scenario import Scenario
from refengine.testing.subjects import Subject, play_alone
from tests.commands import refengine

Json = dict[str, Any]
Pairs = Sequence[tuple[Sequence[Json], Json | None]]


def says(role: str, content: str) -> Json:
    return {"role": role, "content": content}


def calls(name: str, id_: str = "call_7f", **arguments: object) -> Json:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": id_, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def gave(text: str, id_: str = "call_7f") -> Json:
    return {"role": "tool", "tool_call_id": id_, "content": text}


KIND, ASK, DONE = says("system", "Be kind."), says("user", "Where is A-77?"), "At sea."
FIND = calls("find", id=7)
THANKS = says("user", "Thanks")
HISTORY = [KIND, ASK, FIND, gave("sea"), says("assistant", DONE), THANKS]
SESSION: Pairs = [
    (HISTORY[:2], FIND),
    (HISTORY[:4], says("assistant", DONE)),
    (HISTORY, says("assistant", "Welcome.")),
]
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}}
TOOL = {"type": "function", "function": {"name": "find", "parameters": SCHEMA}}


def interaction(messages: Sequence[Json], answer: Json | None) -> Json:
    sent = {"model": "m", "messages": messages, "tools": [TOOL]}
    body = (
        {"error": {"type": "busy"}}
        if answer is None
        else {"choices": [{"message": answer}]}
    )
    return {
        "request": {
            "method": "POST",
            "uri": "https://api.openai.com/v1/chat/completions",
            "headers": {"content-type": ["application/json"]},
            "body": json.dumps(sent),
        },
        "response": {
            "status": {"code": 500 if answer is None else 200, "message": ""},
            "headers": {"content-type": ["application/json"]},
            "body": {"string": json.dumps(body)},
        },
    }


def cassette(folder: Path, pairs: Pairs) -> Path:
    path = folder / "old.json"
    tree = {"version": 1, "interactions": [interaction(*each) for each in pairs]}
    path.write_text(json.dumps(tree), "utf-8")
    return path


def chat(folder: Path, messages: Sequence[Json]) -> Path:
    path = folder / "chats.jsonl"
    path.write_text(json.dumps({"messages": messages}) + "\n", "utf-8")
    return path


class Here:
    """NEW in this process, which is as good where nothing of it is remembered."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.exercise = Exercise("new", {})

    def play(self, world: Scenario) -> SeenPlayed:
        return SeenPlayed(play_alone(world, self.subject).trace.to_jsonl())

    def play_all(self, worlds: Sequence[Scenario]) -> Iterator[SeenPlayed]:
        return map(self.play, worlds)

    def anew(self) -> "Here":
        return self

    def close(self) -> None:
        pass


def judged(file: Path, subject: Subject, require: str = "same-effects") -> Migration:
    return judge_recorded([read_recording(file)], Here(subject), Terms(require))


def by(handler: type["Plain"]) -> Subject:
    return lambda _: [handler()]


def told(verdict: Migration) -> str:
    return "\n".join(map(str, lines(verdict)))


class Plain:
    """A handler that changes nothing."""

    name = "new"

    def before_model_rewrite_history(
        self, ctx: Any, messages: Sequence[Message]
    ) -> tuple[Any, Sequence[Message]]:
        return ctx, messages


class Trims(Plain):
    """One that keeps the instruction and the last three messages."""

    def before_model_rewrite_history(
        self, ctx: Any, messages: Sequence[Message]
    ) -> tuple[Any, Sequence[Message]]:
        return ctx, [*messages[:1], *messages[1:][-3:]]


class Drops(Plain):
    """One that keeps one message less."""

    def before_model_rewrite_history(
        self, ctx: Any, messages: Sequence[Message]
    ) -> tuple[Any, Sequence[Message]]:
        return ctx, [*messages[:1], *messages[1:][-2:]]


class Twice(Plain):
    """One that executes each call twice."""

    async def wrap_invokable_tool_call(self, ctx: Any, input: Any, next: Any) -> Any:
        await next(ctx, input)
        return await next(ctx, input)


class Cached(Plain):
    """One that answers without the tool, as OLD may have done."""

    async def wrap_invokable_tool_call(self, ctx: Any, input: Any, next: Any) -> Any:
        return ToolCallResult("sea")


class Rewords(Plain):
    """One that answers otherwise."""

    def after_model_rewrite_history(
        self, ctx: Any, messages: Sequence[Message]
    ) -> tuple[Any, Sequence[Message]]:
        last = messages[-1]
        if last.tool_calls:
            return ctx, messages
        return ctx, [*messages[:-1], Message("assistant", f"{last.content}!")]


class Fails(Plain):
    """One that raises at the second call."""

    def before_model_rewrite_history(
        self, ctx: Any, messages: Sequence[Message]
    ) -> tuple[Any, Sequence[Message]]:
        if len(messages) > 2:
            raise ValueError("no")
        return ctx, messages


def trimmed(pairs: Pairs) -> Pairs:
    """Return what was sent by an OLD that keeps the last three messages."""
    return [([*sent[:1], *sent[1:][-3:]], answer) for sent, answer in pairs]


HOLDS: Mapping[str, tuple[Pairs, type[Plain]]] = {
    "nothing changed": (SESSION, Plain),
    "answered without the tool": (SESSION, Cached),
    "the last answer reworded, which no request shows": (SESSION[:2], Rewords),
    "cut short by both": (trimmed(SESSION), Trims),
    "OLD failed and asked again": ([(HISTORY[:2], None), *SESSION], Plain),
    "the recording ends in a call": (SESSION[:1], Twice),
    "OLD was never answered again": ([*SESSION[:2], (HISTORY, None)], Plain),
}


@pytest.mark.parametrize("case", HOLDS)
def test_a_right_port_holds(tmp_path: Path, case: str) -> None:
    pairs, handler = HOLDS[case]
    verdict = judged(cassette(tmp_path, pairs), by(handler))
    assert (code_of(verdict), verdict.holds) == (0, "same-effects"), told(verdict)


DIVERGES: Mapping[str, tuple[Pairs, type[Plain], str, str]] = {
    "a message is dropped": (
        SESSION,
        Drops,
        "MESSAGE_LOST",
        "run 1, model call 2",
    ),
    "it is cut shorter": (
        trimmed(SESSION),
        Drops,
        "MESSAGE_LOST",
        "run 1, model call 2",
    ),
    "nothing is cut": (trimmed(SESSION), Plain, "MESSAGE_ADDED", "run 2, model call 1"),
    "a tool runs twice": (SESSION, Twice, "EXTRA_CALL", "run 1"),
    "an answer is reworded": (SESSION, Rewords, "MESSAGE_CHANGED", "run 2"),
    "it fails": (SESSION, Fails, "ERROR_NEW", "run 1"),
}


@pytest.mark.parametrize("case", DIVERGES)
def test_a_wrong_port_diverges_where_it_does(tmp_path: Path, case: str) -> None:
    pairs, handler, code, where = DIVERGES[case]
    verdict = judged(cassette(tmp_path, pairs), by(handler))
    found = verdict.divergence
    assert code_of(verdict) == 1, told(verdict)
    assert found is not None
    assert found.code == code, told(verdict)
    assert where in found.where


CHAT = [*HISTORY, says("assistant", "Welcome.")]


@pytest.mark.parametrize(
    ("messages", "handler", "code", "found"),
    [
        pytest.param(CHAT, Plain, 0, None, id="right"),
        pytest.param(CHAT, Drops, 0, None, id="it shows no request"),
        pytest.param(CHAT, Rewords, 1, "ANSWER", id="reworded"),
        pytest.param(CHAT, Twice, 1, "EXTRA_CALL", id="twice"),
        pytest.param(CHAT[:-1], Plain, 0, None, id="the last turn was not answered"),
        pytest.param(CHAT[:4], Plain, 0, None, id="ends in the middle of a turn"),
    ],
)
def test_a_chat_shows_calls_and_answers(
    tmp_path: Path,
    messages: Sequence[Json],
    handler: type[Plain],
    code: int,
    found: str | None,
) -> None:
    verdict = judged(chat(tmp_path, messages), by(handler))
    assert code_of(verdict) == code, told(verdict)
    assert (verdict.divergence and verdict.divergence.code) == found
    assert verdict.recorded is not None
    assert verdict.recorded.shown == ("model calls", "tool calls", "answers")
    assert "requests (chat)" in verdict.recorded.unshown


def test_it_never_claims_more_than_it_shows(tmp_path: Path) -> None:
    verdict = judged(cassette(tmp_path, SESSION), by(Plain))
    headline, *_ = told(verdict).splitlines()
    assert headline == (
        "HOLDS  same-effects, as far as 1 recorded session shows: requests, model"
        " calls and tool calls"
    )
    assert "identical" not in told(verdict)


def test_what_is_declared_to_differ_is_left_out(tmp_path: Path) -> None:
    file = read_recording(cassette(tmp_path, SESSION))
    content = (Mask("requests", "[*].messages[*].content"),)
    for handler, code in ((Rewords, 0), (Twice, 1)):
        terms = Terms(volatile=content)
        assert code_of(judge_recorded([file], Here(by(handler)), terms)) == code


class Kind(Plain):
    """A handler that adds to the instruction what OLD's added."""

    def before_agent(self, ctx: Any, config: Any) -> Any:
        config.instruction += " kind."
        return ctx


@pytest.mark.parametrize(
    ("subject", "code"),
    [
        pytest.param(
            lambda world: world.config(instruction="Be", handlers=[Kind()]), 0, id="own"
        ),
        pytest.param(
            lambda world: world.config(instruction="Be", handlers=[Plain()]),
            1,
            id="not added",
        ),
        pytest.param(by(Kind), 1, id="added once more"),
    ],
)
def test_an_instruction_of_ones_own_is_compared(
    tmp_path: Path, subject: Subject, code: int
) -> None:
    verdict = judged(cassette(tmp_path, SESSION), subject)
    assert code_of(verdict) == code, told(verdict)
    assert ("return world.config(instruction=...)" in told(verdict)) == bool(code)


def test_an_answer_that_no_request_shows_is_told_and_not_judged(tmp_path: Path) -> None:
    verdict = judged(cassette(tmp_path, SESSION[:2]), by(Rewords))
    assert code_of(verdict) == 0
    assert "in 1 of them NEW answers otherwise than its model; did OLD?" in told(
        verdict
    )
    plain = judged(cassette(tmp_path, SESSION[:2]), by(Plain))
    assert "answers otherwise" not in told(plain)


def test_the_shortest_beginning_is_shown(tmp_path: Path) -> None:
    verdict = judged(cassette(tmp_path, SESSION), by(Twice))
    assert verdict.world is not None
    assert len(verdict.world.runs) == 1


def test_tools_are_known_by_their_schemas_and_results(tmp_path: Path) -> None:
    (found,) = read_recording(cassette(tmp_path, SESSION)).sessions
    (tool,) = found.scenario.all_agents[0].tools
    assert (tool.parameters, tool.by_call) == (SCHEMA, {"call_7f": ("sea",)})
    assert tool.result == "(not recorded)"


def test_sessions_are_told_apart_by_their_answers(tmp_path: Path) -> None:
    other = [says("system", "Be short."), says("user", "And B-3?")]
    again = [*other, calls("find", "call_2", id=3), gave("ashore", "call_2")]
    mixed = [
        SESSION[0],
        (other, calls("find", "call_2", id=3)),
        SESSION[1],
        (again, says("assistant", "Ashore.")),
    ]
    file = read_recording(cassette(tmp_path, mixed))
    assert [each.where for each in file.sessions] == [
        "model call 1, 3",
        "model call 2, 4",
    ]


KEY = "sk-proj-" + "Ab1" * 16
SAME = [([says("user", text)], says("assistant", "Yes.")) for text in ("One", "Two")]
EITHER = [says("user", "(shortened)"), says("assistant", "Yes."), THANKS]
BAD_INPUT: Mapping[str, tuple[str, str]] = {
    "no answer": (
        json.dumps({"interactions": [interaction([ASK], None)], "version": 1}),
        "holds no answer of a model",
    ),
    "a chat without an answer": (
        json.dumps({"messages": [ASK]}),
        "holds no answer of a model",
    ),
    "a scenario": (
        json.dumps(
            {"agent": {}, "model_script": ["assistant:a"], "runs": [{"input": []}]}
        ),
        "is a scenario, which says nothing of OLD",
    ),
    "of another kind": ("name,age\n", "line 1: is not JSON"),
    "cut off": ('{"messages": [{"role": "user", "con', "line 1: is not JSON"),
    "empty": ("", "the file is empty"),
    "not told apart": (
        json.dumps(
            {
                "version": 1,
                "interactions": [
                    interaction(*each)
                    for each in [*SAME, (EITHER, says("assistant", "Bye."))]
                ],
            }
        ),
        "sessions that began at 1 and 2, which cannot be told apart",
    ),
    "a secret": (
        json.dumps({"messages": [says("user", KEY), says("assistant", "Thanks.")]}),
        "holds what looks like a secret",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_named_with_what_to_do(tmp_path: Path, case: str) -> None:
    text, problem = BAD_INPUT[case]
    path = tmp_path / "old.json"
    path.write_text(text, "utf-8")
    with pytest.raises(GivenFileError) as error:
        read_recording(path)
    assert problem in str(error.value)
    assert KEY not in str(error.value)


NEW = """
class Handler:
    name = "new"
    def before_model_rewrite_history(self, ctx, messages):
        return ctx, messages

def subject(world):
    return [Handler()]
"""
GRAPH = """
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call

def subject(world):
    @wrap_model_call
    def trim(request, handler):
        return handler(request.override(messages=request.messages[-4:]))

    face = world.as_langchain()
    return create_agent(
        face.model, face.tools, system_prompt="Be kind.", middleware=[trim]
    )
"""


@pytest.mark.parametrize(("new", "code"), [(NEW, 0), (GRAPH, 1)])
def test_the_command_judges_and_writes_what_it_rests_on(
    tmp_path: Path, new: str, code: int
) -> None:
    (tmp_path / "new.py").write_text(new, "utf-8")
    cassette(tmp_path, SESSION)
    line = "migrate", "check", "--old-recording", "old.json", "new.py"
    done = refengine(*line, "--json", "report.json", at=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    told = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert told["header"]["recorded"]["sessions"] == 1
    assert told["holds"] != "identical"
    if code:
        assert told["divergence"]["code"] == "MESSAGE_LOST"
        assert told["divergence"]["where"] == "run 2, model call 1"


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ((), "give NEW alone, as the one side that runs; 0 given"),
        (("old.py", "new.py"), "give NEW alone, as the one side that runs; 2 given"),
        (("new.py", "--examples", "3"), "no worlds are made where OLD does not run"),
        (("new.py", "--reproducer", "r"), "no worlds are made where OLD does not run"),
        (("new.py", "--old-with", "x==1"), "OLD is recorded and does not run"),
        (("new.py", "--require", "identical"), "more than any recording shows"),
    ],
)
def test_a_line_that_does_not_fit_is_refused(
    tmp_path: Path, more: Sequence[str], problem: str
) -> None:
    (tmp_path / "new.py").write_text(NEW, "utf-8")
    cassette(tmp_path, SESSION)
    line = "migrate", "check", "--old-recording", "old.json", *more
    done = refengine(*line, at=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr


SPANS = Path(__file__).parent / "spans"
CALL = [{"name": "find", "args": {"id": 7}, "id": "call_7f", "type": "tool_call"}]
OBSERVED = [
    (HISTORY[:2], FIND),
    (
        [*HISTORY[:2], {**says("assistant", ""), "tool_calls": CALL}, HISTORY[3]],
        says("assistant", DONE),
    ),
    (HISTORY, "Welcome."),
]


def generation(number: int, asked: object, said: object) -> Json:
    return {
        "id": f"o{number}",
        "traceId": "t",
        "type": "GENERATION",
        "startTime": f"2026-11-29T06:0{number}:00.000Z",
        "input": asked,
        "output": said,
    }


def observations(*, tools: str) -> list[Json]:
    """Return model calls as Langfuse has them, newest first, in one of its shapes."""
    found: list[Json] = []
    for number, (asked, said) in enumerate(OBSERVED):
        given: object = {"messages": asked, "tools": [TOOL]}
        if tools == "behind":
            given = [*asked, {"role": "tool", "content": TOOL}]
        elif tools == "text":
            given = json.dumps(given)
        found.append(generation(number, given, said))
    other = {"id": "s", "traceId": "t", "type": "SPAN", "input": None, "output": None}
    return [*found[::-1], other]


def wrapped(number: int, asked: Sequence[Json], said: Json | None) -> Json:
    """Return a model call as LangSmith's wrapper of a client of OpenAI logs it."""
    return {
        "id": f"r{number}",
        "run_type": "llm",
        "start_time": f"2026-11-29T06:0{number}:00",
        "inputs": {"messages": asked, "model": "m", "tools": [TOOL]},
        "outputs": {"choices": [{"index": 0, "message": said}]},
    }


EXPORTS: Mapping[str, object] = {
    "of a wrapper": [wrapped(at, *each) for at, each in enumerate(SESSION)][::-1],
    "of the API": {"data": observations(tools="beside"), "meta": {}},
    "of a trace": {"trace": {"id": "t"}, "observations": observations(tools="behind")},
    "of a table": observations(tools="text"),
}


@pytest.mark.parametrize("export", [*EXPORTS, "langsmith.jsonl"])
def test_an_export_is_the_session_that_a_cassette_has(
    tmp_path: Path, export: str
) -> None:
    path = SPANS / export
    if export in EXPORTS:
        path = tmp_path / "export.json"
        path.write_text(json.dumps(EXPORTS[export]), "utf-8")
    (found,) = read_recording(path).sessions
    (expected,) = read_recording(cassette(tmp_path, SESSION)).sessions
    assert recorded_trace(found).to_jsonl() == recorded_trace(expected).to_jsonl()
    for handler, code in ((Plain, 0), (Drops, 1)):
        verdict = judged(path, by(handler))
        assert code_of(verdict) == code, told(verdict)


@pytest.mark.parametrize("name", ["pydantic_ai.jsonl", "pydantic_ai.otlp.json"])
def test_spans_show_each_request(name: str) -> None:
    (found,) = read_recording(SPANS / name).sessions
    assert [len(run.calls) for run in found.runs] == [2, 1]
    assert [call.tools for run in found.runs for call in run.calls] == [("look",)] * 3
    assert code_of(judged(SPANS / name, by(Plain))) == 0
    verdict = judged(SPANS / name, by(Drops))
    assert verdict.divergence is not None
    assert verdict.divergence.code == "MESSAGE_LOST"


LOGS: Mapping[str, tuple[object, str]] = {
    "no messages": (
        [generation(1, None, says("assistant", "Hi."))],
        "item 1: observation o1 is a model call without messages; export it with",
    ),
    "no answer": (
        [{"id": "r1", "run_type": "llm", "inputs": {"messages": [[ASK]]}}],
        "item 1: run r1 is a model call without an answer",
    ),
    "no model call": (
        [{"id": "r1", "run_type": "tool", "inputs": {}}],
        "holds no answer of a model",
    ),
    "two kinds": (
        [generation(1, [ASK], "Hi."), {"messages": [ASK]}],
        "item 2: is not of an export of Langfuse, as others here are",
    ),
}


@pytest.mark.parametrize("case", LOGS)
def test_a_log_that_lacks_something_is_named(tmp_path: Path, case: str) -> None:
    tree, problem = LOGS[case]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(tree), "utf-8")
    with pytest.raises(GivenFileError) as error:
        read_recording(path)
    assert problem in str(error.value)


def test_what_is_not_told_is_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps([generation(1, [ASK], "Hi.")]), "utf-8")
    verdict = judged(path, by(Plain))
    assert verdict.recorded is not None
    assert "tools of requests that do not name any" in verdict.recorded.unshown


def test_a_cassette_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path = tmp_path / "old.yaml"
    path.write_text("interactions:\n- request:\n    body: '{", "utf-8")
    with pytest.raises(GivenFileError, match="line 3: found unexpected end"):
        read_recording(path)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, None),
        ("At sea.", "At sea."),
        (says("assistant", DONE), DONE),
        ({"at": "sea"}, '{"at": "sea"}'),
    ],
)
def test_an_answer_is_a_message_a_text_or_a_value(
    answer: object, text: str | None
) -> None:
    assert answer_text(answer) == text
