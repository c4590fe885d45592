"""``refengine comment``: a page as the one comment that a pull request keeps of it.

In a job of GitHub's, whose variables say which pull request it is about. The comment
of an earlier run is found by a mark in it and written anew.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from compat.cli.command import argument, command, option, refuse, refusing
from compat.cli.values import FILE_THERE
from compat.verdicts.exit_codes import FAULT, OK
from refengine.testing.given_text import unread

LONGEST: Final = 60_000
"""Characters of a comment; the host takes a few more."""
CUT: Final = "\n\n… the rest is in the job's summary\n"
PAGE: Final = 100
"""Comments that are looked through at a time."""
PATIENCE: Final = 30.0


class NoPullRequestError(ValueError):
    """A job that is about no pull request, or a line outside of any job."""


class NoPageError(ValueError):
    """A file that is no page: it holds something else than text."""


class CommentError(Exception):
    """The host did not take the comment, or could not be asked."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """The pull request of a job: where its comments are, and who may write there."""

    comments: str
    token: str

    @classmethod
    def of_job(cls, environment: Mapping[str, str]) -> PullRequest:
        """Return that of a job, by its variables; raises NoPullRequestError."""
        missing = [
            name
            for name in ("GITHUB_REPOSITORY", "GITHUB_EVENT_PATH", "GITHUB_TOKEN")
            if not environment.get(name)
        ]
        if missing:
            raise NoPullRequestError(
                f"${missing[0]} is not set: this is for a job of GitHub's, with"
                " GITHUB_TOKEN: ${{ github.token }} among its variables"
            )
        event = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_text("utf-8"))
        number = event.get("pull_request", {}).get("number")
        if number is None:
            raise NoPullRequestError(
                "the job is about no pull request: run it on pull_request"
            )
        host = environment.get("GITHUB_API_URL", "https://api.github.com")
        issue = f"{host}/repos/{environment['GITHUB_REPOSITORY']}/issues/{number}"
        return cls(f"{issue}/comments", environment["GITHUB_TOKEN"])

    def keep(self, text: str, mark: str) -> str:
        """Write a comment anew, or the first time; return where it is.

        Raises CommentError.
        """
        found = self._marked(mark)
        if found is None:
            return str(self._asked("POST", self.comments, text)["html_url"])
        return str(self._asked("PATCH", found, text)["html_url"])

    def _marked(self, mark: str) -> str | None:
        """Return the address of the comment with a mark, None if there is none."""
        for page in range(1, PAGE):
            address = f"{self.comments}?per_page={PAGE}&page={page}"
            some = self._asked("GET", address)
            for each in some:
                if mark in (each.get("body") or ""):
                    return str(each["url"])
            if len(some) < PAGE:
                break
        return None

    def _asked(self, method: str, address: str, body: str | None = None) -> Any:  # noqa: ANN401  # any JSON
        from urllib.error import HTTPError
        from urllib.request import Request, urlopen

        data = None if body is None else json.dumps({"body": body}).encode()
        heads = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        }
        asked = Request(address, data, heads, method=method)  # noqa: S310  # the host's
        try:
            with urlopen(asked, timeout=PATIENCE) as got:  # noqa: S310  # as above
                return json.load(got)
        except HTTPError as error:
            what = "; give the job permissions: pull-requests: write"
            why = what if error.code in {401, 403, 404} else ""
            raise CommentError(f"{method} of a comment: {error}{why}") from None
        except OSError as error:
            raise CommentError(f"{address}: {error}") from None


def _text_of(page: Path) -> str:
    """Return what a page says; raises OSError, and NoPageError for what is no text."""
    try:
        return page.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise NoPageError(f"{page}: {unread(error, 'text')}") from None


@command()
@argument("page", "a page that --markdown wrote", FILE_THERE)
@option(
    "--name",
    about="tells several comments of one pull request apart",
    default="refengine",
)
def comment(*, page: Path, name: str) -> int:
    """Keep a page as a comment on the pull request that a job of GitHub's is about.

    The next run writes the same comment anew. Where the job is about no pull request,
    nothing is written, and that is told.

    Exit codes: 0 written, 2 a mistake in what was given, or no pull request, 3 the host
    does not take it.
    """
    if not re.fullmatch(r"[\w.-]+", name):
        refuse("comment", f"--name {name}: use letters, digits, dots and hyphens")
    mark = f"<!-- refengine: {name} -->"
    with refusing("comment", NoPullRequestError, NoPageError, OSError):
        text = _text_of(page)
        to = PullRequest.of_job(os.environ)
    short = text if len(text) <= LONGEST else text[:LONGEST] + CUT
    with refusing("comment", CommentError, code=FAULT):
        click.echo(to.keep(f"{mark}\n{short}", mark))
    return OK


app = comment
