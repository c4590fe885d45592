"""Subjects in TypeScript: what is wrong with one is told, and hooks are judged."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from compat.drivers.node_building import script_subject
from compat.drivers.saying import SubjectMistakeError
from compat.migration.check import Checked, check_all, code_of, corpus_of
from compat.migration.corpus import Corpus
from compat.migration.judge import Terms
from compat.migration.refs import SubjectRef, parse_ref
from compat.migration.remote.worlds import eased, fitted, playable, ways_of
from compat.migration.subject_runner import CheckOptions
from compat.verdicts.migration import Migration
from refengine.messages import Message
from refengine.testing.notation import write_message
from refengine.testing.scenario_files import read_scenario
from tests.go_support import HI, Mistakes, corpus, mistaken
from tests.neighbours import names_of_ours, worlds_of_neighbours
from tests.node_support import needs_node

pytestmark = pytest.mark.usefixtures("driver_traffic")

RIGHT = "export const subject = () => ({ wrapGenerate: (o: any) => o.doGenerate() });\n"


HANGS = "export const subject = () => { for (;;); };"
MISTAKES: Mistakes = {
    "syntax": ("export function subject( {", 2, "new new.ts does not parse"),
    "no-subject": (
        "export const other = 1, more = 2;",
        2,
        "new new.ts: there is no export subject; it exports more, other",
    ),
    "no-function": (
        "export const subject = 3;",
        2,
        "new new.ts: subject is a number, no function",
    ),
    "wrong-type": (
        "export const subject = () => 3;",
        2,
        "new new.ts: subject returns a number: return a",
    ),
    "nothing": (
        "export const subject = () => ({});",
        2,
        "new new.ts: subject returns nothing to look at",
    ),
    "package": (
        "import 'lodash';\n" + RIGHT,
        2,
        "new new.ts: Cannot find package 'lodash'",
    ),
    "file": (
        "import './gone.ts';\n" + RIGHT,
        2,
        "new new.ts: new.ts imports './gone.ts', which is not a file",
    ),
    "throws-when-loaded": ("throw new Error('no key');", 2, "new new.ts: no key"),
    "throws": (
        "export const subject = () => { throw new Error('no key'); };",
        2,
        "new new.ts: no key",
    ),
    "hangs": (HANGS, 3, "new new.ts: gave no answer within 2 s"),
}
CALLED: Mapping[str, object] = {
    "agent": {"tools": [{"name": "t"}]},
    "model_script": ["assistant:a[1:t({})]", "assistant:done"],
    "runs": [{"input": ["user:hi"]}],
}
BROKEN_OFF: Mapping[str, object] = {
    "agent": {},
    "model_script": [
        {"chunks": ["assistant:so", "assistant: far"], "stream_error": "cut off"}
    ],
    "runs": [{"input": ["user:hi"], "streaming": True}],
}
MOVED = {
    "old.ts": """
    async beforeModel(state) {
      await world.effect("asking", { messages: state.messages.length });
    },""",
    "right.ts": """
    async wrapModelCall(request, handler) {
      await world.effect("asking", { messages: request.messages.length });
      return handler(request);
    },""",
    "wrong.ts": """
    async beforeAgent(state) {
      await world.effect("asking", { messages: state.messages.length });
    },""",
}
"""Hooks of middleware for LangChain.js; a run enters the last once."""
NAMED = """
import { createMiddleware } from "langchain";

export const subject = () =>
  NAMES.map((name: string) => createMiddleware({ name, beforeModel: () => undefined }));
"""
LOOKS = """
import { ToolMessage, createMiddleware, tool } from "langchain";

const schema = { type: "object", properties: {} };
const look = tool(() => "found", { name: "look", description: "looks", schema });

