"""The words of a subject: what its source compares with, looks for and counts to.

Found in its text alone, of Python by ``ast``: nothing is imported, so a corpus can be
made before a subject is (verdicts, Worlds and corpora).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from compat.migration.refs import PYTHON, SubjectRef, located
from compat.migration.subject_runner import (
    CheckOptions,
)
from refengine.testing.subject_worlds.code_tokens import (
    SUFFIXES,
    adk_go_words,
    go_words,
    is_adk_go,
    script_errors,
    script_tools,
    script_words,
)
from refengine.testing.subject_worlds.declared_schemas import (
    DeclaredSchemas,
    declared_schemas,
)
from refengine.testing.subject_worlds.edge_worlds import (
    edge_answers,
    edge_calls,
    typical_answers,
)
from refengine.testing.subject_worlds.fits import WorldFit, fit_of
from refengine.testing.subject_worlds.named_values import (
    MOST,
    GraphWords,
    adk_words,
    graph_words,
    is_adk_source,
    is_graph_source,
)
from refengine.testing.subject_worlds.option_worlds import options_read
from refengine.testing.subject_worlds.source import (
    SourceWords,
    found_in,
    python_source,
    python_sources,
)
from refengine.testing.subject_worlds.words import Pattern, Words

__all__ = [
    "Pattern",
    "Vocabulary",
    "Words",
    "all_sources",
    "harvest",
    "own_sources",
    "sources_of",
    "vocabulary",
]

Key = TypeVar("Key", str, int, Pattern)

TEXTS: Final = 150
OTHERS: Final = 40
"""So many names, patterns and numbers are kept; those that matter most come first."""
PRODUCT: Final = 5_000
"""A product stands for the length of a text, and longer ones are not made."""
PRODUCTS: Final = 24
SIDES: Final = 2
NAME: Final = re.compile(r"[A-Za-z_][\w.-]*")
NO_NAMES: Final = frozenset(("system", "user", "assistant", "tool", "__main__"))
READERS: Final[Mapping[str, Callable[[str], SourceWords]]] = MappingProxyType(
    {".go": go_words, **dict.fromkeys(SUFFIXES, script_words)}
)
"""By suffix of a file: what reads its words; all others are read as Python."""
OURS: Final = frozenset(("refengine", "compat"))


def harvest(sources: Mapping[str, str]) -> Words:
    """Return the words of these sources; one that does not parse has none.

    What language each is in, its name says. A word that only one source holds comes
    before those that several do: where two sides differ is where they are to be looked
    at.
    """
    found = [
        READERS.get(Path(name).suffix, found_in)(text) for name, text in sources.items()
    ]
    texts = _ranked([each.texts for each in found])
    numbers = _ranked([each.numbers for each in found])[:OTHERS]
    factors = {factor for each in found for factor in each.factors}
    if any(each.divides for each in found):
        factors |= set(sorted(number for number in numbers if number > 1)[:2])
    cases = {text for each in found for text in each.cases}
    written = (_as_name(text) for text in texts if text not in cases)
    return Words(
        texts=tuple(texts[:TEXTS]),
        names=tuple(dict.fromkeys(filter(None, written)))[:OTHERS],
        folds=bool(cases),
        trims=any(each.trims for each in found),
        parses=any(each.parses for each in found),
        times=any(each.times for each in found),
        patterns=tuple(_ranked([each.patterns for each in found])[:OTHERS]),
        numbers=tuple(dict.fromkeys([*numbers, *_products(factors, numbers)])),
    )


def own_sources(path: Path) -> Mapping[str, str]:
    """Return the text of a module and of those of its own that it imports, by file.

    They are looked for where it stands and where its package does, so neither the
    standard library nor what is installed is among them. Raises OSError if the first
    one cannot be read.
    """
    path = path.resolve()
    root = _root(path.parent)
    texts = {path: path.read_text("utf-8", "replace")}
    waiting = [path]
    while waiting:
        here = waiting.pop(0)
        for other in _imported(here, texts[here], root):
            if other not in texts:
                texts[other] = other.read_text("utf-8", "replace")
                waiting.append(other)
    return {each.relative_to(root).as_posix(): text for each, text in texts.items()}


def _ranked(found: Sequence[Mapping[Key, int]]) -> list[Key]:
    """Return the words of all sources, those that matter most first."""
    ranks: dict[Key, tuple[bool, int]] = {}
    for each in found:
        for word, rank in each.items():
            shared = word in ranks
            best = min(rank, ranks[word][1]) if shared else rank
            ranks[word] = (shared, best)
    return sorted(ranks, key=lambda word: ranks[word])


def _as_name(text: str) -> str | None:
    """Return the tool's name that a text may be; ``delete_*`` stands for one, too."""
    name = text.replace("*", "x").replace("?", "x")
    fits = NAME.fullmatch(name) and len(name) <= 64 and name not in NO_NAMES
    return name if fits else None


def _products(factors: Iterable[int], numbers: Iterable[int]) -> list[int]:
    """Return lengths at which ``length // factor`` or ``factor * length`` gets there.

    That is the product and the one after it, since ``length // 4 > 1000`` is first true
    of 4004.
    """
    pairs = [(a, b) for a in sorted(factors) for b in numbers if b > 1]
    found = [n for a, b in pairs for n in (a * b, a * b + a) if n <= PRODUCT]
    return list(dict.fromkeys(sorted(found, reverse=True)))[:PRODUCTS]


