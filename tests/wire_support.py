"""Exchanges, files and a server for the tests of the wire."""

import json
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import httpx2
import pytest

from compat.wire.exchanges import Exchange, Request, Response
from compat.wire.matching import ready
from compat.wire.transport import ReplayTransport
from compat.wire.writing import write_cassette

URL = "https://api.example/v1/chat/completions"
JSON = {"content-type": ("application/json",)}
EVENTS = {"content-type": ("text/event-stream",)}
ROOT = Path(__file__).parent.parent


def body(**fields) -> bytes:
    return json.dumps(fields).encode()


def request(said="hi", **more) -> Request:
    fields = {"messages": [{"role": "user", "content": said}], **more}
    return Request("POST", URL, JSON, body(**fields))


def exchange(said="hi", answer="hello", status=200, headers=JSON, **more) -> Exchange:
    return Exchange(
        request(said, **more), Response(status, "OK", headers, body(answer=answer))
    )


def three() -> list[Exchange]:
    return [exchange(said, said.upper()) for said in ("one", "two", "three")]


def written(path: Path, exchanges, scrubber=None) -> Path:
    """Write exchanges as they are given; the default scrubber leaves these alone."""
    from compat.wire.scrubbing import Scrubber

    write_cassette(path, list(exchanges), scrubber or Scrubber())
    return path


def post(client, said="hi", url=URL, **more):
    return client.post(url, content=request(said, **more).body, headers=plain(JSON))


def plain(headers) -> dict[str, str]:
    return {name: values[0] for name, values in headers.items()}


def replayed(exchanges, **more):
    """Return a transport for the exchanges, and a client of it."""
    transport = ReplayTransport(ready("some.yaml", exchanges), **more)
    return transport, httpx2.Client(transport=transport)


def inside(session, *steps):
    """Take the steps, which may raise, while the session is open."""
    with session:
        for step in steps:
            step()


def raising(error):
    """Return a step that raises."""

    def step():
        raise error

    return step


def hiding(step, error):
    """Return a step that makes another error of what the step raises."""

    def hidden():
        try:
            step()
        except Exception as cause:
            raise error from cause

    return hidden


def corpus() -> list[Path]:
    """Return the recorded exchanges of vendors, which are kept outside the project."""
    folder = os.environ.get("REFENGINE_CASSETTES", "")
    if not folder:
        pytest.skip(
            "36 cassettes of vendors are not checked: set REFENGINE_CASSETTES to"
            " their folder"
        )
    found = sorted(Path(folder).glob("*/*.yaml"))
    assert found, "REFENGINE_CASSETTES names a folder without cassettes"
    return found


class Answering(BaseHTTPRequestHandler):
    """Answers each request with the next of its class's answers."""

    protocol_version = "HTTP/1.1"
    answers: ClassVar[list] = []

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, headers, content, length = self.answers.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(length or len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = bool(length)

    do_GET = do_POST  # noqa: N815  # the name that the base class looks for

    def log_message(self, *args):
        """Say nothing."""


@contextmanager
def serving(*answers) -> Generator[str]:
    """Serve answers ``(status, headers, body)`` on loopback; return the address.

    A fourth part is a length that is promised and not kept.
    """
    given = [(*answer, 0)[:4] for answer in answers]
    handler = type("Answers", (Answering,), {"answers": given})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