export const subject = () => createMiddleware({
  name: "Looks",
  wrapModelCall: (request, handler) =>
    handler({ ...request, tools: [...request.tools, look] }),
  wrapToolCall: (request, handler) => {
    if (request.toolCall.name !== "look") return handler(request);
    const said = { content: "found", tool_call_id: request.toolCall.id, name: "look" };
    return RUN;
  },
});
"""
"""A middleware that brings a tool as it goes, which no list of tools has."""
PLANTED = r"""
const HELD = /^order [A-F]\d{3}$/;

export const subject = () => ({
  async transformParams({ params }: any) {
    const said = params.prompt.filter((each: any) => each.role === "user");
    const held = said.some((each: any) => HELD.test(each.content[0].text));
    return held ? { ...params, prompt: params.prompt.slice(-1) } : params;
  },
});
"""
"""A middleware of models that does something to what its own source speaks of."""


ON: Mapping[str, str] = {"old.ts": "ai-sdk@4", "new.ts": "ai-sdk@5"}
UPPER = """
const upper = (part: any) => part.type !== "text-delta" ? part :
  { ...part, FIELD: String(part.FIELD).toUpperCase() };

export const subject = () => ({
  middleware: {
    async wrapStream({ doStream }: any) {
      const { stream, ...rest } = await doStream();
      const transform = (part: any, out: any) => out.enqueue(upper(part));
      const made = new TransformStream({ transform });
      return { ...rest, stream: stream.pipeThrough(made) };
    },
  },
  STEPS,
});
"""
"""A middleware that changes what is streamed, by the field that a part has it in."""
HIDDEN = """
const hide = (each: any) => ({ ...each, EDIT });

export const subject = () => ({
  transformParams: async ({ params }: any) => ({
    ...params,
    prompt: params.prompt.map((each: any) =>
      each.role === "tool" ? { ...each, content: each.content.map(hide) } : each),
  }),
});
"""
"""A middleware that hides what tools give."""
RATES = """
import { tool } from "ai";
import { z } from "zod";

export const subject = () => ({
  STEPS,
  tools: {
    rates: tool({
      PARAMETERS: z.object({ currency: z.enum(["EUR"]) }),
      execute: async () => "RESULT",
    }),
  },
});
"""
"""Settings with a tool whose name stands nowhere but as a key."""
STEPS = {"old.ts": "maxSteps: 9", "new.ts": "stopWhen: () => false"}


def put(
    folder: Path, sources: Mapping[str, str], on: Mapping[str, str] = ON
) -> Mapping[str, SubjectRef]:
    """Write sides of two versions of the AI SDK, and refer to them."""
    for name, text in sources.items():
        (folder / name).write_text(text, "utf-8")
    return {
        name: replace(parse_ref(name, cwd=folder), engine=on.get(name, on["new.ts"]))
        for name in sources
    }


def judged(
    folder: Path,
    sources: Mapping[str, str],
    worlds: Corpus,
    on: Mapping[str, str] = ON,
) -> list[Migration]:
    """Judge new sides, in the order in which they stand behind the old one."""
    old, *news = put(folder, sources, on).items()
    terms = {name: (ref, Terms()) for name, ref in news}
    how = CheckOptions(timeout=60)
    found = check_all(old[1], terms, worlds, how, explain=False)
    assert all(each.verdict.fault is None for each in found.values())
    return [each.verdict for each in found.values()]


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Checked]:
    """Return what is said of each mistake."""
    return mistaken(tmp_path_factory.mktemp("mistakes"), RIGHT, MISTAKES, ".ts")


@needs_node
@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_wrong_with_a_subject_is_one_clear_line(
    faults: Mapping[str, Checked], mistake: str
) -> None:
    _, code, said = MISTAKES[mistake]
    verdict = faults[mistake].verdict

    assert verdict.fault is not None
    assert verdict.fault.text.startswith(said)
    assert code_of(verdict) == code


@needs_node
def test_hooks_of_langchain_js_are_judged_as_they_move(tmp_path: Path) -> None:
    for name, hook in MOVED.items():
        text = (
            'import { createMiddleware } from "langchain";\n'
            'import { world } from "refengine/world";\n'
            "export function subject() {\n"
            f'  return createMiddleware({{ name: "Log",{hook}\n  }});\n}}\n'
        )
        (tmp_path / name).write_text(text, "utf-8")

    def ref(name: str) -> SubjectRef:
        return parse_ref(name, cwd=tmp_path)

    names = "right.ts", "wrong.ts"
    news = {name: (ref(name), Terms()) for name in names}

    found = check_all(
        ref("old.ts"),
        news,
        corpus(CALLED, BROKEN_OFF),
        CheckOptions(timeout=60),
        explain=False,
    )

    right, wrong = (found[name].verdict for name in names)
    assert right.fault is None
    assert right.sufficient
    assert wrong.divergence is not None
    assert wrong.divergence.code == "EFFECT_LOST"
    assert wrong.exercise["old"] == right.exercise["old"]  # it plays once for both


def looked(folder: Path, *runs: str) -> Migration:
    """Judge two subjects of LangChain.js whose wrapper of a call does this."""
    for name, run in zip(("old.ts", "new.ts"), runs, strict=True):
        (folder / name).write_text(LOOKS.replace("RUN", run), "utf-8")
    old, new = (parse_ref(name, cwd=folder) for name in ("old.ts", "new.ts"))
    looks = {**HI, "model_script": ["assistant:[1:look({})]", "assistant:hi"]}
    how = CheckOptions(timeout=60)
    found = check_all(old, {"": (new, Terms())}, corpus(looks), how, explain=False)
    return found[""].verdict


@needs_node
def test_result_that_is_no_longer_marked_as_an_error_is_told(tmp_path: Path) -> None:
    old = 'new ToolMessage({ ...said, status: "error" })'
    found = looked(tmp_path, old, "new ToolMessage({ ...said })")

    assert found.divergence is not None
    assert found.divergence.code in {"MESSAGE_CHANGED", "MARKS"}


CONFIRMS = """import { ToolMessage, createMiddleware } from "langchain";
import { z } from "zod";

