"""``migration.toml``: what a migration is held to, and what may differ in it.

about = "Keeps the last messages of a long history."
old = "old.py"
require = "same-effects"
outside = ["at least one tool"]
worlds = ["chats.jsonl"]
tools = ["tools.json"]

[samples]
texts = ["Where is my order?"]
ids = ["A-4711"]
documents = ["Returns are free for 30 days."]

[cases."right.py"]
holds = "same-effects"

[cases."wrong.py"]
diverges = "MESSAGE_LOST"

[[volatile]]
channel = "effects"
path = "[*].data.at"
reason = "a time stamp"

[[cases."right.py".allow]]
channel = ["requests", "state"]
path = "[*].messages[*].content"
role = "tool"
old = "Error: no tool *"
new = "There is no tool *"
reason = "the new framework's own words for a tool that it does not have"
world = "worlds/no_tool.json"

[[equivalent]]
file = "right.py"
line = "last = messages[len(system) :][-KEEP:]"
change = "-KEEP -> -KEEP - 0"
reason = "says the same"

[[order]]
first = "redact"
then = "log"
reason = "a log has no names in it"
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails

from compat.migration.codes import CODES
from compat.migration.options import known
from compat.verdicts.relations import DEFAULT_RELATION, RELATIONS
from refengine.messages import Role
from refengine.testing.channels import CHANNELS
from refengine.testing.given_text import problem as in_words
from refengine.testing.given_text import read_toml, unread
from refengine.testing.subject_worlds.unusual import OUTSIDE

FILE: Final = "migration.toml"
SCHEMA: Final = "migration-settings.schema.json"
"""The file of its schema, beside it and on the site."""


class SettingsError(ValueError):
    """A file of settings that cannot be read, or that says something unknown."""

    def __init__(self, path: Path, problems: Iterable[str]) -> None:
        self.path = path
        self.problems = tuple(problems)
        super().__init__("\n".join((f"{path}:", *(f"  {p}" for p in self.problems))))


def _listed(names: Iterable[str]) -> WithJsonSchema:
    """Have a schema list these names, which an editor then proposes."""
    return WithJsonSchema({"enum": [*names]})


Relation = Annotated[
    str, AfterValidator(lambda v: known(v, RELATIONS, "relation")), _listed(RELATIONS)
]
CodeName = Annotated[
    str, AfterValidator(lambda v: known(v, CODES, "code")), _listed(CODES)
]
ChannelName = Annotated[
    str, AfterValidator(lambda v: known(v, CHANNELS, "channel")), _listed(CHANNELS)
]
Channels = Annotated[
    tuple[ChannelName, ...],
    BeforeValidator(lambda v: [v] if isinstance(v, str) else v),
    Field(min_length=1),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [*CHANNELS]},
                {"type": "array", "items": {"enum": [*CHANNELS]}, "minItems": 1},
            ]
        }
    ),
]
Outside = Annotated[
    str, AfterValidator(lambda v: known(v, OUTSIDE, "declaration")), _listed(OUTSIDE)
]
Text = Annotated[str, Field(min_length=1)]


class SettingsPart(BaseModel):
    """A part of the file: frozen, and nothing in it is unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Volatile(SettingsPart):
    """Places of a channel, and why they may differ."""

    channel: ChannelName
    path: Text
    reason: Text


class Allowance(SettingsPart):
    """An intended difference; ``world`` is the file of the smallest one needing it.

    It may show in several channels, be that of messages with one ``role``, and between
    texts: what ``old`` and ``new`` have, with ``*`` for any piece.
    """

    channel: Channels
    path: Text
    reason: Text
    world: Text
    role: Role | None = None
    old: str | None = None
    new: str | None = None


class Equivalent(SettingsPart):
    """A small change of a file that nothing can notice, pinned to its line's text."""

    file: Text
    line: Text
    change: Text
    reason: Text


class MeantOrder(SettingsPart):
    """Two extensions of a list whose order is meant, by what an audit calls them."""

    first: Text
    then: Text
    reason: Text


class DeclaredCase(SettingsPart):
    """A new side: it ``holds`` a relation, or ``diverges`` with a code.

    ``engine`` is the one that it is played on, if it is not written in Python.
    """

    about: str = ""
    engine: Text | None = None
    holds: Relation | None = None
    diverges: CodeName | None = None
    allow: tuple[Allowance, ...] = ()

    @model_validator(mode="after")
    def _one_of_two(self) -> DeclaredCase:
        if self.holds is not None and self.diverges is not None:
            raise ValueError("give 'holds' or 'diverges', not both")
        return self


