"""Every kind of file that a command reads or writes: where its shape stands.

``PLACES`` of a format are the options and arguments that take it, as ``conform --json``
or ``bench compare A``; a test holds them against the commands, so none is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Final

import click
from pydantic import TypeAdapter

from compat.cli import values
from compat.cli.main import COMMANDS

PATHS: Final = (
    *(values.PATH, values.FILE, values.FILE_THERE, values.FOLDER),
    *(values.OUTPUT, values.OUTPUT_FOLDER),
)
NONE: Final = "none"
ABOUT: Final = (
    "What is read and written, as files and as what commands print by `--json`.",
    (
        "A version is a number of its own, apart from that of the package. It goes "
        "up when a file that was right is no longer read as it was, or when a key "
        "means something else; CHANGELOG says so under *Changed*. A key that is "
        "added does not count: a program passes over what it does not know. "
        "refengine itself refuses keys that it does not know in what it is given, "
        "and a version that it does not know by name. Where there is no version, "
        "the package's own is the one: read it by the release that wrote it. Pages "
        "and tables for people (HTML, Markdown, SVG) have no shape to rely on."
    ),
)


@dataclass(frozen=True, slots=True)
class FileFormat:
    """One kind of file, or one folder of them.

    ``shape`` says in Markdown where it stands what is in it, and ``model`` is the class
    of which the site makes a JSON schema; ``keys`` are those of its top level where no
    class has them.
    """

    name: str
    about: str
    version: str
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    shape: str = ""
    model: str = ""
    keys: tuple[str, ...] = ()

    @property
    def schema_name(self) -> str:
        """What the file of its schema is called on the site."""
        return f"{self.name.lower().replace(' ', '-')}.schema.json"


FORMATS: Final = (
    FileFormat(
        "Scenario",
        "One session as JSON: agents, model, input, faults.",
        "`version`, 1; it may be left out.",
        reads=("cassette serve FILE", "cassette record SCENARIO"),
        shape="[scenario.schema.json](../scenario.schema.json),"
        " [scenarios](../scenarios.md)",
    ),
    FileFormat(
        "Sessions of your own",
        "Chats, spans of OpenTelemetry, scenarios, cassettes, or a corpus.",
        "theirs.",
        reads=("conform --worlds", "migrate check --worlds", "corpus import FILES"),
        shape="[worlds of your own](../migrate-check.md#worlds-of-your-own)",
    ),
    FileFormat(
        "Tools of your own",
        "JSON schemas as OpenAI, Anthropic or MCP have them.",
        NONE,
        reads=("migrate check --tools",),
        shape="[worlds of your own](../migrate-check.md#worlds-of-your-own)",
    ),
    FileFormat(
        "Corpus",
        "Scenarios, one a line, compressed by gzip. The first line is"
        ' `{"refengine-corpus": 1}`, with `sample` (`entries`, `bound`) if it was drawn'
        ' from a larger one; the last is `{"end": ENTRIES, "digest": SHA-256}`.',
        "`refengine-corpus` in the first line, 1.",
        writes=(
            *("corpus import --out", "corpus make --out", "corpus exercise --out"),
            *("corpus dedupe --out", "corpus merge --out", "corpus split --out"),
            "corpus sample --out",
        ),
        reads=(
            *("corpus info FILE", "corpus exercise FILE", "corpus dedupe FILES"),
            *("corpus merge FILES", "corpus split FILE", "corpus sample FILE"),
        ),
        shape="an entry has the keys below (`exercised` only where it was looked for)",
        keys=("hash", "from", "kind", "stratum", "exercised", "scenario"),
    ),
    FileFormat(
        "Migration settings",
        "`migration.toml`: sides, cases, what may differ.",
        NONE,
        writes=("init migration FOLDER",),
        reads=("migrate check --settings", "migrate check --all"),
        shape="[a folder of migrations](../migrate-check.md"
        "#a-folder-of-migrations-and-pytest)",
        model="compat.migration.settings:Settings",
    ),
    FileFormat(
        "Report of a migration",
        "The answer for OLD and NEW, or for every case of a folder.",
        "`version`, 1.",
        writes=("migrate check --json",),
        reads=("timeline add REPORTS",),
        shape="[migrate-check.schema.json](../migrate-check.schema.json)",
    ),
    FileFormat(
        "Reproducer",
        "A folder with the world (a scenario), both sides, and a script.",
        NONE,
        writes=("migrate check --reproducer",),
        shape="[reading the answer](../migrate-check.md#reading-the-answer)",
    ),
    FileFormat(
        "Events of a judgement",
        "JSON lines: a header, what was found, a footer with the digest.",
        "`version` in the first line, 1.",
        writes=("conform --events",),
        shape="[conform-events.schema.json](../conform-events.schema.json)",
    ),
    FileFormat(
        "Report of a judgement",
        "One JSON document made of the events. `header` is that event, `contract` are"
        " the clauses, and each of `engines` is its summary with `smoke`, `faults` and"
        " `results`, which are events too, without `event` and `engine`.",
        "`version`, 1.",
        writes=("conform --json",),
        reads=("timeline add REPORTS",),
        shape="[conform-events.schema.json](../conform-events.schema.json) has"
        " the parts",
        keys=("version", "header", "digest", "exit", "contract", "engines"),
    ),
    FileFormat(
        "JUnit",
        "What a CI reads: a test suite for an engine, a test case for a clause.",
        "JUnit's.",
        writes=("conform --junit",),
        shape="[reports](../judging-engines.md#reports)",
    ),
    FileFormat(
        "Badge",
        "An SVG, or else JSON as an endpoint of shields.io has it.",
        "`schemaVersion` of shields.io, 1.",
        writes=("conform --badge",),
        shape="[a badge](../ci.md#a-badge)",
        keys=("schemaVersion", "label", "message", "color"),
    ),
    FileFormat(
        "History",
        "A line of JSON for each engine, added to the file; a row if it is `.md`.",
        NONE,
        writes=("conform --history",),
        shape="[reports](../judging-engines.md#reports)",
        keys=(
            *("date", "engine", "version", "profile", "contract", "passed", "of"),
            *("known", "conformant", "digest"),
        ),
    ),
    FileFormat(
        "Failure file",
        "One failed clause with its world, to be played again.",
        "`version`, 1.",
        writes=("conform --failures",),
        reads=("failure list FOLDER", "failure replay FILE"),
        shape="[one failure again](../known-failures.md#one-failure-again)",
        model="property_tests.failures:FailureFile",
    ),
    FileFormat(
        "Known failures",
        "TOML: a table of the list `failure` for each clause that an engine fails.",
        NONE,
        writes=("baseline write --known", "baseline update --known"),
        reads=("conform --known", "baseline write --known", "baseline update --known"),
        shape="[known failures](../known-failures.md)",
        keys=(
            *("clause", "engine", "versions", "kind", "reason", "issue", "world"),
            *("repeat", "variant"),
        ),
    ),
    FileFormat(
        "Measurement",
        "What a benchmark found: a header with the machine, rows, growth, bars.",
        "`header.version`, 1.",
        writes=("bench run --json",),
        reads=("bench compare A", "bench compare B"),
        shape="[measure my handlers](../bench.md)",
        model="compat.verdicts.cost:Costs",
    ),
    FileFormat(
        "Timeline",
        "SQLite: a row of `judgement` for a version of a subject, rows of `verdict`.",
        "`PRAGMA user_version`, 1.",
        writes=("timeline add FILE", "timeline bisect FILE"),
        reads=("timeline show FILE", "timeline compare FILE"),
        shape="[verdicts over time](../timeline.md)",
    ),
    FileFormat(
        "History of verdicts",
        "One subject; each of its versions has `version`, `tool`, `digest` and `items`,"
        " which are verdicts by name.",
        NONE,
        writes=("timeline show --json",),
        shape="[verdicts over time](../timeline.md)",
        keys=("subject", "versions"),
    ),
    FileFormat(
        "Cassette",
        "Exchanges over HTTP, as vcrpy writes them in YAML or JSON.",
        "vcrpy's `version`, 1.",
        writes=("cassette record CASSETTE", "cassette proxy --out"),
        reads=("cassette serve FILE", "cassette replay CASSETTE"),
        shape="[cassettes](../cassettes.md)",
    ),
    FileFormat(
        "Manifest of cassettes",
        "`manifest.toml` beside cassettes: hash, source and scrubbing of each.",
        "`version`, 1.",
        writes=("cassette record CASSETTE",),
        shape="[files of cassettes](../cassettes.md#files)",
        model="compat.wire.manifest:Manifest",
    ),
    FileFormat(
        "Kept runs",
        "A store of SQLite, or a file of records, a step each.",
        "the format version of each record; older ones are read.",
        reads=("checkpoint show FILE", "checkpoint verify FILE"),
        shape="[records and stores](../state.md#records-and-stores)",
    ),
    FileFormat(
        "Runs of a file",
        "What is kept in a file: runs (`key`, `records`, `state`, `phase`, `iteration`,"
        " `message_count`, `steps`, `pending`, or `part`, or `faults`), and faults.",
        NONE,
        writes=("checkpoint show --json",),
        shape="[the same from a shell](../state.md#the-same-from-a-shell)",
        keys=("file", "runs", "faults"),
    ),
    FileFormat(
        "One kept run",
        "The same command with the key of a run.",
        NONE,
        writes=("checkpoint show --json",),
        shape="[the same from a shell](../state.md#the-same-from-a-shell)",
        keys=(
            *("key", "records", "state", "phase", "iteration", "message_count"),
            *("steps", "pending", "agent", "profile", "streaming", "messages"),
            *("given", "locals", "context", "attempt", "resume"),
        ),
    ),
    FileFormat(
        "Verified runs",
        "How many runs and records were looked at, and what is wrong in them.",
        NONE,
        writes=("checkpoint verify --json",),
        shape="[the same from a shell](../state.md#the-same-from-a-shell)",
        keys=("file", "runs", "records", "faults"),
    ),
    FileFormat(
        "Frames of drivers",
        "JSON-RPC 2.0, a line each, between refengine and a program that it starts.",
        "`protocol` in the answer to `initialize`, 2.",
        shape="[protocol.schema.json](../protocol.schema.json),"
        " [the protocol](../protocol.md)",
    ),
    FileFormat(
        "Observed rows",
        "A JSON list: what a framework was seen to do, by version.",
        NONE,
        reads=("observe FILES",),
        shape="the schema; rows about ADK in [their own](../observing-adk.md)",
        model="compat.observe.rows:ObservedRow",
    ),
    FileFormat(
        "Compared rows",
        "How many rows hold and differ, and each with `id`, `status` and `detail`.",
        NONE,
        writes=("observe --json",),
        keys=(
            *("rows", "holds", "differs", "beyond", "on_purpose", "not_compared"),
            *("compared", "versions_without_profile", "list"),
        ),
    ),
    FileFormat(
        "Clauses",
        "`version` is the contract's, and `clauses` is a list.",
        "`version` of the contract.",
        writes=("clause list --json",),
        shape="the schema has one clause",
        model="property_tests.registry:Clause",
        keys=("version", "clauses"),
    ),
    FileFormat(
        "Profiles",
        "The options of each posture, and each profile's choice; those of dialects have"
        " the same two keys under their names in `dialects`.",
        NONE,
        writes=("profile list --json",),
        shape="[profiles and postures](profiles.md)",
        keys=("postures", "profiles", "dialects"),
    ),
    FileFormat(
        "Inferred profile",
        "What an engine shows; each of `postures` has `posture`, `status`, `option`,"
        " `fits` and `reason`.",
        NONE,
        writes=("profile infer --json",),
        shape="[profiles and postures](profiles.md)",
        keys=(
            *("engine", "declared", "nearest", "differs", "contradicts_declared"),
            "postures",
        ),
    ),
    FileFormat(
        "Matrix of mutants",
        "Which clauses kill which mutant (`killed`), and what is wrong with that.",
        NONE,
        writes=("mutant matrix --json",),
        shape="[how checks are checked](../checked-checks.md)",
        keys=(
            *("mutants", "killed_by_named", "clauses_without_mutant"),
            *("by_others_only", "silent", "killed", "faults"),
        ),
    ),
    FileFormat(
        "Pages and tables",
        "For people: HTML, Markdown, SVG. They load nothing from elsewhere.",
        NONE,
        writes=(
            *("bench run --html", "bench run --markdown", "bench run --plot"),
            *("conform --html", "conform --markdown", "timeline show --html"),
        ),
    ),
    FileFormat(
        "Sources",
        "Files to begin with, or those that a check reads words from.",
        NONE,
        writes=("init engine FOLDER", "init driver FOLDER"),
        reads=("migrate check --source", "timeline bisect --repository"),
    ),
)


def schemas_made() -> Iterator[tuple[str, str]]:
    """Yield the schema of each format that a class has: where, and the text."""
    for each in FORMATS:
        if each.model:
            module, _, name = each.model.partition(":")
            of = TypeAdapter[object](getattr(import_module(module), name))
            schema = {**of.json_schema(), "title": each.name}
            text = json.dumps(schema, indent=2, sort_keys=True) + "\n"
            yield f"reference/{each.schema_name}", text


def places() -> Iterator[str]:
    """Yield each option and argument that is a path, and each ``--json``."""
    for line, command in spoken_lines():
        for each in command.params:
            is_printed = each.opts == ["--json"] and each.name == "as_json"
            if each.type in PATHS or is_printed:
                given = isinstance(each, click.Argument)
                name = (each.metavar or each.name or "").upper()
                yield f"{line} {name if given else each.opts[0]}"


def spoken_lines() -> Iterator[tuple[str, click.Command]]:
    """Yield the lines that run something, with their commands."""
    for name, (module, _) in COMMANDS.items():
        yield from spoken(name, import_module(module).app)


def spoken(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Yield the same of one command and those below it."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    for part, each in command.commands.items():
        yield from spoken(f"{name} {part}", each)


def formats() -> str:
    """Return the page of formats as Markdown."""
    parts = ["# Formats and schemas", *ABOUT]
    for each in FORMATS:
        lines = [f"## {each.name}\n", f"{each.about}\n"]
        for title, used in (("Written by", each.writes), ("Read by", each.reads)):
            if used:
                named = ", ".join(f"`refengine {place}`" for place in used)
                lines.append(f"- {title} {named}")
        lines.append(f"- Version: {each.version.removesuffix('.')}.")
        made = f"[{each.schema_name}]({each.schema_name})" if each.model else ""
        if shape := ", ".join(filter(None, (made, each.shape))):
            lines.append(f"- Shape: {shape}.")
        if each.keys:
            lines.append(f"- Keys: {', '.join(f'`{key}`' for key in each.keys)}.")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