export function subject() {
  let kept = false;
  return createMiddleware({
    name: "Consent",
    stateSchema: z.object({ kept: z.boolean().default(false) }),
    beforeModel: (state) => {
      const last = state.messages.at(-1);
      const said = last.text === "yes";
      if (last.getType() === "human") { KEEPS }
    },
    wrapToolCall: (request, handler) => {
      const { id, name } = request.toolCall;
      const no = () => new ToolMessage({ content: "no", tool_call_id: id, name });
      return READS ? handler(request) : no();
    },
  });
}
"""
IN_STATE = "request.state.kept"
KEEPS = {
    "old.ts": ("if (said) return { kept: true };", IN_STATE),
    "same.ts": ("return { kept: said || state.kept };", IN_STATE),
    "turn.ts": ("return { kept: said };", IN_STATE),
    "mine.ts": ("kept ||= said;", "kept"),
}
SENDS = [
    line for at in range(3) for line in (f"assistant:[{at}:look({{}})]", "assistant:ok")
]
TURNS = {
    "agent": {"tools": [{"name": "look", "result": "seen"}]},
    "model_script": SENDS,
    "runs": [
        {"input": ["user:yes"]},
        {"input": ["user:go"], "continues": True, "streaming": True},
        {"input": ["user:go"]},
    ],
}


@needs_node
def test_what_a_middleware_keeps_in_the_state_lasts_as_long_as_its_thread(
    tmp_path: Path,
) -> None:
    for name, (keeps, reads) in KEEPS.items():
        text = CONFIRMS.replace("KEEPS", keeps).replace("READS", reads)
        (tmp_path / name).write_text(text, "utf-8")
    old, *news = (parse_ref(name, cwd=tmp_path) for name in KEEPS)

    found = check_all(
        old,
        {each.text: (each, Terms()) for each in news},
        corpus(TURNS),
        CheckOptions(timeout=60),
        explain=False,
    )

    same, turn, mine = (each.verdict for each in found.values())
    assert same.fault is None
    assert same.sufficient
    assert turn.divergence is not None
    assert turn.divergence.code == "MISSING_CALL"
    assert mine.divergence is not None
    assert mine.divergence.code == "EXTRA_CALL"


@needs_node
def test_middleware_may_be_called_as_anything_of_the_world_is(tmp_path: Path) -> None:
    neighbours = names_of_ours()
    ours = [*neighbours, "middleware[0]"]
    mine = [f"{at} of mine" for at in range(len(ours))]
    for file, names in {"old.ts": mine, "new.ts": ours}.items():
        (tmp_path / file).write_text(NAMED.replace("NAMES", json.dumps(names)), "utf-8")
    worlds = [
        each.model_dump(mode="json", exclude_defaults=True)
        for each in worlds_of_neighbours(neighbours)
    ]
    worlds[0]["agent"]["middlewares"] = [{"id": "m"}]  # in the driver, middleware[0]

    found = check_all(
        parse_ref("old.ts", cwd=tmp_path),
        {"": (parse_ref("new.ts", cwd=tmp_path), Terms("identical"))},
        corpus(*worlds),
        CheckOptions(timeout=60),
        explain=False,
    )[""].verdict

    assert found.fault is None
    assert found.sufficient
    assert not found.outside
    assert list(found.exercise["new"].hooks) == [f"{name}.beforeModel" for name in ours]


@needs_node
def test_tool_that_a_wrapper_brings_is_observed_where_it_runs(tmp_path: Path) -> None:
    old = "handler({ ...request, tool: look })"
    found = looked(tmp_path, old, "new ToolMessage(said)")

    assert found.fault is None
    assert found.divergence is not None
    assert found.divergence.code == "MISSING_CALL"


@needs_node
def test_a_subject_has_the_data_that_it_imports(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"said": "a"}', "utf-8")
    text = (
        'import data from "./package.json" with { type: "json" };\n'
        'import { world } from "refengine/world";\n'
        "export const subject = () => ({ wrapGenerate: async (o: any) => {\n"
        "  await world.effect(data.said); return o.doGenerate(); } });\n"
    )
    for file, said in {"old.ts": '"a"', "new.ts": "data.said"}.items():
        source = text.replace("effect(data.said)", f"effect({said})")
        (tmp_path / file).write_text(source, "utf-8")

    found = check_all(
        parse_ref("old.ts", cwd=tmp_path),
        {"": (parse_ref("new.ts", cwd=tmp_path), Terms("identical"))},
        corpus(HI),
        CheckOptions(timeout=60),
        explain=False,
    )[""].verdict

    assert found.sufficient


@needs_node
def test_what_a_source_in_typescript_looks_for_is_in_some_world(tmp_path: Path) -> None:
    nothing = PLANTED.replace("return held ?", "return false ?")
    (tmp_path / "old.ts").write_text(nothing, "utf-8")
    (tmp_path / "new.ts").write_text(PLANTED, "utf-8")
    old, new = (parse_ref(name, cwd=tmp_path) for name in ("old.ts", "new.ts"))
    how = CheckOptions(timeout=60, examples=1)
    worlds = corpus_of([old, new], how)
    # Those in which it does something, of all that the check plays.
    met = [each for each in worlds.worlds if "order A" in repr(each.scenario.runs)]

    found = check_all(
        old,
        {"": (new, Terms())},
        replace(worlds, worlds=tuple(met)),
        how,
        explain=False,
    )

    assert 0 < len(met) < 20
    assert found[""].verdict.divergence is not None


@needs_node
def test_what_is_streamed_is_compared_and_its_middleware_is_entered(
    tmp_path: Path,
) -> None:
    def source(field: str, steps: str) -> str:
        return UPPER.replace("FIELD", field).replace("STEPS", steps)

    handler = {"id": "n", "wrap_model": {"record": "w"}}
    beside = {"agent": {"tools": [{"name": "t"}], "handlers": [handler]}}
    streamed = {**CALLED, "runs": [{"input": ["user:hi"], "streaming": True}]}
    right, wrong = judged(
        tmp_path,
        {
            "old.ts": source("textDelta", STEPS["old.ts"]),
            "new.ts": source("delta", STEPS["new.ts"]),
            "wrong.ts": source("textDelta", STEPS["new.ts"]),
        },
        corpus(streamed, {**streamed, **beside}, BROKEN_OFF),
    )

    assert right.sufficient
    assert right.exercise["new"].hooks["middleware[0].wrapStream"] == 5
    assert wrong.divergence is not None
    assert wrong.divergence.code in {"STREAM_TEXT", "STREAM_LEAK", "CHUNKS", "ANSWER"}


TRIMS_ONCE = """
export const subject = () => ({
  stopWhen: () => false,
  prepareStep: (step: any) => ({ messages: MESSAGES }),
  ENDED: async () => {},
});
"""
"""Settings that send the first step the newest message alone, and later ones all."""
AGAIN = "step.stepNumber ? step.messages : step.messages.slice(-1)"
AFRESH = (
    "[...(step.stepNumber ? step.initialMessages : step.messages.slice(-1)),"
    " ...step.responseMessages]"
)


CUT_OFF = """
import { world } from "refengine/world";

