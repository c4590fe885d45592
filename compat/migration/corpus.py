"""The corpus of one migration check: its worlds as data, and their hash.

It is made before a subject is imported, from nothing but its words and a seed, and it
is the same one on every Python, whatever else is installed or loaded (verdicts, Worlds
and corpora: generate once, judge often).

The fixed worlds show every hook and the classic pitfalls. They are written by hand, in
``fixed_worlds.json``, with gaps for a subject's words: ``<name:0>``, ``<text:0>``,
``<match:0>`` (a text that its first pattern matches), ``<json:0>`` (a text as it stands
within JSON) and ``<long:0>`` (4,000 characters). A subject without such words gets
neutral ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from itertools import chain
from typing import Any, Final

from compat.migration.points_played import PointWorlds
from refengine.testing.notation import CALL_START, encoded, in_one_part
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subject_worlds.adk_worlds import adk_given, adk_worlds, fits_adk
from refengine.testing.subject_worlds.calls_together import calls_together
from refengine.testing.subject_worlds.declared import FAMILY as DECLARED
from refengine.testing.subject_worlds.declared import DeclaredTool, with_schemas
from refengine.testing.subject_worlds.edge_worlds import edge_worlds
from refengine.testing.subject_worlds.fits import WorldFit
from refengine.testing.subject_worlds.graph_inputs import alike, nested
from refengine.testing.subject_worlds.graph_worlds import (
    fits_both,
    graph_given,
    graph_worlds,
    own_tools,
)
from refengine.testing.subject_worlds.kit import (
    Data,
    Kit,
    again,
    fit,
    gaps_filled,
    json_text,
)
from refengine.testing.subject_worlds.named_values import GraphWords, MovedValue
from refengine.testing.subject_worlds.option_worlds import option_worlds
from refengine.testing.subject_worlds.unusual import UNSPOKEN, Spoken, unusual
from refengine.testing.subject_worlds.word_edges import word_edges
from refengine.testing.subject_worlds.words import Words, matching
from refengine.testing.subject_worlds.worlds import (
    FAILING,
    called_between,
    failures,
    flaky,
    later,
    of_classes,
    remembered,
    rounds,
    worlds,
)

LASTING: Final = frozenset(("interrupts", "cancelled"))
"""Families of worlds whose runs are kept, asked about or broken off; only these are."""
POINTS: Final = "points"
"""The family of worlds that show where two engines differ."""
ACROSS: Final = (
    ("state", "[*].values"),
    ("second_turn", "[*].values"),
    ("requests", "[*].tools[*].parameters.additionalProperties"),
)
"""What only one of two frameworks has: keys of a state beside its messages, and that a
tool of one's own refuses further arguments, which pydantic-ai says by itself.
"""
AS_GIVEN: Final = "given"
"""How families of sessions that a user gave are called, with the number of the file."""


def fixed_worlds(words: Words) -> Iterator[tuple[str, object]]:
    """Yield the fixed worlds in a subject's words: family, and JSON of a scenario.

    After those that are written down comes one for each point that can fail; what is
    done about an error is the part of a subject that everyday worlds do not reach.
    """
    some = _words_by_gap(words)
    for entry in _fixed():
        yield entry["family"], gaps_filled(entry["scenario"], some)
    for where in FAILING:
        yield "failures", failures(Kit(words, f"fixed/{where}"), where)
    yield from chain(alike(words), nested(words))
    for each in (*flaky(words), *of_classes(words)):
        yield "failures", each
    for made in (rounds, called_between, remembered, later):
        for each in made(words):
            yield "long runs", each


@cache
def _fixed() -> list[dict[str, Any]]:
    text = files("compat.migration").joinpath("fixed_worlds.json").read_text("utf-8")
    written: list[dict[str, Any]] = json.loads(text)
    return written


def _words_by_gap(words: Words) -> dict[str, list[str]]:
    texts = [_plain(text) for text in words.some_texts]
    found = [_plain(text) for each in words.patterns for text in matching(each)[:1]]
    names = dict.fromkeys([*words.some_names, "t0", "t1", "t2"])
    return {
        "name": list(names),
        "text": texts,
        "match": found or texts,
        "long": ["be brief, " * 400],
        "json": [fit(json_text(text)[1:-1]) for text in words.some_texts],
    }


def _plain(text: str) -> str:
    """Return a text that is not a call, wherever it is put."""
    return encoded(text.replace("[", "{") if CALL_START.search(text) else text)


VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class OwnWorlds:
    """Worlds that a user brings, by family, and his tools by name.

    A tool of such a name is as it is declared, whatever world it is in.
    """

    worlds: tuple[tuple[str, Data], ...] = ()
    declared: Mapping[str, DeclaredTool] = field(
        default_factory=dict[str, DeclaredTool]
    )


NO_OWN: Final = OwnWorlds()


class NoExamplesError(ValueError):
    """A corpus without a generated world was asked for."""

    def __init__(self, examples: int) -> None:
        self.examples = examples
        super().__init__(
            f"a corpus of {examples!r} generated worlds: ask for at least 1,"
            " since the fixed ones do not hold all of a subject's words"
        )


@dataclass(frozen=True, slots=True)
class MigrationWorld:
    """One world of a corpus: what is played, and of which family it is.

    ``unusual`` says why no application meets it, None if it is an ordinary one, and
    ``point`` is the id of that which it was made to show.
    """

    scenario: Scenario
    family: str
    fixed: bool
    unusual: str | None = None
    point: str | None = None

    @property
    def given(self) -> bool:
        """Whether it is a session as a user gave it."""
        return self.family.startswith(AS_GIVEN)


@dataclass(frozen=True)
class Corpus:
    """The worlds that both sides are played in; the fixed ones come first.

    ``fits`` tells which worlds made from them are of their kind, None if any is. Those
    of graphs with more answers than ``repeated`` are played once. ``spoken`` is what
    both sides say of the worlds they are used in, which tells the unusual ones. Runs
    of ``slow`` ones take milliseconds, as those of other frameworks do, and each of
    ``costly`` ones starts a program. ``additions`` are channels and paths at which what
    only NEW has is not a difference, ``uncompared`` those at which only one of two
    frameworks has anything. ``points`` are those in which the engines of both
    sides differ, None where none is known. Values that ``moved`` NEW looks for
    elsewhere.
    """

    worlds: tuple[MigrationWorld, ...]
    seed: int
    fits: Callable[[Scenario], bool] | None = None
    repeated: int = 12
    spoken: Spoken = UNSPOKEN
    slow: bool = False
    costly: bool = False
    additions: tuple[tuple[str, str], ...] = ()
    uncompared: tuple[tuple[str, str], ...] = ()
    points: PointWorlds | None = None
    moved: tuple[MovedValue, ...] = ()

    def unusual(self, world: Scenario) -> str | None:
        """Return why no application of the two sides meets a world, of any kind."""
        return unusual(world, self.spoken)

    def with_worlds(self, others: Mapping[int, Scenario]) -> Corpus:
        """Return the corpus with other worlds at some of its places."""
        worlds = [*self.worlds]
        for at, world in others.items():
            unusual = self.unusual(world)
            worlds[at] = replace(worlds[at], scenario=world, unusual=unusual)
        return replace(self, worlds=tuple(worlds))

    @cached_property
    def json(self) -> str:
        """The corpus as canonical JSON: sorted keys, no spaces, ASCII, no defaults."""
        data = {
            "version": VERSION,
            "seed": self.seed,
            "worlds": [_written(entry) for entry in self.worlds],
        }
        return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of that JSON, in hexadecimal digits."""
        return sha256(self.json.encode()).hexdigest()


