#!/usr/bin/env bash
# dbos-openai-agents 0.3.0 with dbos 3.4.0 and openai-agents 0.24.0: DBOSRunner.run makes steps of
# the calls of an agent's own model, and of those that its provider makes by name. A model
# that RunConfig has, which goes before both, is neither: its calls are no steps, and the
# order in which tools may start, which is set behind such a step, is never set. So every call
# of a tool ends the run with an error, where Runner.run answers.
#
# Seen: what the same agent answers by both runners, with the model of the agent and with that
# of the configuration.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet dbos==3.4.0 dbos-openai-agents==0.3.0 \
  openai-agents==0.24.0
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio
import sys

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.exceptions import UserError
from dbos import DBOS
from dbos_openai_agents import DBOSRunner
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

CALL = ResponseFunctionToolCall(
    type="function_call", call_id="c1", name="look", arguments="{}"
)
SAID = ResponseOutputMessage(
    id="m1",
    type="message",
    role="assistant",
    status="completed",
    content=[ResponseOutputText(type="output_text", text="Over there.", annotations=[])],
)


class Scripted(Model):
    def __init__(self):
        self.script = iter((CALL, SAID))

    async def get_response(self, *_, **__):
        return ModelResponse(output=[next(self.script)], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


@function_tool(failure_error_function=None)
def look() -> str:
    return "A red house."


async def answer(runner, of):
    model = Scripted()
    agent = Agent(name="a", tools=[look], model=model if of == "agent" else None)
    config = RunConfig(tracing_disabled=True)
    if of == "config":
        config.model = model
    try:
        return (await runner.run(agent, "Where is it?", run_config=config)).final_output
    except UserError as error:
        return f"{type(error).__name__}: {error}"


@DBOS.workflow()
async def durable(of):
    return await answer(DBOSRunner, of)


async def main():
    for of in ("agent", "config"):
        print(f"{of}: {await answer(Runner, of)} / {await durable(of)}")


url = f"sqlite:///{sys.argv[1]}/dbos.sqlite"
DBOS(config={"name": "shows", "system_database_url": url, "log_level": "ERROR"})
DBOS.launch()
asyncio.run(main())
DBOS.destroy()
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" "$WORK" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "agent: Over there. / Over there.
config: Over there. / UserError: Error running tool look: 'c1'"