export const subject = () => ({
  async wrapGenerate({ doGenerate }: any) {
    const result = await doGenerate();
    if (result.finishReason === "length") await world.effect("cut off");
    return result;
  },
});
"""


@needs_node
def test_why_a_model_ended_is_an_object_since_6(tmp_path: Path) -> None:
    said = write_message(Message("assistant", "a", extra={"finish_reason": "length"}))
    right, wrong = judged(
        tmp_path,
        {
            "old.ts": CUT_OFF,
            "right.ts": CUT_OFF.replace("finishReason", "finishReason.unified"),
            "wrong.ts": CUT_OFF,
        },
        corpus({"agent": {}, "model_script": [said], "runs": [{"input": ["user:a"]}]}),
        {"old.ts": "ai-sdk@5", "new.ts": "ai-sdk@6"},
    )

    assert right.sufficient
    assert wrong.divergence is not None
    assert wrong.divergence.code == "EFFECT_LOST"


@needs_node
def test_what_prepare_step_returns_stays_since_7(tmp_path: Path) -> None:
    def source(messages: str, ended: str) -> str:
        return TRIMS_ONCE.replace("MESSAGES", messages).replace("ENDED", ended)

    asked = {"input": ["user:no", "assistant:yes", "user:hi"]}
    right, wrong = judged(
        tmp_path,
        {
            "old.ts": source(AGAIN, "onStepFinish"),
            "right.ts": source(AFRESH, "onStepFinish"),
            "wrong.ts": source(AGAIN, "onStepFinish"),
        },
        corpus({**CALLED, "runs": [asked]}),
        {"old.ts": "ai-sdk@6", "new.ts": "ai-sdk@7"},
    )

    assert right.sufficient
    assert wrong.divergence is not None
    assert wrong.divergence.code == "MESSAGE_LOST"


@needs_node
def test_setting_that_is_called_otherwise_since_7_is_watched(tmp_path: Path) -> None:
    def source(ended: str) -> str:
        return TRIMS_ONCE.replace("MESSAGES", "step.messages").replace("ENDED", ended)

    (found,) = judged(
        tmp_path,
        {"old.ts": source("onStepFinish"), "new.ts": source("onStepEnd")},
        corpus(CALLED),
        {"old.ts": "ai-sdk@6", "new.ts": "ai-sdk@7"},
    )

    assert found.sufficient
    entered = {"onStepEnd": 2, "prepareStep": 2, "stopWhen": 1}
    assert found.exercise["new"].hooks == entered


@needs_node
def test_hook_that_no_world_enters_is_not_exercised(tmp_path: Path) -> None:
    source = "export const subject = () => ({ onAbort() {} });"

    (found,) = judged(tmp_path, {"old.ts": source, "new.ts": source}, corpus(HI))

    assert code_of(found) != 0
    assert found.idle == (("old", "onAbort"), ("new", "onAbort"))


@needs_node
def test_value_that_a_tool_gives_has_the_form_of_each_version(tmp_path: Path) -> None:
    tools = [{"name": "t", "result": '{"to": "c@z.org"}'}]
    calls = ["assistant:[a:t({})][b:t({})]", "assistant:done"]
    right, wrong = judged(
        tmp_path,
        {
            "old.ts": HIDDEN.replace("EDIT", 'result: "hidden"'),
            "new.ts": HIDDEN.replace(
                "EDIT", 'output: { type: "text", value: "hidden" }'
            ),
            "wrong.ts": HIDDEN.replace(
                "EDIT",
                'output: each.output.type === "text" ?'
                ' { type: "text", value: "hidden" } : each.output',
            ),
        },
        corpus({**CALLED, "agent": {"tools": tools}, "model_script": calls}),
    )

    assert right.sufficient
    assert wrong.divergence is not None
    assert wrong.divergence.code == "MESSAGE_CHANGED"


@needs_node
def test_settings_of_a_call_are_compared_in_the_words_of_both_versions(
    tmp_path: Path,
) -> None:
    def source(settings: str) -> str:
        return f"export const subject = () => ({{ {settings} }});"

    right, wrong = judged(
        tmp_path,
        {
            "old.ts": source("maxSteps: 1, maxTokens: 200, topP: 0.5"),
            "new.ts": source("topP: 0.5, maxOutputTokens: 200, temperature: 0"),
            "wrong.ts": source("topP: 0.5, maxTokens: 200"),
        },
        corpus(HI),
    )

    assert right.divergence is None
    assert wrong.divergence is not None
    assert wrong.divergence.code == "SETTINGS"


@needs_node
def test_own_tool_is_called_as_its_schema_asks(tmp_path: Path) -> None:
    def source(name: str, parameters: str, result: str) -> str:
        text = RATES.replace("STEPS", STEPS[name]).replace("RESULT", result)
        return text.replace("PARAMETERS", parameters)

    sources = {
        "old.ts": source("old.ts", "parameters", "1.10"),
        "new.ts": source("new.ts", "inputSchema", "1.10"),
        "wrong.ts": source("new.ts", "inputSchema", "1.20"),
    }
    refs = put(tmp_path, sources)
    worlds = corpus_of(
        [*refs.values()], CheckOptions(), ["only known tools are called"]
    )
    met = [each for each in worlds.worlds if each.family == "own tools"][:1]

    right, wrong = judged(tmp_path, sources, replace(worlds, worlds=tuple(met)))

    assert met[0].unusual is None
    assert right.sufficient
    assert right.exercise["new"].hooks["tools.rates"] > 0
    assert wrong.divergence is not None


NEWEST = """
export const subject = () => ({
  transformParams: async ({ params }: any) =>
    ({ ...params, prompt: params.prompt.slice(-5) }),
});
"""
"""A middleware that counts messages."""
SINCE_5 = {"old.ts": "ai-sdk@5", "new.ts": "ai-sdk@6"}


@needs_node
def test_results_of_one_answer_are_one_message_of_a_later_turn(tmp_path: Path) -> None:
    turns = {"input": ["user:hi"]}, {"input": ["user:on"], "continues": True}
    calls = ["assistant:[a:t({})][b:t({})]", "assistant:done", "assistant:done"]

    (found,) = judged(
        tmp_path,
        {"old.ts": NEWEST, "new.ts": NEWEST},
        corpus({**CALLED, "model_script": calls, "runs": turns}),
        SINCE_5,
    )

    assert found.sufficient


@needs_node
def test_what_the_model_is_told_of_an_own_tool_is_compared(tmp_path: Path) -> None:
    def source(currency: str) -> str:
        text = RATES.replace("STEPS", STEPS["new.ts"]).replace("RESULT", "1.10")
        text = text.replace("PARAMETERS", "inputSchema")
        return text.replace('z.enum(["EUR"])', currency)

    right, wrong = judged(
        tmp_path,
        {
            "old.ts": source("z.number().int()"),
            "right.ts": source("z.number().int()"),
            "wrong.ts": source("z.number()"),
        },
        corpus(HI),
        SINCE_5,
    )

    assert right.sufficient
    assert wrong.divergence is not None
    assert wrong.divergence.code == "TOOLS_MERGE"


def test_a_world_is_streamed_where_the_sides_have_hooks_for_it() -> None:
    worlds = corpus({**HI, "runs": [{"input": ["user:a"], "streaming": True}]}, HI)
    can = frozenset(("streaming",))

    def streams(*sources: str) -> list[bool]:
        fit = fitted(worlds, can, ways_of(sources))
        return [each.scenario.runs[0].streaming for each in fit.worlds]

    assert streams("({ transformParams() {} })") == [True, False]
    assert streams("({ wrapGenerate() {} })") == [False, False]
    assert streams("({ wrapStream() {} })") == [True, False]
    assert streams("({ wrapGenerate() {} })", "onChunk") == [True, False, False]


def test_a_subject_is_its_file_and_what_that_imports(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "rules.ts").write_text("export const RULES = 1;\n", "utf-8")
    entry = tmp_path / "sub" / "old.ts"
    entry.write_text("import { RULES } from '../rules.js';\n", "utf-8")

    found = script_subject("old.ts", entry, "")

    assert sorted(found.files) == ["rules.ts", "sub/old.ts"]
    assert found.path == "sub/old.js"


def test_an_import_of_a_file_that_is_not_there_names_one_that_is(
    tmp_path: Path,
) -> None:
    (tmp_path / "rules.ts").write_text("", "utf-8")
    entry = tmp_path / "old.ts"
    entry.write_text("import './rule.ts';\n", "utf-8")

    with pytest.raises(SubjectMistakeError, match=r"did you mean '\./rules\.ts'"):
        script_subject("old.ts", entry, "")


def test_a_run_that_cannot_be_streamed_is_played_in_one_piece_and_no_other() -> None:
    wraps = {"handlers": [{"id": "a", "wrap_model": {"record": "w"}}]}
    world = read_scenario(
        {
            "agents": [wraps, {"handlers": []}],
            "model_script": ["assistant:a", "assistant:b"],
            "runs": [
                {"input": ["user:a"], "streaming": True, "agent": at} for at in (0, 1)
            ],
        }
    )
    can = frozenset(("wrap_model", "streaming"))

    left = eased(world, can, lambda each: playable(each, can))

    assert playable(left, can)
    assert [each.streaming for each in left.runs] == [False, True]
    assert left.all_agents == world.all_agents


def test_a_world_is_eased_to_what_an_engine_has_and_no_further() -> None:
    tool = {"name": "t", "kind": "streamable", "chunks": ["a", "b"]}
    record = [{"op": "record"}]
    handlers = [{"id": "a", "before_model": record}, {"id": "b", "after_model": record}]
    world = read_scenario(
        {
            "agent": {"tools": [tool], "handlers": handlers, "sequential": True},
            "model_script": ["assistant:a[1:t(no object)]", "assistant:b"],
            "runs": [{"input": ["user:a"], "streaming": True}],
        }
    )
    can = frozenset(("before_model",))

    left = eased(world, can, lambda each: playable(each, can))

    assert playable(left, can)
    assert [each.id for each in left.all_agents[0].handlers] == ["a"]
    assert left.all_agents[0].tools[0].kind == "invokable"
    assert left.model_script == ("assistant:a[1:t({})]", "assistant:b")
    assert not left.runs[0].streaming
