#!/usr/bin/env bash
# openinference-instrumentation-langchain 0.1.80 with langchain-core 1.8.3: the span of a
# model call that is cancelled is never ended. The framework tells its handlers of errors,
# and a cancellation inside a model is none to it; a span that does not end is not
# exported, and the kind of a span is only written at its end. So nothing at all is seen of
# the call that was cut, but the chain around it, where there is one, ends with an error.
#
# Seen: of a call that answers, one that fails and one that is cancelled: how many spans
# begin, and how many end.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet langchain-core==1.8.3 \
  openinference-instrumentation-langchain==0.1.80 opentelemetry-sdk==1.45.2
cat >"$WORK/shows.py" <<'PYTHON'
import asyncio

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import TracerProvider


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
    task = asyncio.ensure_future(Model(how=how).ainvoke("hi"))
    if how == "is cancelled":
        for _ in range(50):
            await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait([task])
    task.cancelled() or task.exception()


for how in ("answers", "fails", "is cancelled"):
    provider, counts = TracerProvider(), Counts()
    provider.add_span_processor(counts)
    LangChainInstrumentor().instrument(tracer_provider=provider)
    asyncio.run(call(how))
    LangChainInstrumentor().uninstrument()
    print(how, counts.begun, counts.ended)
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "answers 1 1
fails 1 1
is cancelled 1 0"
