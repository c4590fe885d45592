"""Recorded exchanges of chat completions: what was asked, and what was answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compat.models.apis import CHAT, api_of, is_streamed
from compat.models.chat_answers import Answer, answer_of
from compat.models.chat_chunks import stream_of
from compat.models.chat_parts import Left
from compat.models.chat_requests import Asked, asked_of
from compat.models.errors import RequestError, ShapeError
from compat.wire.exchanges import Exchange, Response


@dataclass(frozen=True, slots=True)
class Step:
    """One exchange: its number in the file, from 1, what was asked and answered."""

    number: int
    asked: Asked
    answer: Answer


@dataclass(frozen=True, slots=True)
class Read:
    """All of a file: its steps, what they do not carry, and what speaks other APIs."""

    steps: tuple[Step, ...]
    left: Mapping[str, int]
    later: Mapping[str, int]


def read_exchanges(exchanges: Sequence[Exchange], file: str) -> Read:
    """Read every exchange of chat completions; raises RequestError."""
    left = Left()
    steps: list[Step] = []
    later: dict[str, int] = {}
    for number, exchange in enumerate(exchanges, 1):
        api = api_of(exchange)
        if api == CHAT:
            steps.append(read_exchange(exchange, file, number, left))
        else:
            later[api] = later.get(api, 0) + 1
    found = dict(sorted(left.found.items()))
    return Read(tuple(steps), found, dict(sorted(later.items())))


def read_exchange(exchange: Exchange, file: str, number: int, left: Left) -> Step:
    """Read one exchange of chat completions; raises RequestError."""
    try:
        asked = asked_of(exchange.request.body, left)
    except ShapeError as error:
        raise RequestError(file, number, str(error)) from error
    return Step(number, asked, read_response(exchange.response, left))


def read_response(response: Response, left: Left) -> Answer:
    """Read an answer in one piece or in a stream; whatever it is, it is one."""
    if is_streamed(response) and response.status < 300:
        return stream_of(response.body, left)
    return answer_of(response.status, response.body, left)
