"""The words of a subject: what its source compares with, looks for and counts to.

Found in its text alone, of Python by ``ast``: nothing is imported, so a corpus can be
made before a subject is (verdicts, Worlds and corpora).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from refengine.testing.subject_worlds.code_tokens import (
    SUFFIXES,
    go_words,
    script_words,
)
from refengine.testing.subject_worlds.source import SourceWords, found_in, python_source
from refengine.testing.subject_worlds.words import Pattern, Words

__all__ = ["Pattern", "Words", "harvest", "own_sources"]

Key = TypeVar("Key", str, int, Pattern)

TEXTS: Final = 150
OTHERS: Final = 40
"""So many names, patterns and numbers are kept; those that matter most come first."""
PRODUCT: Final = 5_000
"""A product stands for the length of a text, and longer ones are not made."""
PRODUCTS: Final = 24
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
    return Words(
        texts=tuple(texts[:TEXTS]),
        names=tuple(dict.fromkeys(filter(None, map(_as_name, texts))))[:OTHERS],
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
