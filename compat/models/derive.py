"""Deriving scripts from a folder of cassettes.

    python -m compat.models.derive FOLDER OUT

writes a file of scenarios for each cassette with chat completions, and an index of all
exchanges by API, and lists what speaks other APIs. Scripts that the last index named
and this one does not are removed. It exits with 1 if a cassette could not be read,
after all others were.

Scripts are written as JSON in our own notation, so that worlds of vendors' traffic are
there without the cassettes, which stay where they are.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from compat.models.errors import DerivedError, TrafficError
from compat.models.exchanges import read_exchanges
from compat.models.scripts import RecordedSession, sessions
from compat.wire.cassette_files import parsed
from compat.wire.errors import WireError
from compat.wire.interfaces.chat import CHAT
from refengine.testing.given_text import read_json
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.scenario_files import ScenarioError, read_scenario

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
    sessions: tuple[RecordedSession, ...]
    not_carried: Mapping[str, int] = field(default_factory=dict[str, int])
    later: Mapping[str, int] = field(default_factory=dict[str, int])
    source: Source = Source()

    @property
    def exchanges(self) -> int:
        """How many exchanges the sessions are made of."""
        return sum(len(each.exchanges) for each in self.sessions)


def text_of(derived: Derived) -> str:
    """Return the file that ``read_derived`` reads back; raises TrafficError."""
    text = json.dumps(_tree(derived), ensure_ascii=False, indent=1) + "\n"
    for kind, looks_so in SECRETS:
        if looks_so.search(text):
            raise TrafficError(
                f"{derived.file}: what is derived holds something like {kind};"
                " scrub the cassette before deriving from it"
            )
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
        tree = read_json(text)
        if not is_mapping(tree):
            raise DerivedError(file, "is not an object")
        return _read(tree)
    except ScenarioError as error:
        raise DerivedError(file, str(error)) from error
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, DerivedError):
            raise
        raise DerivedError(file, f"is not a derived script ({error})") from error


def _read(tree: Mapping[str, Any]) -> Derived:
    sessions = tuple(
        RecordedSession(
            read_scenario(each["scenario"]),
            tuple(each["exchanges"]),
            tuple(each["notes"]),
        )
        for each in tree["sessions"]
    )
    source = Source(**tree["source"])
    left, later = tree["not_carried"], tree["later"]
    return Derived(tree["file"], tree["sha256"], sessions, left, later, source)


INDEX: Final = "index.json"
SUFFIXES: Final = frozenset((".yaml", ".yml", ".json"))
FAILED: Final = 1
USAGE: Final = 2


def cassettes(folder: Path) -> list[Path]:
    """Return the cassettes of a folder and those below it; raises TrafficError."""
    found = [each for each in folder.rglob("*") if each.suffix in SUFFIXES]
    paths = sorted(each for each in found if each.is_file() and each.name != INDEX)
    if not paths:
        raise TrafficError(
            f"{folder} holds no cassette (*.yaml, *.yml, *.json): name another folder"
        )
    return paths


def derive(path: Path, folder: Path | None = None) -> Derived:
    """Return what a cassette can be played as; its name is relative to the folder.

    The folder's ``index.json`` says where it comes from, if there is one. Raises a
    CassetteError for a file that is none, and RequestError for a request of chat
    completions that has no messages. A cassette of other APIs has no sessions.
    """
    name = path.name if folder is None else path.relative_to(folder).as_posix()
    data = path.read_bytes()
    read = read_exchanges(parsed(data, name).exchanges, name)
    source = sources(path.parent if folder is None else folder).get(name, Source())
    digest = hashlib.sha256(data).hexdigest()
    found = sessions(read.steps)
    return Derived(name, digest, found, read.left, read.later, source)


def sources(folder: Path) -> dict[str, Source]:
    """Return where the files of a folder come from, as its ``index.json`` says.

    It is a list of objects with ``file``, ``source_repo``, ``path``, ``commit`` and
    ``licence``; without the file nothing is known. Raises TrafficError.
    """
    path = folder / INDEX
    if not path.is_file():
        return {}
    with suppress(ValueError):
        tree = read_json(path.read_bytes())
        if is_list(tree) and all(map(is_mapping, tree)):
            return {str(each.get("file")): _source(each) for each in tree}
    raise TrafficError(
        f"{INDEX} is not a list of objects that name a file and its source:"
        " repair it, or remove it"
    )


def _source(entry: Mapping[str, Any]) -> Source:
    keys = ("source_repo", "path", "commit", "licence")
    return Source(*(str(entry.get(key) or "") for key in keys))


def index_of(derived: Sequence[Derived]) -> dict[str, dict[str, int]]:
    """Return the exchanges of each file by API."""
    return {each.file: by_api(each) for each in derived}


def by_api(derived: Derived) -> dict[str, int]:
    """Return how many exchanges of a file speak which API."""
    chat = {CHAT: derived.exchanges} if derived.exchanges else {}
    return {**chat, **derived.later}


def left_for_later(
    index: Mapping[str, Mapping[str, int]],
) -> Iterator[tuple[str, str, int]]:
    """Yield what speaks other APIs: the API, the file, how many exchanges."""
    apis = sorted({api for counts in index.values() for api in counts} - {CHAT})
    for api in apis:
        for file, counts in sorted(index.items()):
            if api in counts:
                yield api, file, counts[api]


def table_of(index: Mapping[str, Mapping[str, int]]) -> str:
    """Return what is left for later as a table of ``docs/vendor-traffic.md``."""
    rows = left_for_later(index)
    lines = [f"| {api} | `{file}` | {count} |" for api, file, count in rows]
    return "\n".join(("| API | cassette | exchanges |", "|---|---|---|", *lines)) + "\n"


def write(derived: Sequence[Derived], out: Path) -> None:
    """Write what was derived, and the index; remove what only the last index named.

    Nothing is written if one of them holds what looks like a secret (TrafficError).
    """
    texts = {script_of(each.file): text_of(each) for each in derived if each.sessions}
    for name in set(map(script_of, read_index(out))) - texts.keys():
        (out / name).unlink(missing_ok=True)
    index = json.dumps(index_of(derived), indent=1, ensure_ascii=False) + "\n"
    for name, text in {**texts, INDEX: index}.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def script_of(file: str) -> str:
    """Return the name of the script that is derived from a cassette."""
    return f"{file}.json"


def read_index(out: Path) -> Mapping[str, Mapping[str, int]]:
    """Return the index of a folder of scripts, empty if there is none."""
    path = out / INDEX
    if not path.is_file():
        return {}
    tree = read_json(path.read_text("utf-8"))
    if not is_mapping(tree) or not all(map(is_mapping, tree.values())):
        raise DerivedError(INDEX, "is not an index of derived scripts")
    return tree


def main(arguments: Sequence[str]) -> int:
    """Derive, write and list; return the exit code."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m compat.models.derive FOLDER OUT\n")
        return USAGE
    folder, out = (Path(each).resolve() for each in arguments)
    found: list[Derived] = []
    wrong: list[str] = []
    try:
        if out.is_relative_to(folder):
            raise TrafficError(
                f"{arguments[1]} is in the folder of the cassettes:"
                " write to another folder"
            )
        for path in cassettes(folder):
            try:
                found.append(derive(path, folder))
            except (TrafficError, WireError) as error:
                wrong.append(str(error))
        write(found, out)
    except TrafficError as error:
        wrong.append(str(error))
    _tell(found, wrong)
    return FAILED if wrong else 0


def _tell(found: Sequence[Derived], wrong: Sequence[str]) -> None:
    files = sum(bool(each.sessions) for each in found)
    played = sum(len(each.sessions) for each in found)
    chat = sum(each.exchanges for each in found)
    lines = [f"{CHAT}: {chat} exchanges of {files} files in {played} sessions"]
    rows = left_for_later(index_of(found))
    lines += ["left for later:", *(f"{api}: {name} ({n})" for api, name, n in rows)]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stderr.write("".join(f"{line}\n" for line in wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
