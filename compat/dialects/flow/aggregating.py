"""Chunks of a streamed answer, and the whole responses that they come to.

A chunk is told as it comes, marked partial; what a session keeps are the whole
responses. There are two ways to make them. By the first part: text is gathered, answer
and thoughts apart, until a chunk comes that begins with something else. Progressive:
every chunk is partial, and one response at the end has runs of text and all other parts
in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from compat.dialects.flow.content import Content, FunctionCall, Part
from compat.dialects.flow.errors import EmptyResponseError
from compat.dialects.flow.model import LlmResponse
from compat.dialects.flow.partial_args import PartialArguments

if TYPE_CHECKING:
    from compat.dialects.flow.profile import FlowProfile

WELL: Final = "STOP"
"""The finish reason of an answer that ended as it should."""


class StreamAggregator(Protocol):
    """Takes the chunks of one stream in turn, then is closed."""

    def feed(self, chunk: LlmResponse | None) -> Iterator[LlmResponse]:
        """Yield what a chunk gives; None is a chunk in which the vendor said nothing.

        Raises EmptyResponseError for such a chunk, under profiles that do.
        """
        ...

    def close(self) -> LlmResponse | None:
        """Return the response that is left when the stream has ended."""
        ...


def aggregator(profile: FlowProfile) -> StreamAggregator:
    """Return what makes responses of one stream under a profile."""
    if profile.aggregation == "progressive":
        return _Progressive(profile)
    return _FirstPart(profile)


def aggregate(
    chunks: Iterable[LlmResponse | None], profile: FlowProfile
) -> Iterator[LlmResponse]:
    """Yield everything that a whole stream gives, partial responses included."""
    stream = aggregator(profile)
    for chunk in chunks:
        yield from stream.feed(chunk)
    last = stream.close()
    if last is not None:
        yield last


def _known(chunk: LlmResponse | None, profile: FlowProfile) -> LlmResponse:
    if chunk is not None:
        ends = chunk.turn_complete or bool(chunk.finish_reason)
        bare = _first_part(chunk) is None and profile.bare_finish == "error_code"
        code = chunk.error_code or (chunk.finish_reason if bare else "")
        return replace(chunk, turn_complete=ends, error_code=code)
    if profile.no_candidates == "error":
        raise EmptyResponseError
    return LlmResponse()


def _first_part(chunk: LlmResponse) -> Part | None:
    parts = () if chunk.content is None else chunk.content.parts
    return parts[0] if parts else None


class _FirstPart:
    """What gathers text until a chunk begins with something else."""

    def __init__(self, profile: FlowProfile) -> None:
        self._profile = profile
        self._text: dict[bool, str] = {}
        self._last: LlmResponse | None = None

    def feed(self, chunk: LlmResponse | None) -> Iterator[LlmResponse]:
        told = self._last = _known(chunk, self._profile)
        part = _first_part(told)
        if part is not None and part.text:
            self._text[part.thought] = self._text.get(part.thought, "") + part.text
            yield replace(told, partial=True)
        elif part is not None and self._passed_over(part):
            yield replace(told, partial=True)
        else:
            # Bytes may be sound that is told beside the text, which goes on after it.
            if self._text and (part is None or part.blob is None):
                yield self._gathered(told)
            yield told

    def _passed_over(self, part: Part) -> bool:
        return part.empty and self._profile.empty_chunk_part == "passed_over"

    def close(self) -> LlmResponse | None:
        if self._last is None:
            return None
        if self._text or self._profile.closing_response == "always":
            return self._gathered(self._last)
        return None

    def _gathered(self, chunk: LlmResponse) -> LlmResponse:
        """Return thoughts, then text, with all else as in the chunk that came last."""
        parts = tuple(
            Part(text=self._text[thought], thought=thought)
            for thought in (True, False)
            if thought in self._text
        )
        self._text = {}
        content = Content("model", parts) if parts else None
        return replace(chunk, content=content, partial=False, turn_complete=False)


class _Progressive:
    """What keeps runs of text and all other parts in their order."""

    def __init__(self, profile: FlowProfile) -> None:
        self._profile = profile
        self._parts: list[Part] = []
        self._run: list[Part] = []
        self._call: FunctionCall | None = None
        self._args = PartialArguments()
        self._last: LlmResponse | None = None

    def feed(self, chunk: LlmResponse | None) -> Iterator[LlmResponse]:
        told = _known(chunk, self._profile)
        self._last = told if self._last is None else _retaining(self._last, told)
        for part in () if told.content is None else told.content.parts:
            self._take(part)
        yield replace(told, partial=True)

    def _take(self, part: Part) -> None:
        if part.text:
            if self._run and self._run[0].thought != part.thought:
                self._end_run()
            self._run.append(part)
        elif part.call is not None:
            self._take_call(part, part.call)
        elif not part.empty or self._profile.empty_chunk_part == "as_another":
            self._end_run()
            self._parts.append(part)

    def _take_call(self, part: Part, call: FunctionCall) -> None:
        goes_on = self._call is not None and not call.args
        if not (call.partial_args or call.will_continue is not None or goes_on):
            self._end_run()
            self._end_call()
            if call.name:
                self._parts.append(part)
            return
        if self._call is not None and call.name not in {"", self._call.name}:
            self._end_call()
        if self._call is None:
            self._end_run()
            self._call = FunctionCall(call.name, id=call.id)
        for piece in call.partial_args:
            self._args.add(piece)
        if not call.will_continue:
            self._end_call()

    def _end_run(self) -> None:
        if self._run:
            text = "".join(each.text for each in self._run)
            self._parts.append(Part(text=text, thought=self._run[0].thought))
            self._run = []

    def _end_call(self) -> None:
        args = self._args.taken()
        if self._call is not None and self._call.name:
            self._parts.append(Part(call=replace(self._call, args=args)))
        self._call = None

    def close(self) -> LlmResponse | None:
        if self._last is None:
            return None
        self._end_run()
        self._end_call()
        parts = self._parts
        if self._profile.repeated_calls == "first":
            parts = _without_repeated(parts)
        if not parts and self._profile.closing_response == "if_pending":
            return None
        content = Content("model", tuple(parts)) if parts else None
        whole = replace(self._last, content=content, partial=False)
        if whole.finish_reason == WELL:
            return replace(whole, error_code="", error_message="")
        return whole


def _without_repeated(parts: Sequence[Part]) -> list[Part]:
    """Return the parts without calls whose id an earlier one has."""
    seen: set[str] = set()
    kept: list[Part] = []
    for part in parts:
        told = "" if part.call is None else part.call.id
        if told and told in seen:
            continue
        seen.add(told)
        kept.append(part)
    return kept


def _retaining(known: LlmResponse, told: LlmResponse) -> LlmResponse:
    """Return the later chunk with what only an earlier one said."""
    return replace(
        told,
        usage=told.usage or known.usage,
        grounding=told.grounding if told.grounding is not None else known.grounding,
        finish_reason=told.finish_reason or known.finish_reason,
    )