def make_corpus(  # noqa: PLR0913  # what a corpus is made of
    words: Words,
    examples: int,
    seed: int,
    graphs: GraphWords | None = None,
    spoken: Spoken = UNSPOKEN,
    own: OwnWorlds = NO_OWN,
    *,
    fit: WorldFit | None = None,
    points: PointWorlds | None = None,
) -> Corpus:
    """Return the fixed worlds, the user's ``own``, and so many generated ones.

    Families take turns, so that with 100 examples each has five worlds or more. With
    the words of ``graphs`` all worlds are such as a graph may have, and a few more;
    so they are with the ``fit`` of another shape. Worlds of ``points`` stand first.
    Raises NoExamplesError.
    """
    if examples < 1:
        raise NoExamplesError(examples)
    fixed, made = _by_lists(words, graphs, spoken), worlds(words, examples, seed)
    given: Iterable[tuple[str, Data]] = own.worlds
    if graphs is None or not graphs.adk:
        given = ((family, _in_one_part(world)) for family, world in given)
    if graphs is not None:
        # Graphs are kept, interrupted and cancelled by their own frameworks' rules.
        usual = (each for each in fixed if each[0] not in LASTING)
        fitting, kept = (
            (adk_worlds, adk_given) if graphs.adk else (graph_worlds, graph_given)
        )
        made = fitting(words, graphs, [*usual, *made], seed)
        fixed = iter(())
        given = kept(given, graphs, seed)
    elif fit is not None:
        usual = (each for each in fixed if each[0] not in LASTING)
        made = fit.worlds(words, [*usual, *made], seed)
        fixed = iter(())
        given = [(family, fit.fitted(world)) for family, world in given]
    entries = [
        _entry(family, _declared(family, world, own.declared), at_first, spoken)
        for at_first, some in ((True, fixed), (False, chain(given, made)))
        for family, world in some
    ]
    shown = () if points is None else points.worlds
    first = ((point, _declared(POINTS, world, own.declared)) for point, world in shown)
    at_points = (
        replace(_entry(POINTS, world, fixed=True, spoken=spoken), point=point.id)
        for point, world in first
    )
    fits = None if fit is None else fit.fits
    if graphs is not None:
        fits = fits_adk if graphs.adk else fits_both(graphs)
    more = () if fit is None else fit.additions
    slow = graphs is not None or fit is not None
    return Corpus(
        (*at_points, *entries),
        seed,
        fits,
        spoken=spoken,
        slow=slow,
        additions=more,
        uncompared=ACROSS if graphs is not None and graphs.across else (),
        points=points,
        moved=() if graphs is None else graphs.moved,
    )


