"""The comment of a pull request: written once, and anew by each run."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

from compat.cli.comment import CUT, LONGEST
from tests.commands import refengine


class Host(ThreadingHTTPServer):
    """A code host that keeps comments, on loopback."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.comments: list[dict[str, Any]] = []
        self.refuses = 0
        self.seen: list[tuple[str, str | None]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Asked(BaseHTTPRequestHandler):
    """What is asked of it, as far as a comment needs it."""

    @property
    def host(self) -> Host:
        return cast("Host", self.server)

    def do_GET(self) -> None:  # as http.server calls it
        page = int(self.path.rpartition("page=")[2])
        self._say(self.host.comments[100 * (page - 1) : 100 * page])

    def do_POST(self) -> None:  # as http.server calls it
        self._keep(len(self.host.comments))

    def do_PATCH(self) -> None:  # as http.server calls it
        self._keep(int(self.path.rpartition("/")[2]))

    def _keep(self, at: int) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        url = f"{self.host.address}/comment/{at}"
        made = {"body": given["body"], "url": url, "html_url": f"{url}#shown"}
        self.host.comments[at : at + 1] = [made]
        self._say(made)

    def _say(self, found: object) -> None:
        self.host.seen.append((self.command, self.headers["Authorization"]))
        data = json.dumps(found).encode()
        self.send_response(self.host.refuses or 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name
        """Say nothing."""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """Return a host whose job is about a pull request, with a page to comment."""
    event = tmp_path / "event.json"
    event.write_text('{"pull_request": {"number": 7}}', "utf-8")
    (tmp_path / "page.md").write_text("## HOLDS\n", "utf-8")
    with Host() as host:
        monkeypatch.setenv("GITHUB_API_URL", host.address)
        monkeypatch.setenv("GITHUB_REPOSITORY", "me/mine")
        monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
        monkeypatch.setenv("GITHUB_TOKEN", "a-token")
        thread = threading.Thread(target=host.serve_forever, args=(0.01,))
        thread.start()
        yield host
        host.shutdown()
        thread.join()


def test_comment_is_written_once_and_then_anew(host: Host, tmp_path: Path) -> None:
    first = refengine("comment", "page.md", at=tmp_path)
    (tmp_path / "page.md").write_text("## DIVERGES\n", "utf-8")
    second = refengine("comment", "page.md", at=tmp_path)

    assert (first.returncode, first.stderr) == (second.returncode, second.stderr)
    assert first.stdout == second.stdout == f"{host.address}/comment/0#shown\n"
    [kept] = host.comments
    assert kept["body"] == "<!-- refengine: refengine -->\n## DIVERGES\n"
    assert {each for _, each in host.seen} == {"Bearer a-token"}
    assert [each for each, _ in host.seen] == ["GET", "POST", "GET", "PATCH"]


def test_own_comment_is_found_behind_many_of_others(host: Host, tmp_path: Path) -> None:
    others: list[dict[str, Any]] = [{"body": None}, *[{"body": "x"}] * 120]
    mine = {"body": "<!-- refengine: refengine -->", "url": f"{host.address}/c/121"}
    host.comments = [*others, mine]

    done = refengine("comment", "page.md", at=tmp_path)

    assert (done.returncode, len(host.comments)) == (0, 122)
    assert host.comments[121]["body"].endswith("## HOLDS\n")


def test_comments_of_two_names_stand_beside_each_other(
    host: Host, tmp_path: Path
) -> None:
    refengine("comment", "page.md", at=tmp_path)
    refengine("comment", "page.md", "--name", "other", at=tmp_path)

    assert len(host.comments) == 2


def test_page_that_is_too_long_is_cut(host: Host, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("x" * 2 * LONGEST, "utf-8")

    assert refengine("comment", "page.md", at=tmp_path).returncode == 0

    assert host.comments[0]["body"].endswith(f"x{CUT}")
    assert len(host.comments[0]["body"]) < LONGEST + 100


def test_host_that_refuses_is_told_with_what_to_do(host: Host, tmp_path: Path) -> None:
    host.refuses = 403

    done = refengine("comment", "page.md", at=tmp_path)

    assert done.returncode == 3
    assert "HTTP Error 403" in done.stderr
    assert "give the job permissions: pull-requests: write" in done.stderr
    assert "a-token" not in done.stderr


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("GITHUB_TOKEN", "", "$GITHUB_TOKEN is not set: this is for a job of GitHub's"),
        ("GITHUB_EVENT_PATH", "push.json", "the job is about no pull request"),
        ("GITHUB_EVENT_PATH", "none.json", "none.json: No such file"),
    ],
)
def test_job_without_a_pull_request_is_told(
    host: Host,
    name: str,
    value: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "push.json").write_text("{}", "utf-8")
    monkeypatch.setenv(name, value)

    done = refengine("comment", "page.md", at=tmp_path)

    assert (done.returncode, host.seen) == (2, [])
    assert told in done.stderr


def test_name_that_would_end_the_mark_is_refused(host: Host, tmp_path: Path) -> None:
    done = refengine("comment", "page.md", "--name", "a-->b", at=tmp_path)

    assert (done.returncode, host.seen) == (2, [])
    assert "use letters, digits, dots and hyphens" in done.stderr


def test_page_that_is_no_text_is_refused(host: Host, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_bytes(b"\x89PNG\xff")

    done = refengine("comment", "page.md", at=tmp_path)

    assert (done.returncode, host.seen) == (2, [])
    assert done.stderr.startswith("refengine comment: page.md: is not UTF-8 text")
