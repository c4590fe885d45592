#!/usr/bin/env bash
# openai-agents 0.24.0 (Python): a run that streams goes on in a task of its own, and what
# the model says waits in a queue. If the model's stream breaks, the queue is thrown away:
# whoever reads gets the error as soon as it comes back for more, and never what the model
# had said before. So how much of a broken answer is seen depends on how fast the reader is,
# and text that a slow one (a socket, a terminal) was to be shown is gone.
#
# Seen: what the reader got of three pieces before the error, when the model pauses between
# them and the reader is quick, when the model does not pause, and when the reader is slow.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet openai-agents==0.24.0
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio

from agents import Agent, Model, Runner, set_tracing_disabled
from openai.types.responses import ResponseTextDeltaEvent

set_tracing_disabled(True)


class Breaks(Model):
    def __init__(self, pause):
        self.pause = pause

    async def get_response(self, *args, **kwargs):
        raise NotImplementedError

    async def stream_response(self, *args, **kwargs):
        for number in range(3):
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta", delta=str(number), item_id="m",
                content_index=0, output_index=0, logprobs=[], sequence_number=number,
            )
            if self.pause:
                await asyncio.sleep(self.pause)
        raise ConnectionError("the vendor is gone")


async def shows(pause, reading):
    got = []
    run = Runner.run_streamed(Agent("a", model=Breaks(pause)), "hi")
    try:
        async for event in run.stream_events():
            if event.type == "raw_response_event":
                got.append(event.data.delta)
                await asyncio.sleep(reading)
    except ConnectionError:
        print(got)


asyncio.run(shows(0.05, 0))
asyncio.run(shows(0, 0))
asyncio.run(shows(0.05, 0.5))
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "['0', '1', '2']
['0']
['0']"
