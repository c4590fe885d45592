"""Doors to the reference of a dialect that is edited, or has a posture wrong.

A posture is wrong where it plays under another option than its profile says: that is
the mutant of each posture on which what is expected depends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from property_tests.dialects.dialect import DialectMutant
from property_tests.mutants.edited import edits_in
from property_tests.mutants.patching import Installed
from property_tests.registry import Contract
from refengine.postures import AnyProfile, choosing, options_of
from refengine.testing.trace import Trace


@dataclass(frozen=True, slots=True)
class BrokenReferences:
    """The mutants of one dialect are made by it.

    ``package`` is what is edited, ``prefix`` begins the ids of mutants by posture,
    ``reference`` makes the reference under a profile, and ``under`` is the profile of
    mutants that name none.
    """

    package: str
    prefix: str
    under: str
    profile_named: Callable[[str], Any]
    reference: Any
    play_on: Callable[[Any, Any], Trace]

    def edited(self, folder: str) -> Iterator[DialectMutant]:
        """Yield the mutants of ``mutants.toml`` in a folder beside this one: edits."""
        for each in edits_in(Path(__file__).parent.parent / folder / "mutants.toml"):
            under = each.under or self.under
            patches = each.patches((self.package, "compat"))
            yield DialectMutant(
                id=each.id,
                about=each.about,
                violates=tuple(each.violates.split()),
                door=partial(BrokenReference, self, each.id, under, patches),
                under=under,
            )

    def other_postures(
        self,
        contract: Contract,
        under: Mapping[str, str] | None = None,
        unshown: Iterable[str] = (),
    ) -> Iterator[DialectMutant]:
        """Yield a mutant for every other option of each posture that a clause names.

        It violates the clauses that say they depend on that posture. ``under`` has the
        profile for a posture that decides nothing under the usual one, ``unshown``
        each ``posture option`` that no world tells from the profile's own.
        """
        usual: AnyProfile = self.profile_named(self.under)
        left = frozenset(unshown)
        for posture, options in options_of(type(usual)).items():
            clauses = [x.id for x in contract.checked if posture in x.postures]
            says = (under or {}).get(posture, self.under)
            own = getattr(self.profile_named(says), posture)
            for option in options if clauses else ():
                if option != own and f"{posture} {option}" not in left:
                    yield self.other_posture(posture, option, " ".join(clauses), says)

    def other_posture(
        self, posture: str, option: str, violates: str, under: str
    ) -> DialectMutant:
        """Return the mutant that has another option of a posture than it says."""
        named = f"{posture}-{option}".replace("_", "-")
        id_ = f"{self.prefix}-{named}"
        return DialectMutant(
            id=id_,
            about=f"It says that it is {under}, and has {posture} {option}.",
            violates=tuple(violates.split()),
            door=partial(BrokenReference, self, id_, under, (), {posture: option}),
            under=under,
        )


@dataclass(frozen=True, slots=True)
class BrokenReference:
    """The reference under patches, or under other postures than it says."""

    of: BrokenReferences
    name: str
    under: str
    patches: Sequence[Installed] = ()
    instead: Mapping[str, str] = field(default_factory=dict[str, str])
    version: str = ""

    @property
    def profile(self) -> Any:  # noqa: ANN401  # a profile of the dialect
        """The profile that it says it has."""
        return self.of.profile_named(self.under)

    @property
    def capabilities(self) -> frozenset[str]:
        """All that the reference declares."""
        return frozenset(self.of.reference.capabilities)

    def play(self, scenario: Any) -> Trace:  # noqa: ANN401  # a dialect's own type
        """Play a scenario, wrongly."""
        profile = self.of.profile_named(self.under)
        for posture, option in self.instead.items():
            profile = choosing(profile, posture, option)
        with ExitStack() as stack:
            for each in self.patches:
                each.install(stack)
            return self.of.play_on(scenario, self.of.reference(profile))