class DeclaredSamples(SettingsPart):
    """Data of the user's own; a document is a text, or a table."""

    texts: tuple[Text, ...] | None = Field(default=None, min_length=1)
    ids: tuple[Text, ...] | None = Field(default=None, min_length=1)
    documents: tuple[Text | dict[str, JsonValue], ...] | None = Field(
        default=None, min_length=1
    )

    @model_validator(mode="after")
    def _not_empty(self) -> DeclaredSamples:
        if not self.model_fields_set:
            raise ValueError("give 'texts', 'ids' or 'documents', or leave it out")
        return self


class Settings(SettingsPart):
    """One migration: the old side, the new ones by file, what may differ.

    Worlds that break what is declared ``outside`` are unusual: "at least one tool" says
    that the subjects are used with tools, so a world without any is one that no caller
    of theirs meets. ``worlds`` and ``tools`` are files beside the settings. Sides that
    are not written in Python have engines: ``old_engine``, and ``new_engine`` where a
    case names none of its own. ``old_with`` and ``new_with`` are the packages that a
    side in Python runs with, ``old_setup`` and ``new_setup`` files that it runs first.
    ``order`` is for ``refengine audit order``.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "$id": f"urn:refengine:{SCHEMA}",
            "title": "Migration settings",
        }
    )

    about: str = ""
    old: Text = "old.py"
    old_engine: Text | None = None
    new_engine: Text | None = None
    old_with: tuple[Text, ...] = ()
    new_with: tuple[Text, ...] = ()
    old_setup: Text | None = None
    new_setup: Text | None = None
    require: Relation = DEFAULT_RELATION
    outside: tuple[Outside, ...] = ()
    worlds: tuple[Text, ...] = ()
    tools: tuple[Text, ...] = ()
    samples: DeclaredSamples | None = None
    cases: dict[str, DeclaredCase] = Field(default_factory=dict[str, DeclaredCase])
    volatile: tuple[Volatile, ...] = ()
    equivalent: tuple[Equivalent, ...] = ()
    order: tuple[MeantOrder, ...] = ()


def schema_text() -> str:
    """Return the file of the schema, by which an editor proposes and checks entries."""
    return json.dumps(Settings.model_json_schema(), indent=2, sort_keys=True) + "\n"


def load_settings(path: Path) -> Settings:
    """Read a file of settings; raises SettingsError or OSError."""
    try:
        return Settings.model_validate(read_toml(path.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(path, [unread(error, "TOML")]) from None
    except ValidationError as error:
        found = error.errors(include_url=False)
        problems = [
            f"{'.'.join(map(str, each['loc'])) or 'top level'}: {_said(each)}"
            for each in found
        ]
        raise SettingsError(path, problems) from None


PARTS: Final[Mapping[str, tuple[str, type[SettingsPart]]]] = MappingProxyType(
    {
        "": ("the top of the file", Settings),
        "cases": ("[cases.'new.py']", DeclaredCase),
        "allow": ("[[cases.'new.py'.allow]]", Allowance),
        "samples": ("[samples]", DeclaredSamples),
        "volatile": ("[[volatile]]", Volatile),
        "equivalent": ("[[equivalent]]", Equivalent),
        "order": ("[[order]]", MeantOrder),
    }
)
"""What has entries, and how it is written."""


_NO_TABLE: Final = frozenset(("model_type", "dict_type"))


def _said(problem: ErrorDetails) -> str:
    """Return what is wrong; of an unknown entry where it belongs, or what there is."""
    if problem["type"] in _NO_TABLE:
        part = PARTS.get(str(problem["loc"][0]), PARTS[""])[0]
        return f"{problem['input']!r} is no table: write entries of {part}"
    if problem["type"] != "extra_forbidden":
        said = in_words(problem["msg"])
        of_type = problem["type"].endswith(("_type", "_parsing"))
        return f"{said}; it is {problem['input']!r}" if of_type else said
    *above, name = map(str, problem["loc"])
    if name == "allow":
        return f"it stands in a case: {PARTS[name][0]}"
    homes = [at for at, part in PARTS.values() if name in part.model_fields]
    if homes:
        return f"it belongs to {homes[0]}"
    _, mine = PARTS["allow" if "allow" in above[2:] else next(iter(above), "")]
    try:
        return known(name, mine.model_fields, "entry")
    except ValueError as error:
        return str(error)
