#!/usr/bin/env bash
# dbos-openai-agents 0.3.0 with dbos 3.4.0 and openai-agents 0.24.0: DBOSRunner.run makes a step of
# each call of a model, and of nothing else. So a run that is recovered asks no model for what
# it was answered before, and asks that of the process that recovers it for the rest; but hooks
# see each iteration again that came before the cut, and a tool runs again whose call was over,
# unless its function is a step itself, which nothing asks for.
#
# Seen: the calls of hooks, model and tool in both lives, for a process that is lost behind each
# step that was recorded, with a plain tool and with one that is a step.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet dbos==3.4.0 dbos-openai-agents==0.3.0 \
  openai-agents==0.24.0
cat >"$WORK/recover.py" <<'PYTHON'
"""Cuts an agent under DBOS behind each recorded step, recovers it, and counts the calls."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from agents import Agent, Model, ModelResponse, RunConfig, RunHooks, Usage, function_tool
from dbos import DBOS, SetWorkflowID
from dbos._sys_db import SystemDatabase
from dbos_openai_agents import DBOSRunner
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

CALL = ResponseFunctionToolCall(
    type="function_call", call_id="c1", name="look", arguments="{}"
)
TEXT = ResponseOutputText(type="output_text", text="Over there.", annotations=[])
SAID = ResponseOutputMessage(
    id="m1", type="message", role="assistant", status="completed", content=[TEXT]
)


def note(folder, what):
    """Write down that something ran, where the next life finds it."""
    with Path(folder, "seen").open("a") as file:
        file.write(f"{what}\n")


def life(folder, cut, marked):
    """Begin the run, or recover it; end the process behind the step ``cut``."""
    record, left = SystemDatabase.record_operation_result, [cut]

    def recorded(*given, **named):
        record(*given, **named)
        left[0] -= 1
        if left[0] == 0:
            os._exit(9)

    SystemDatabase.record_operation_result = recorded

    class Scripted(Model):
        async def get_response(self, *_, input, **__):
            note(folder, "model")
            answer = CALL if len(input) == 1 else SAID
            return ModelResponse(output=[answer], usage=Usage(), response_id=None)

        def stream_response(self, *_, **__):
            raise NotImplementedError

    def look() -> str:
        note(folder, "tool")
        return "A red house."

    class Watch(RunHooks):
        async def on_llm_start(self, *_):
            note(folder, "hook")

    @DBOS.workflow()
    async def durable():
        tool = function_tool(DBOS.step()(look) if marked else look)
        agent = Agent(name="a", tools=[tool], model=Scripted())
        config = RunConfig(tracing_disabled=True)
        on = {"run_config": config, "hooks": Watch()}
        return (await DBOSRunner.run(agent, "Where is it?", **on)).final_output

    async def run():
        DBOS.launch()  # which recovers what is pending
        if cut == -1:
            handle = await DBOS.retrieve_workflow_async("run")
            assert await handle.get_result() == "Over there."
        else:
            with SetWorkflowID("run"):
                assert await durable() == "Over there."

    url = f"sqlite:///{folder}/dbos.sqlite"
    DBOS(config={"name": "agent", "system_database_url": url, "log_level": "CRITICAL"})
    asyncio.run(run())


def main():
    """Print a row for each cut, with a tool that is no step and one that is."""
    for marked, cuts in ((0, 2), (1, 3)):
        for cut in range(cuts + 1):
            with tempfile.TemporaryDirectory() as folder:
                for each in (cut, -1) if cut else (0,):
                    line = [sys.executable, __file__, folder, str(each), str(marked)]
                    subprocess.run(line, stderr=subprocess.DEVNULL)
                seen = Counter(Path(folder, "seen").read_text().split())
            told = ", ".join(f"{name} {times}" for name, times in seen.items())
            where = f"behind step {cut}" if cut else "not cut"
            print(f"{'tool is a step' if marked else 'plain tool':16}{where:15}{told}")


if __name__ == "__main__":
    life(sys.argv[1], *map(int, sys.argv[2:])) if sys.argv[1:] else main()
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/recover.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "plain tool      not cut        hook 2, model 2, tool 1
plain tool      behind step 1  hook 3, model 2, tool 1
plain tool      behind step 2  hook 4, model 2, tool 2
tool is a step  not cut        hook 2, model 2, tool 1
tool is a step  behind step 1  hook 3, model 2, tool 1
tool is a step  behind step 2  hook 3, model 2, tool 1
tool is a step  behind step 3  hook 4, model 2, tool 1"