def _root(folder: Path) -> Path:
    """Return the folder that the outermost package around a folder stands in."""
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder


def _imported(path: Path, source: str, root: Path) -> Iterator[Path]:
    """Yield the files of a module's own that it imports, anywhere in it."""
    for node in python_source(source).imported:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from _files(names, [path.parent, root])
        else:
            base = node.module or ""
            names = [f"{base}.{alias.name}".strip(".") for alias in node.names]
            folders = [path.parent, root]
            if node.level:
                folders = [[path.parent, *path.parents[1:]][node.level - 1]]
            yield from _files([base, *names] if base else names, folders)


def _files(modules: Iterable[str], folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the files of modules, and of the packages they stand in."""
    for module in modules:
        parts = module.split(".")
        if parts[0] in OURS:  # the harness has words for a subject, not of one
            continue
        for folder in folders:
            inner = [folder.joinpath(*parts[:end]) for end in range(1, len(parts) + 1)]
            files = [file / "__init__.py" for file in inner]
            files += [file.with_name(f"{file.name}.py") for file in inner]
            yield from (file for file in files if file.is_file())


# Subjects


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of both sides: what a search puts into worlds."""

    words: Words
    graphs: GraphWords | None = None
    fit: WorldFit | None = None


def vocabulary(refs: Sequence[SubjectRef], how: CheckOptions) -> Vocabulary:
    """Return the words of these subjects, those that only one of them has first."""
    sources = all_sources(refs)
    schemas = _schemas(sources)
    words = _with_edges(harvest(sources), schemas)
    if how.wire is not None:
        words = how.wire.words(words)
    if any(map(is_adk_go, sources.values())):
        return Vocabulary(words, adk_go_words(sources.values()))
    if any(map(is_adk_source, sources.values())):
        return Vocabulary(words, adk_words(sources.values()))
    if any(map(is_graph_source, sources.values())):
        old = [text for name, text in sources.items() if name.startswith("0/")]
        graphs = graph_words(sources.values(), old, schemas.values)
        if len(refs) > SIDES:  # of several new sides some may declare a context
            graphs = replace(graphs, moved=())
        if graphs.across:  # each framework refuses arguments in words of its own
            calls = edge_calls(schemas, words.some_names, refused=False)
            words = replace(words, edge_calls=tuple(calls))
        return Vocabulary(words, graphs)
    scripts = [text for name, text in sources.items() if name.endswith(SUFFIXES)]
    told = (each for text in scripts for each in script_errors(text))
    errors = dict.fromkeys([*graph_words(sources.values()).errors, *told])
    old = [text for name, text in sources.items() if name.startswith("0/")]
    fit = fit_of(old, sources.values())
    own = frozenset[str]().union(*map(script_tools, scripts))
    # By name they would be called with what they refuse, which ends runs of the AI SDK.
    names = tuple(name for name in words.names if name not in own)
    words = replace(words, names=names, calls_own=bool(own))
    words = replace(words, errors=tuple(errors)[:MOST])
    if fit is None and how.wire is None and all(n.endswith(".py") for n in sources):
        words = replace(words, options=options_read(python_sources(sources.values())))
    return Vocabulary(words, fit=fit)


def _schemas(sources: Mapping[str, str]) -> DeclaredSchemas:
    """Return what the sources declare; one name may stand for two, one on each side."""
    found = DeclaredSchemas()
    for is_old in (True, False):
        texts = [t for name, t in sources.items() if name.startswith("0/") is is_old]
        found = found.joined(declared_schemas(python_sources(texts)))
    return found


def _with_edges(words: Words, schemas: DeclaredSchemas) -> Words:
    answers = tuple(edge_answers(schemas))
    return replace(
        words,
        edge_calls=tuple(edge_calls(schemas, words.some_names)),
        edge_answers=answers,
        typical_answers=tuple(dict(typical_answers(schemas)).items()),
        own_tools=(
            *schemas.tools,
            *dict.fromkeys(n for each, _ in answers for n in each),
        ),
    )


def all_sources(refs: Sequence[SubjectRef]) -> Mapping[str, str]:
    """Return the sources of all subjects, each name with the number of its subject."""
    return {
        f"{number}/{name}": text
        for number, ref in enumerate(refs)
        for name, text in sources_of(ref).items()
    }


def sources_of(ref: SubjectRef) -> Mapping[str, str]:
    """Return a subject's own sources by name; none if there is no file to read."""
    with located(ref) as location:
        if ref.language != PYTHON:
            from compat.migration.remote.languages import remote_sources  # noqa: PLC0415  # drivers, for few

            return remote_sources(location)
        file = location.file or module_file(ref.module or "", ref.cwd)
        try:
            return {} if file is None else own_sources(file)
        except OSError:
            return {}


def module_file(module: str, cwd: Path) -> Path | None:
    """Return the file of a module without importing it or the packages around it."""
    first, *rest = module.split(".")
    spec = PathFinder.find_spec(first, [str(cwd), *sys.path])
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or ())  # several, without __init__
    if not rest:
        return None if spec.origin is None else Path(spec.origin)
    inner = [Path(folder).joinpath(*rest) for folder in folders]
    files = [each.with_name(f"{each.name}.py") for each in inner]
    files += [each / "__init__.py" for each in inner]
    return next((each for each in files if each.is_file()), None)
