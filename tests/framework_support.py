"""Agents that a door to a framework plays as its profile says."""

from typing import Any

from refengine.testing.clock import run
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import Trace

TOOL = {"name": "t", "result": "got <args>"}
ONE_CALL = ["assistant:[1:t({})]", "assistant:done"]


def trace_of(engine, script, *, run_: Any = None, **agent) -> Trace:
    runs = [{"input": ["user:hi"], **(run_ or {})}]
    scenario = {"agent": agent, "model_script": script, "runs": runs}
    return run(play(read_scenario(scenario), engine))


def handler(name: str = "H", **hooks) -> dict[str, Any]:
    return {"id": name, **hooks}


FAIL = [{"op": "error", "text": "no"}]
SAME = {
    "a text with arguments as they were written": {
        "script": ['assistant:[1:t({"b": 1,"a":[]})]', "assistant:done"],
        "tools": [TOOL],
    },
    "wrappers nest": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [
            handler(n, wrap_invokable={"record": n, "prefix_result": n}) for n in "AB"
        ],
    },
    "changed arguments": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [handler(wrap_invokable={"rewrite_args": '{"x": 1}'})],
    },
    "arguments in another notation, for a call with another name": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [
            handler("A", wrap_invokable={"set_input_name": "a"}),
            handler("B", wrap_invokable={"rewrite_args": '{"":""}'}),
            handler("C", wrap_invokable={}),
        ],
    },
    "arguments in another notation, which stay the wrapper's own": {
        "script": ['assistant:[1:t({"q": "a"})]', "assistant:done"],
        "tools": [TOOL],
        "handlers": [
            handler(wrap_invokable={"rewrite_args": '{"q":"a"}'}, after_model=[])
        ],
    },
    "a short circuit": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [handler(wrap_invokable={"short_circuit": "cut"})],
    },
    "an error that a wrapper catches": {
        "script": ONE_CALL,
        "tools": [{**TOOL, "error": "no"}],
        "handlers": [handler(wrap_invokable={"catch_error": "saw <error>"})],
    },
    "a tool's error": {"script": ONE_CALL, "tools": [{**TOOL, "error": "no"}]},
    "a tool's error through a wrapper": {
        "script": ONE_CALL,
        "tools": [{**TOOL, "error": "no"}],
        "handlers": [handler(wrap_invokable={"record": "H"})],
    },
    "a model's error": {"script": [{"error": "no"}], "tools": [TOOL]},
    "an error before the model": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [handler("A", before_model=[]), handler("B", before_model=FAIL)],
    },
    "an error after the model": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [handler(after_model=FAIL)],
    },
    "a history that is rewritten": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "instruction": "Be brief.",
        "handlers": [
            handler("A", before_model=[{"op": "keep_last", "n": 3}]),
            handler("B", after_model=[{"op": "append", "msg": "system:noted"}]),
        ],
    },
    "a history that is cut in the middle of a call": {
        "script": ONE_CALL,
        "tools": [TOOL],
        "handlers": [handler(before_model=[{"op": "keep_last", "n": 1}])],
    },
}
