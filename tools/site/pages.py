"""Pages of the site that are made of what the code says: nobody writes them twice."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import click

import refengine
import refengine.state
from compat.cli.main import COMMANDS
from compat.engines.capabilities import CAPABILITIES
from compat.migration.codes import CODES
from compat.profiles.kinds import KINDS, ProfileKind, meanings
from compat.verdicts.exit_codes import FIRST_WINS, INTERRUPTED, MEANINGS
from compat.verdicts.relations import DEFAULT_RELATION, RELATIONS, channels_of
from refengine.testing.channels import CHANNELS, VOLATILE
from tools.pages.blocks import code
from tools.pages.contract import place
from tools.pages.seeds import Statement, statements
from tools.pages.tables import without
from tools.site.formats import formats, schemas_made, spoken, spoken_lines

WIDTH: Final = 80
COMPLETION: Final = """\
A shell completes commands, options, clauses, profiles, engines and files once it has read what this prints (`bash_source`, `zsh_source` or `fish_source`):

```sh
eval "$(_REFENGINE_COMPLETE=bash_source refengine)"
```"""  # noqa: E501  # one sentence a line
ABOUT_CAPABILITIES: Final = (
    "What an engine may have a place for. A door lists what its engine has; what it"
    " does not list is never asked of it, and the clauses below do not apply then."
)
ABOUT_RELATIONS: Final = (
    "How alike two sides are: a set of channels that must be equal. Each relation asks"
    " for all that the one before it does, and more."
)
ABOUT_DIFFERENCES: Final = (
    "The seeds are design documents of others, mostly in Chinese. Each quote below"
    " stands there; what it says is told in English, and behind it what holds here"
    " instead, and why. [Where the seeds went](../seeds.md) has every statement."
)
ABOUT_POSTURES: Final = (
    "A posture is a point where engines legitimately differ; a profile chooses an"
    " option of each. `refengine profile diff A B` shows how two differ, with a run as"
    " proof."
)
ENDS: Final = re.compile(r"Exit codes?:? (.+?)(?:\n\n|\Z)", re.DOTALL)
"""Where the help of a command says what it ends with."""
WITHOUT_VERDICT: Final = "0 done, 2 a mistake in what was given."
"""What commands end with whose help says nothing of it: they give no verdict."""
DOCS: Final = Path(__file__).parents[2] / "docs"
STUB: Final = Path(refengine.__file__).with_name("__init__.pyi")
STATE: Final = Path(refengine.state.__file__)
"""Where each public name comes from; at run time it is loaded late."""


def made_pages() -> Iterator[tuple[str, str]]:
    """Yield each page that is made: where the site has it, and its Markdown."""
    yield "reference/commands.md", commands()
    yield "reference/exit-codes.md", exit_codes()
    yield "reference/capabilities.md", capabilities()
    yield "reference/channels.md", channels()
    yield "reference/profiles.md", profiles()
    yield "reference/schemas.md", schemas()
    yield from schemas_made()
    yield "explanation/where-we-differ.md", differences()
    yield "reference/refengine.md", public_names("refengine", STUB)
    yield "reference/state.md", public_names("refengine.state", STATE)
    testing = "# refengine.testing\n\n::: refengine.testing\n"
    yield "reference/testing.md", testing


def public_names(package: str, listed: Path) -> str:
    """Return the public names of a package, module by module, to be filled in."""
    parts = [f"# {package}", f"Each of these is imported from `{package}` itself."]
    for node in ast.walk(ast.parse(listed.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package):
            parts.extend(f"::: {node.module}.{each.name}" for each in node.names)
    return "\n\n".join(parts) + "\n"


def commands() -> str:
    """Return every command with every option, as its help shows them."""
    parts = ["# Commands", "What `--help` says of each.", COMPLETION]
    for name, (module, about) in COMMANDS.items():
        parts.append(f"## {name}\n\n{about[0].upper()}{about[1:]}.")
        for line, command in spoken(name, import_module(module).app):
            context = click.Context(
                command, info_name=f"refengine {line}", terminal_width=WIDTH
            )
            title = f"### {line}\n\n" if line != name else ""
            parts.append(f"{title}```text\n{command.get_help(context)}\n```")
    return "\n\n".join(parts) + "\n"


def exit_codes() -> str:
    """Return what each command ends with, as its help says it."""
    rows = [f"| {code} | {meaning} |" for code, meaning in MEANINGS.items()]
    table = "\n".join(("| code | what it says |", "|---|---|", *rows))
    wins = ", ".join(map(str, FIRST_WINS))
    last = (
        f"If several apply, the first of {wins} wins. Ctrl-C ends with {INTERRUPTED}."
    )
    parts = ["# Exit codes", table, last, "## Command by command"]
    top = len(parts)
    silent: list[str] = []
    for line, command in spoken_lines():
        told = ENDS.search(command.help or "")
        if told is None:
            silent.append(f"`refengine {line}`")
        else:
            parts.append(f"- `refengine {line}`: {' '.join(told[1].split())}")
    parts.append(f"- {', '.join(silent)}: {WITHOUT_VERDICT}")
    return "\n\n".join((*parts[:top], "\n".join(parts[top:]))) + "\n"


def capabilities() -> str:
    """Return every capability of an engine, with the clauses that need it."""
    parts = ["# Capabilities", ABOUT_CAPABILITIES]
    for name, about in CAPABILITIES.items():
        lost = without(name)
        needing = ", ".join(_clause(each) for each in lost) or "none that need it alone"
        parts.append(f"## {name}\n\n{_sentence(about)}\n\nClauses: {needing}.")
    return "\n\n".join(parts) + "\n"


def channels() -> str:
    """Return relations, channels and codes of a check, and what is not compared."""
    parts = ["# Channels, relations and codes", "## Relations", ABOUT_RELATIONS]
    below: set[str] = set()
    for relation in RELATIONS:
        added = [each for each in channels_of(relation) if each not in below]
        below.update(added)
        rest = ", ".join(code(each) for each in added) or "nothing, and masks nothing"
        default = ", the default of `--require`" if relation == DEFAULT_RELATION else ""
        parts.append(f"### {relation}\n\nAdds {rest}{default}.")
    parts.append("## Channels\n\nWhat of a trace is compared, each by itself.")
    for name, channel in CHANNELS.items():
        about = " ".join((channel.__doc__ or "").split()).removeprefix("Yield ")
        parts.append(f"### {name}\n\n{_sentence(re.sub(r' [(][a-z][)]', '', about))}")
    rows = [f"| {code(k)} | {c.severity} | {c.summary} |" for k, c in CODES.items()]
    parts.append(
        "\n".join(("## Codes\n", "| code | | what NEW does |", "|---|---|---|", *rows))
    )
    rows = [f"| {what} | {why} |" for what, why in VOLATILE.items()]
    title = "## Of graphs, not compared\n"
    parts.append("\n".join((title, "| what | why |", "|---|---|", *rows)))
    return "\n\n".join(parts) + "\n"


def schemas() -> str:
    """Return every format, then the schemas in `docs/` with what stands in them."""
    parts = [formats().rstrip()]
    for path in sorted(DOCS.glob("*.schema.json")):
        schema = json.loads(path.read_text("utf-8"))
        title = f"## [{path.name}](../{path.name})"
        parts.append(f"{title}\n\n{_sentence(schema['title'])}")
        defined = schema["$defs"].items()
        told = [
            (k, " ".join(each.get("description", "").split())) for k, each in defined
        ]
        rows = [f"| `{name}` | {text} |" for name, text in told if text]
        parts.append("\n".join(("| part | what it is |", "|---|---|", *rows)))
    return "\n\n".join(parts) + "\n"


def differences() -> str:
    """Return each statement of a seed that a decision overrules or narrows."""
    parts = ["# Where we differ from the seeds", ABOUT_DIFFERENCES]
    found = [each for each in statements() if each.decision]
    for seed in dict.fromkeys(each.seed for each in found):
        parts.append(f"## Seed {seed}")
        parts.extend(_difference(each) for each in found if each.seed == seed)
    return "\n\n".join(parts) + "\n"


def _difference(statement: Statement) -> str:
    lines = [
        f"**{statement.section}** {code(statement.quote)}\n",
        f"- It says: {statement.says}",
        f"- Here: {statement.decision}",
    ]
    if statement.clauses:
        clauses = ", ".join(_clause(each) for each in statement.clauses)
        lines.append(f"- Clauses: {clauses}")
    return "\n".join(lines)


def _clause(name: str) -> str:
    return f"[{name}](../{place(name)})"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].removesuffix('.')}."


def profiles() -> str:
    """Return every posture of every kind of profile: what it decides, and who how."""
    parts = [
        "# Profiles and postures",
        ABOUT_POSTURES,
    ]
    for kind in KINDS:
        parts.append(f"## {kind.title[0].upper()}{kind.title[1:]}")
        parts.extend(_postures(kind))
    return "\n\n".join(parts) + "\n"


def _postures(kind: ProfileKind) -> Iterator[str]:
    for posture, meaning in meanings(kind.of).items():
        chosen: dict[str, list[str]] = {}
        for each in kind.profiles:
            chosen.setdefault(str(getattr(each, posture)), []).append(each.name)
        rows = [f"| `{option}` | {', '.join(who)} |" for option, who in chosen.items()]
        yield "\n".join(
            (
                f"### {posture}\n",
                f"{meaning[0].upper()}{meaning[1:]}.\n",
                "| option | profiles |",
                "|---|---|",
                *rows,
            )
        )
