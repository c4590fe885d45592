#!/usr/bin/env bash
# langfuse 5.0.4 with langchain 1.5.2 and langchain-core 1.8.3: the observation of a model call
# that is cancelled is never ended, so it is never exported: its handler ends it when the
# framework tells of an end or an error, and of a cancellation inside a model it tells nothing
# (https://github.com/langchain-ai/langchain/issues/39163 is the same of groups of chains). The
# decorator of the same package ends its own since
# https://github.com/langfuse/langfuse-python/pull/1566.
#
# Seen: of a call that answers, one that fails and one that is cancelled: how many
# observations begin, and how many end.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet langchain==1.5.2 langchain-core==1.8.3 \
  langfuse==5.0.4 opentelemetry-sdk==1.45.2
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langfuse import Langfuse
from langfuse.langchain import CallbackHandler
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult


class Nowhere(SpanExporter):
    def export(self, spans):
        return SpanExportResult.SUCCESS


class Counts:
    def __init__(self):
        self.begun = self.ended = 0

    def on_start(self, span, parent_context=None):
        self.begun += 1

    def on_end(self, span):
        self.ended += 1

    def _on_ending(self, span):
        pass


class Model(BaseChatModel):
    how: str

    @property
    def _llm_type(self):
        return "mine"

    def _generate(self, *_, **__):
        raise NotImplementedError

    async def _agenerate(self, *_, **__):
        if self.how == "fails":
            raise ValueError("no answer")
        if self.how == "is cancelled":
            await asyncio.Event().wait()
        return ChatResult(generations=[ChatGeneration(message=AIMessage("ok"))])


async def call(how):
    config = {"callbacks": [CallbackHandler()]}
    task = asyncio.ensure_future(Model(how=how).ainvoke("hi", config))
    if how == "is cancelled":
        for _ in range(50):
            await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait([task])
    task.cancelled() or task.exception()


provider, counts = TracerProvider(), Counts()
provider.add_span_processor(counts)
Langfuse(
    public_key="none", secret_key="none", tracer_provider=provider, span_exporter=Nowhere()
)
for how in ("answers", "fails", "is cancelled"):
    counts.begun = counts.ended = 0
    asyncio.run(call(how))
    print(how, counts.begun, counts.ended)
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "answers 1 1
fails 1 1
is cancelled 1 0"
