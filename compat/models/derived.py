"""What a cassette was read into: scenarios, where they come from, what is left out.

Written as JSON in our own notation, so that worlds of vendors' traffic are there
without the cassettes, which stay where they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from compat.models.apis import CHAT
from compat.models.errors import DerivedError, SecretError
from compat.models.scripts import Session
from refengine.testing.narrowing import is_mapping
from refengine.testing.reading import ScenarioError, read_scenario

SECRETS: Final = (
    ("a key of OpenAI or Anthropic", re.compile(r"\bsk-[\w-]{16,}")),
    ("a key of Google", re.compile(r"\bAIza[\w-]{20,}")),
    ("a key of AWS", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a key of Groq, xAI or Hugging Face", re.compile(r"\b(?:gsk|xai|hf)[_-]\w{20,}")),
    ("a token of GitHub", re.compile(r"\b(?:gh[oprsu]|github_pat)_\w{20,}")),
    ("a token of Slack", re.compile(r"\bxox[abeprs]-[\w-]{10,}")),
    ("a bearer token", re.compile(r"\bBearer\s+[\w.~+/-]{16,}")),
    ("a JSON web token", re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")),
)
"""What the text of a derived script is searched for before it is written."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a cassette comes from; empty where its folder does not say so."""

    repository: str = ""
    path: str = ""
    commit: str = ""
    licence: str = ""


@dataclass(frozen=True, slots=True)
class Derived:
    """One cassette: its sessions, its source, its digest, and what they leave out.

    ``not_carried`` counts by place what of the exchanges stands in no scenario;
    ``later`` counts the exchanges of other APIs by their names.
    """

    file: str
    sha256: str
    sessions: tuple[Session, ...]
    not_carried: Mapping[str, int] = field(default_factory=dict[str, int])
    later: Mapping[str, int] = field(default_factory=dict[str, int])
    source: Source = Source()

    @property
    def exchanges(self) -> int:
        """How many exchanges the sessions are made of."""
        return sum(len(each.exchanges) for each in self.sessions)


def text_of(derived: Derived) -> str:
    """Return the file that ``read_derived`` reads back; raises SecretError."""
    text = json.dumps(_tree(derived), ensure_ascii=False, indent=1) + "\n"
    for kind, looks_so in SECRETS:
        if looks_so.search(text):
            raise SecretError(derived.file, kind)
    return text


def _tree(derived: Derived) -> dict[str, Any]:
    source = derived.source
    known = ("repository", "path", "commit", "licence")
    return {
        "file": derived.file,
        "sha256": derived.sha256,
        "source": {key: getattr(source, key) for key in known if getattr(source, key)},
        "api": CHAT,
        "exchanges": derived.exchanges,
        "later": dict(derived.later),
        "not_carried": dict(derived.not_carried),
        "sessions": [
            {
                "exchanges": list(each.exchanges),
                "notes": list(each.notes),
                "scenario": each.scenario.model_dump(
                    mode="json", exclude_defaults=True
                ),
            }
            for each in derived.sessions
        ],
    }


def read_derived(text: str, file: str) -> Derived:
    """Read a derived script; raises DerivedError."""
    try:
        tree = json.loads(text)
        if not is_mapping(tree):
            raise DerivedError(file, "is no object")
        return _read(tree)
    except ScenarioError as error:
        raise DerivedError(file, str(error)) from error
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, DerivedError):
            raise
        raise DerivedError(file, f"is no derived script ({error})") from error


def _read(tree: Mapping[str, Any]) -> Derived:
    sessions = tuple(
        Session(
            read_scenario(each["scenario"]),
            tuple(each["exchanges"]),
            tuple(each["notes"]),
        )
        for each in tree["sessions"]
    )
    source = Source(**tree["source"])
    left, later = tree["not_carried"], tree["later"]
    return Derived(tree["file"], tree["sha256"], sessions, left, later, source)
