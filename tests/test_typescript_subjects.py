"""Subjects in TypeScript: what is wrong with one is told, and hooks are judged."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from compat.drivers.node_building import script_subject
from compat.drivers.saying import SubjectMistakeError
from compat.migration.check import Checked, check_all, code_of, corpus_of
from compat.migration.judge import Terms
from compat.migration.refs import SubjectRef, parse_ref
from compat.migration.remote.worlds import eased, playable
from compat.migration.subject_runner import CheckOptions
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
    runs = {
        "old.ts": "handler({ ...request, tool: look })",
        "not.ts": "new ToolMessage(said)",
    }
    for name, run in runs.items():
        (tmp_path / name).write_text(LOOKS.replace("RUN", run), "utf-8")
    old, new = (parse_ref(name, cwd=tmp_path) for name in runs)
    looks = {**HI, "model_script": ["assistant:[1:look({})]", "assistant:hi"]}

    found = check_all(
        old,
        {"": (new, Terms())},
        corpus(looks),
        CheckOptions(timeout=60),
        explain=False,
    )[""].verdict

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

    assert 0 < len(met) < 10
    assert found[""].verdict.divergence is not None


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
