#!/usr/bin/env bash
# litellm 1.110.2, its callback for OpenTelemetry: a call that is cancelled, and a stream that
# its consumer leaves, have no span, and no callback hears of them: spans are made when a call
# is over, of what is told then. By itself such a span is called by litellm's function, not by
# an operation of OpenTelemetry's conventions. And whatever a provider of one's own raises
# comes out as APIConnectionError, with the whole traceback as its text.
#
# Seen: of a call that answers, one that is streamed, one that is left, one that fails and one
# that is cancelled: the operations and states of its spans, and the error that came out.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet litellm==1.110.2 opentelemetry-sdk==1.45.2 \
  opentelemetry-exporter-otlp-proto-http==1.45.2
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "true"

import litellm
from litellm.integrations.opentelemetry import OpenTelemetry, OpenTelemetryConfig
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

PIECE = {"tool_use": None, "usage": None, "index": 0, "finish_reason": ""}


class Mine(litellm.CustomLLM):
    async def acompletion(self, model, **_):
        if model == "fails":
            raise ValueError("no answer")
        if model == "is cancelled":
            await asyncio.Event().wait()
        said = {"role": "assistant", "content": "ok"}
        choice = {"index": 0, "finish_reason": "stop", "message": said}
        return litellm.ModelResponse(model=model, choices=[choice])

    async def astreaming(self, *_, **__):
        yield {**PIECE, "text": "o", "is_finished": False}
        yield {**PIECE, "text": "k", "is_finished": False}
        yield {**PIECE, "text": "", "is_finished": True, "finish_reason": "stop"}


async def call(how):
    stream = how in ("is streamed", "is left")
    asked = [{"role": "user", "content": "hi"}]
    task = asyncio.ensure_future(
        litellm.acompletion(f"mine/{how}", asked, stream=stream, num_retries=0)
    )
    if how == "is cancelled":
        await asyncio.sleep(0.3)
        task.cancel()
    answer = await task
    if not stream:
        return
    async for _ in answer:
        if how == "is left":
            await answer.aclose()
            break


async def shown(how):
    try:
        await call(how)
        error = ""
    except BaseException as raised:
        error = f" {type(raised).__name__}"
        error += " with a traceback" * ("Traceback" in str(raised))
    await asyncio.sleep(2)
    spans = [x for x in kept.get_finished_spans() if "gen_ai.operation.name" in x.attributes]
    kept.clear()
    told = [(x.attributes["gen_ai.operation.name"], x.status.status_code.name) for x in spans]
    print(f"{how}: {told}{error}")


async def main():
    for how in ("answers", "is streamed", "is left", "fails", "is cancelled"):
        await shown(how)


litellm.custom_provider_map = [{"provider": "mine", "custom_handler": Mine()}]
kept, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(kept))
trace.set_tracer_provider(provider)
litellm.callbacks = [OpenTelemetry(OpenTelemetryConfig(exporter="in_memory"))]
asyncio.run(main())
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null | grep '^[a-z ]*: \[')
echo "$SEEN"
test "$SEEN" = "answers: [('acompletion', 'OK')]
is streamed: [('acompletion', 'OK')]
is left: []
fails: [('acompletion', 'ERROR')] APIConnectionError with a traceback
is cancelled: [] CancelledError"
