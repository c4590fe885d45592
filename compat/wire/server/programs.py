"""The server of programs: worlds behind vendors' interfaces, and a log of what came.

    http://127.0.0.1:PORT/KEY/v1/chat/completions

A program has a key of its own and keeps it for all its sessions; the world behind it is
changed between them. Whatever comes from the program is put into the session's log at
once, so that its order is that in which it happened.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from compat.wire.interfaces.request import SentBody, VendorRequest
from compat.wire.interfaces.spoken import Interface, interface_at
from compat.wire.server.loopback import HOST, EventStream, LoopbackServer, body_of
from compat.wire.server.network import OwnNetwork
from compat.wire.server.refusals import NOT_FOUND, ApiError
from compat.wire.server.requests import parsed
from compat.wire.server.sessions import (
    ConnectionCut,
    Script,
    ScriptedAnswer,
    check_script,
)
from compat.wire.server.shapes import encoded
from refengine.messages import Message
from refengine.testing.json_values import is_mapping
from refengine.testing.scenario import Scenario

AGAIN: Final = {"retry-after-ms": "1", "retry-after": "0"}
"""Headers by which a client tries again at once: nobody waits for a scripted limit."""
EFFECTS: Final = "effects"
"""Path at which a program tells what it does to the world."""
SERVICES: Final = "services"
"""Path below which services stand by name; all they are asked is answered {}."""
RETRIED: Final = frozenset((408, 409, 429, 500, 502, 503, 504, 529))
"""Statuses after which the official clients ask again by themselves."""


@dataclass(frozen=True, slots=True)
class AskedModel:
    """A request as it came, and what the server said to it.

    ``answer`` is None where the connection was closed without one, and ``failure`` the
    name of an error that was answered, or of what cut a stream.
    """

    request: VendorRequest
    answer: Message | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class StrayRequest:
    """A request to an address that no interface has."""

    method: str
    path: str


@dataclass(frozen=True, slots=True)
class PostedEffect:
    """What a program told of itself: a name and data."""

    name: str
    data: object


Logged = AskedModel | StrayRequest | PostedEffect


@dataclass(slots=True)
class ProgramWorld:
    """The world behind a key: its script, and the log of what came."""

    scenario: Scenario
    hear: Callable[[Logged], None]
    script: Script = field(init=False)
    kept: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        check_script(self.scenario.model_script, "the world")
        self.script = Script(self.scenario)


@dataclass(slots=True)
class ProgramEndpoints:
    """What is answered at each path below a key."""

    worlds: dict[str, ProgramWorld]

    async def answer(self, request: Request) -> Response:
        """Answer whatever a program asks."""
        key, path = request.path_params["key"], request.path_params["path"]
        world = self.worlds.get(key)
        if world is None:
            return Response("there is no program of this key", 404)
        try:
            body = await body_of(request)
        except ClientDisconnect:
            return Response(status_code=400)  # which nobody reads
        if path == EFFECTS or path.startswith(f"{SERVICES}/"):
            return _heard(world, request, path, body)
        found = interface_at(request.method, path)
        if found is None:
            world.hear(StrayRequest(request.method, f"/{path}"))
            error = ApiError(f"{request.method} /{path} is not a model", kind=NOT_FOUND)
            return _json(error.kind.status, error.body, error.kind.headers)
        return Exchanged(world, found, path, body).response()


def _heard(world: ProgramWorld, request: Request, path: str, body: bytes) -> Response:
    """Put down an effect that a program tells, or a request to a service."""
    try:
        tree: object = json.loads(body) if body else None
    except (ValueError, RecursionError):
        tree = body.decode(errors="replace")
    if path != EFFECTS:
        _, name, *rest = path.split("/")
        query = f"?{request.url.query}" if request.url.query else ""
        where = f"{request.method} /{'/'.join(rest)}{query}"
        world.hear(PostedEffect(f"{name}: {where}", tree))
        return _json(200, {}, {})
    if request.method != "POST" or not is_mapping(tree) or "name" not in tree:
        text = 'POST {"name": "mailed", "data": ...} here'
        return _json(400, {"error": text}, {})
    world.hear(PostedEffect(str(tree["name"]), tree.get("data")))
    return _json(200, {}, {})


@dataclass(frozen=True, slots=True)
class Exchanged:
    """One request to a model, on its way to an answer."""

    world: ProgramWorld
    interface: Interface
    path: str
    body: bytes

    def response(self) -> Response:
        """Return the answer, put down before it is sent."""
        try:
            tree = parsed(self.body)
        except ApiError as error:
            self.world.hear(StrayRequest("POST", f"/{self.path} without JSON"))
            return self._refused(error)
        sent = SentBody(tree, self.path, self.world.kept)
        asked = self.interface.read(sent)
        try:
            self.interface.check(sent, asked)
            shown = [each.json for each in asked.tools]
            said = self.world.script.fitting(shown, stream=asked.streams)
        except ApiError as error:
            self.world.hear(AskedModel(asked, failure=error.message))
            return self._refused(error)
        except ConnectionCut:
            self.world.hear(AskedModel(asked, failure="connection closed"))
            return EventStream((), {}, cut=True)
        return self._said(sent, asked, said)

    def _said(
        self, sent: SentBody, asked: VendorRequest, said: ScriptedAnswer
    ) -> Response:
        failed = said.error.message if said.error else "cut" if said.cut else None
        self.world.hear(AskedModel(asked, said.message, failed))
        answer = self.interface.answer(sent, asked, said)
        headers = {"x-request-id": f"req-{said.call}"}
        if not asked.streams:
            return _json(200, answer.whole(), headers)
        headers["cache-control"] = "no-cache"
        return EventStream(tuple(answer.pieces()), headers, cut=said.cut)

    def _refused(self, error: ApiError) -> Response:
        status = error.kind.status
        kept = {k: v for k, v in error.kind.headers.items() if k != "x-should-retry"}
        headers = {**kept, **AGAIN} if status in RETRIED else kept
        if error.kind.code == "script_ended":
            headers = dict(error.kind.headers)
        return _json(*self.interface.failed(error), headers)


def _json(status: int, body: object, headers: Mapping[str, str]) -> Response:
    return Response(encoded(body), status, dict(headers), "application/json")


class ProgramServer(LoopbackServer):
    """Serves programs while its ``with`` block runs, each behind a key of its own.

    It listens in the ``network`` that they run in, if they have one of their own.
    """

    def __init__(self, network: OwnNetwork | None = None) -> None:
        self.network = network
        super().__init__()
        self._worlds: dict[str, ProgramWorld] = {}
        self._programs = ProgramEndpoints(self._worlds)
        self._numbers = count(1)

    def key(self) -> str:
        """Return a key that no program has yet."""
        return f"p{next(self._numbers)}"

    def begin(
        self, key: str, scenario: Scenario, hear: Callable[[Logged], None]
    ) -> None:
        """Put a world behind a key; raises NotAnAnswerError."""
        self._worlds[key] = ProgramWorld(scenario, hear)

    def end(self, key: str) -> None:
        """Take the world of a key away, if there is one."""
        self._worlds.pop(key, None)

    def _listening(self) -> socket.socket:
        if self.network is None:
            return super()._listening()
        found = self.network.socket()
        found.bind((HOST, 0))
        found.listen()
        return found

    def _application(self) -> Starlette:
        methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
        answer = self._programs.answer
        return Starlette(routes=[Route("/{key}/{path:path}", answer, methods=methods)])
