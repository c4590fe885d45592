#!/usr/bin/env bash
# openai-agents 0.24.0: what a session keeps of a turn that raised depends on what raised. If
# one of three parallel calls fails (in a tool that does not answer for its errors), the call
# that had ended is kept with its result, and the failed one and the one that still ran are
# left out as if the model had never made them, though that tool had begun its work. If one
# is of a tool that does not exist, none runs and only what the person said is kept; so it
# is, too, if the failed call was the only one. So behind an error the same session may be
# gone on with as if nothing had been done, or as if the rest had never been asked for.
#
# Seen: how the run ends, the tools that began, and what the session holds behind it.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet openai-agents==0.24.0
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio

from agents import (
    Agent, Model, ModelResponse, Runner, SQLiteSession, Usage, function_tool,
    set_tracing_disabled,
)
from openai.types.responses import ResponseFunctionToolCall

set_tracing_disabled(True)
ran = []


class Scripted(Model):
    def __init__(self, calls):
        self.calls = calls

    async def get_response(self, *args, **kwargs):
        return ModelResponse(output=self.calls, usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


@function_tool
async def look() -> str:
    ran.append("look")
    return "seen"


@function_tool(failure_error_function=None)
async def fails() -> str:
    ran.append("fails")
    await asyncio.sleep(0.2)
    raise ValueError("no")


@function_tool
async def waits() -> str:
    ran.append("waits")
    await asyncio.sleep(20)
    return "waited"


def called(number, name):
    return ResponseFunctionToolCall(
        call_id=str(number), name=name, arguments="{}", type="function_call"
    )


async def shows(*names):
    ran.clear()
    model = Scripted([called(n, name) for n, name in enumerate(names, 1)])
    session = SQLiteSession("s")
    agent = Agent("a", model=model, tools=[look, fails, waits])
    try:
        await Runner.run(agent, "hi", session=session)
    except Exception as error:
        kept = [
            f"{item['type'].removeprefix('function_')} {item['call_id']}"
            if "type" in item else item["role"]
            for item in await session.get_items()
        ]
        print(f"{type(error).__name__}, ran {sorted(ran)}: {', '.join(kept)}")


for names in (["look", "fails", "waits"], ["look", "gone", "waits"], ["fails"]):
    asyncio.run(shows(*names))
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "UserError, ran ['fails', 'look', 'waits']: user, call 1, call_output 1
ModelBehaviorError, ran []: user
UserError, ran ['fails']: user"
