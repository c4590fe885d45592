"""Writes pages of ``docs``, or tables in them, anew: ``python -m tools.pages``.

    python -m tools.pages [NAME…]
    python -m tools.pages engines REPORT…
    python -m tools.pages answers [ENGINE…]
    python -m tools.pages observers [TITLE…]
    python -m tools.pages witnesses [ID…]

Without names it writes all that the code says by itself. For ``sketches`` it needs
Node.js, for ``engines`` the reports that ``refengine conform ENGINE --json REPORT``
wrote; ``answers`` asks installed engines; ``observers`` are judged with packages that
are installed for each, in a few minutes; ``witnesses`` are searched for, in a minute or
two, those of all mutants or of these.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from property_tests.all_clauses import with_others
from property_tests.registry import FAMILIES, contract
from tools.pages import contract as of_contract
from tools.pages import engines, observers, seeds, sketches, tables, witnesses


def _of_contract(page: Path, _: str) -> str:
    """Return a page of the contract."""
    return dict(of_contract.pages(with_others(contract())))[page]


PAGES: Final[Mapping[str, tuple[Path, Callable[[str], str]]]] = MappingProxyType(
    {
        **{
            name: (page, partial(tables.written, name))
            for name, (page, _) in tables.PAGES.items()
        },
        "contract": (of_contract.PAGE, partial(_of_contract, of_contract.PAGE)),
        **{
            f"contract/{each.lower()}": (page, partial(_of_contract, page))
            for each in FAMILIES
            for page in (of_contract.of_family(each),)
        },
        "seeds": (seeds.PAGE, lambda _: seeds.page(seeds.statements())),
        "sketches": (sketches.PAGE, sketches.written),
    }
)
"""By name: the page, and what makes its text of the one that is there."""
GIVEN: Final[Mapping[str, Callable[[Sequence[str]], int]]] = MappingProxyType(
    {
        "engines": engines.main,
        "answers": engines.answer,
        "observers": observers.main,
        "witnesses": witnesses.main,
    }
)
"""Those that are told more than their name."""
ASKED_FOR: Final = frozenset(("sketches",))


def main(arguments: Sequence[str]) -> int:
    """Write the pages; return the exit code."""
    if arguments and arguments[0] in GIVEN:
        return GIVEN[arguments[0]](arguments[1:])
    parser = ArgumentParser(
        "python -m tools.pages",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    names: Sequence[str] = parser.parse_args(arguments).names
    for each in names:
        if each not in PAGES:
            parser.error(f"no page {each!r}: give {', '.join((*PAGES, *GIVEN))}")
    for page, text in pages_now(
        names or [each for each in PAGES if each not in ASKED_FOR]
    ):
        page.write_text(text, "utf-8")
        sys.stdout.write(f"{page.name}: {len(text.splitlines())} lines\n")
    return 0


def pages_now(names: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Yield each of these pages, with its text as it is now."""
    chosen = [x for x in PAGES for name in names if f"{x}/".startswith(f"{name}/")]
    for each in dict.fromkeys(chosen):
        page, made = PAGES[each]
        yield page, made(page.read_text("utf-8") if page.exists() else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
