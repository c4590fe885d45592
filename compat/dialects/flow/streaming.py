"""A model over a vendor's raw chunks: what it streams is aggregated on its way."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeAlias, final

from compat.dialects.flow.aggregating import aggregator
from compat.dialects.flow.model import LlmRequest, LlmResponse
from compat.dialects.flow.profile import FlowProfile

ChunkSource: TypeAlias = Callable[
    [LlmRequest, bool], AsyncIterator["LlmResponse | None"]
]
"""Is given the request and whether to stream; None is a chunk that says nothing."""


@final
@dataclass(frozen=True, slots=True)
class AggregatedModel:
    """A FlowModel that tells chunks as they come, and whole responses behind them."""

    name: str
    source: ChunkSource
    profile: FlowProfile

    async def generate(
        self, request: LlmRequest, *, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer the request; raises EmptyResponseError as the aggregator does."""
        if not stream:
            async for chunk in self.source(request, False):  # noqa: FBT003  # as its type says
                yield LlmResponse() if chunk is None else chunk
            return
        gathered = aggregator(self.profile)
        async for chunk in self.source(request, True):  # noqa: FBT003  # as its type says
            for response in gathered.feed(chunk):
                yield response
        last = gathered.close()
        if last is not None:
            yield last