def _by_lists(
    words: Words, graphs: GraphWords | None, spoken: Spoken
) -> Iterator[tuple[str, object]]:
    """Yield the worlds that nothing is drawn for, in the words of the sources."""
    theirs = frozenset[str]() if graphs is None else graphs.own_tools
    names = tuple(name for name in words.names if name not in theirs)
    errors = words.errors if graphs is None else graphs.errors
    others = replace(words, names=names, errors=errors)
    by_number = graphs is not None
    yield from edge_worlds(words)
    if words.calls_own:
        for family, world in own_tools(words, unfit=False):
            yield family, {**world, "model_script": again(world["model_script"], set())}
    yield from fixed_worlds(words)
    yield from option_worlds(words)
    yield from calls_together(others, spoken.calls, by_number=by_number)
    yield from word_edges(others, own_tools=by_number)


def _in_one_part(world: Data) -> Data:
    """Return a world as frameworks have it whose messages have no parts."""
    made: Data = json.loads(in_one_part(json.dumps(world, ensure_ascii=False)))
    return made


def _declared(family: str, world: Any, tools: Mapping[str, DeclaredTool]) -> object:  # noqa: ANN401  # JSON of a scenario
    if not tools:
        return world
    chosen = family == DECLARED or family.startswith(AS_GIVEN)
    return with_schemas(world, tools, calls=not chosen)


def read_corpus(text: str, spoken: Spoken = UNSPOKEN) -> Corpus:
    """Return the corpus that a text of ``Corpus.json`` holds; raises ScenarioError."""
    data: dict[str, Any] = json.loads(text)
    entries = (
        _entry(each["family"], each["scenario"], each["fixed"], spoken)
        for each in data["worlds"]
    )
    return Corpus(tuple(entries), data["seed"], spoken=spoken)


def _entry(family: str, data: object, fixed: bool, spoken: Spoken) -> MigrationWorld:
    scenario = read_scenario(data, f"world of family {family!r}")
    return MigrationWorld(scenario, family, fixed, unusual(scenario, spoken))


def _written(entry: MigrationWorld) -> dict[str, object]:
    scenario = entry.scenario.model_dump(mode="json", exclude_defaults=True)
    return {"family": entry.family, "fixed": entry.fixed, "scenario": scenario}
