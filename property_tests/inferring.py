"""Which profile an engine has, found posture by posture from what it does.

Every scenario of a posture is played on the engine, and on the reference engine under
each option of it. The options whose trace is the engine's own are those that the
scenario shows. All else of the profile stays as found so far: the first guess is the
named profile that most scenarios agree with, and it is mended until nothing changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Final, Literal, TypeAlias, cast

from compat.engines.capabilities import lacking_of, refusal_of
from compat.engines.loading import LoadedEngine
from compat.engines.needs import hidden_needs
from compat.profiles.comparing import played, scenarios, unconfirmed
from compat.profiles.confirming import Seen, projected
from property_tests.defaults import REPEATS
from property_tests.real_delays import Shown, shown_in_real_time
from refengine.messages import Json
from refengine.profile import PROFILES, Profile, choosing, options
from refengine.testing.clock import run
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import Observation, Trace, first_divergence

Status: TypeAlias = Literal["shown", "not shown", "contradicts itself", "by luck"]

ROUNDS: Final = 4
"""A guess that is not settled after so many rounds is left as it is."""
PLAYED: Final = 2000
"""So many traces of the reference engine are kept, for several engines one by one."""
WARNED: Final = frozenset(("both_lists", "struct_middleware"))
"""Postures that are about a warning, which is otherwise no matter of comparison."""
SLIPS: Final = frozenset(("NameError", "UnboundLocalError", "ImportError"))
"""Errors that no scenario raises: what an engine does then is not its own choice."""

ORDERS: Final = ("", ", delays turned round")
CONTRADICTIONS: Final[frozenset[Status]] = frozenset(("contradicts itself", "by luck"))


@dataclass(frozen=True, slots=True)
class Evidence:
    """One scenario of a posture on the engine: the options it shows, or why none.

    ``number`` counts from 1 among the posture's scenarios. ``refused`` tells that it
    was not played, because the engine does not declare what it needs.
    """

    number: int
    options: tuple[str, ...] = ()
    why: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Posture:
    """What an engine shows of one posture. ``options`` are those that fit, in order."""

    name: str
    status: Status
    options: tuple[str, ...]
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()

    @property
    def option(self) -> str | None:
        """The option that it shows, if it shows one."""
        return self.options[0] if self.status == "shown" else None


@dataclass(frozen=True, slots=True)
class Inferred:
    """What an engine shows of every posture, and which named profile is nearest.

    ``declared`` is the profile that the engine says it has, if it says so.
    """

    engine: str
    postures: tuple[Posture, ...]
    nearest: Profile
    declared: Profile | None = None

    def differing(self, profile: Profile) -> Iterator[Posture]:
        """Yield the postures in which the engine is not as that profile has them."""
        for each in self.postures:
            if each.options and getattr(profile, each.name) not in each.options:
                yield each

    @property
    def contradicts(self) -> bool:
        """Whether it contradicts itself, time and again too, or what it declares."""
        itself = any(each.status in CONTRADICTIONS for each in self.postures)
        said = self.declared
        return itself or (said is not None and any(self.differing(said)))


def infer(loaded: LoadedEngine, repeats: int = REPEATS) -> Inferred:
    """Return what an engine shows of every posture; those of order on a real clock.

    ``repeats`` is how often each order of delays is played on it, 0 for not at all. An
    engine that breaks down in a scenario shows nothing by it; no exception of its
    own comes out of this. Nor does it show what its profile says it cannot.
    """
    said = None if "profile" in loaded.assumed else loaded.profile
    silent: Mapping[str, str] = {}
    if said is not None:
        silent = unconfirmed().get(said.name, silent)
    trials = list(_trials(loaded))
    guess = _nearest_to(trials, loaded.profile)
    found: tuple[Posture, ...] = ()
    for _ in range(ROUNDS):
        found = tuple(_judged(name, trials, guess) for name in options())
        mended = _mended(guess, found)
        if mended == guess:
            break
        guess = mended
    found = tuple(_on_a_real_clock(loaded, each, guess, repeats) for each in found)
    found = tuple(
        Posture(each.name, "not shown", (), silent[each.name])
        if each.name in silent
        else each
        for each in found
    )
    return Inferred(loaded.name, found, _nearest(found, loaded.profile), said)


@dataclass(frozen=True, slots=True)
class _Trial:
    """One scenario of a posture, and what the engine did in it."""

    posture: str
    number: int
    scenario: Scenario
    seen: Seen | None
    why: str = ""
    refused: bool = False

    def under(self, profile: Profile) -> Seen:
        """Return what the reference engine does in it."""
        return _reference(self.posture, self.number, profile)

    def agrees(self, profile: Profile) -> bool:
        """Tell whether the engine does as the reference engine under a profile."""
        ours = self.under(profile)
        return self.seen is not None and first_divergence(self.seen, ours) is None

    def evidence(self, guess: Profile) -> Evidence:
        """Return which options it shows if all else is as guessed."""
        if self.seen is None:
            return Evidence(self.number, why=self.why, refused=self.refused)
        every = {
            each: choosing(guess, self.posture, each) for each in _options(self.posture)
        }
        shown = tuple(each for each, under in every.items() if self.agrees(under))
        if shown:
            return Evidence(self.number, shown)
        found = first_divergence(self.seen, self.under(guess))
        option = getattr(guess, self.posture)
        why = f"it does as under no option; from {option} it differs at {found}"
        return Evidence(self.number, why=why)


@cache
def _options(posture: str) -> tuple[str, ...]:
    return options()[posture]


@cache
def _scenarios() -> Mapping[str, Sequence[Scenario]]:
    return {
        posture: [read_scenario(each, posture) for each in found]
        for posture, found in scenarios().items()
    }


@lru_cache(maxsize=PLAYED)
def _reference(posture: str, number: int, profile: Profile) -> Seen:
    scenario = _scenarios()[posture][number - 1]
    return _seen(posture, played(scenario, profile))


def _trials(loaded: LoadedEngine) -> Iterator[_Trial]:
    for posture, found in _scenarios().items():
        for number, scenario in enumerate(found, 1):
            yield _tried(loaded, posture, number, scenario)


def _tried(
    loaded: LoadedEngine, posture: str, number: int, scenario: Scenario
) -> _Trial:
    for capability, _ in hidden_needs(scenario):
        if capability not in loaded.capabilities:
            why = _needs(capability)
            return _Trial(posture, number, scenario, None, why, refused=True)
    try:
        trace = run(play(scenario, loaded.engine))
    except Exception as error:  # noqa: BLE001  # whatever a stranger's engine raises
        why = f"playing it raised {type(error).__name__}: {error}"
        return _Trial(posture, number, scenario, None, why)
    slip = next((c for c in map(_class_of, trace.of("event")) if c in SLIPS), "")
    if slip:
        why = f"playing it ended with {slip}, a mistake in the engine's own code"
        return _Trial(posture, number, scenario, None, why)
    refusal = refusal_of(trace)
    if refusal is not None:
        lacks = lacking_of(refusal)
        why = _needs(lacks) if lacks else refusal
        return _Trial(posture, number, scenario, None, why, refused=True)
    return _Trial(posture, number, scenario, _seen(posture, trace))


def _class_of(event: Observation) -> str:
    """Return the class of the error that an event tells, "" for another event."""
    return str(event.data.get("class", ""))


def _needs(capability: str) -> str:
    return f"its scenario needs {capability!r}, which is not declared"


def _seen(posture: str, trace: Trace) -> Seen:
    """Return what two engines are compared by in a scenario of a posture."""
    if posture not in WARNED:
        return projected(trace)
    given = sorted({str(each.data.get("category")) for each in trace.of("warning")})
    warned = cast("Mapping[str, Json]", {"kind": "warnings", "data": given})
    return [*projected(trace), warned]


def _nearest_to(trials: Sequence[_Trial], first: Profile) -> Profile:
    """Return the profile that most scenarios agree with; of equals the declared one."""
    guesses = [first, *(each for each in PROFILES if each != first)]
    return max(guesses, key=lambda each: sum(trial.agrees(each) for trial in trials))


def _judged(name: str, trials: Sequence[_Trial], guess: Profile) -> Posture:
    evidence = tuple(e.evidence(guess) for e in trials if e.posture == name)
    ran = [each for each in evidence if not each.refused]
    if not ran:
        return Posture(name, "not shown", (), evidence[0].why, evidence)
    unlike = [each for each in ran if not each.options]
    if unlike:
        reason = f"scenario {unlike[0].number}: {unlike[0].why}"
        return Posture(name, "not shown", (), reason, evidence)
    common = tuple(
        each for each in _options(name) if all(each in e.options for e in ran)
    )
    if not common:
        return Posture(name, "contradicts itself", (), _against(ran), evidence)
    if len(common) == 1:
        return Posture(name, "shown", common, "", evidence)
    refused = [each.why for each in evidence if each.refused]
    why = refused[0] if refused else "its scenarios show both"
    reason = f"{' and '.join(common)} are not told apart: {why}"
    return Posture(name, "not shown", common, reason, evidence)


def _on_a_real_clock(
    loaded: LoadedEngine, virtual: Posture, guess: Profile, repeats: int
) -> Posture:
    """Return a posture as real delays show it, where one of its scenarios has some."""
    name = virtual.name
    seen: list[Shown] = []
    if not virtual.options or not repeats:
        return virtual
    every = {each: choosing(guess, name, each) for each in _options(name)}
    for number in (each.number for each in virtual.evidence if not each.refused):
        scenario = _scenarios()[name][number - 1]
        orders = shown_in_real_time(loaded.engine, scenario, every, repeats)
        for order, counts in zip(ORDERS, orders, strict=False):
            if len(counts) > 1:
                reason = f"scenario {number}{order}: {_by_luck(counts, repeats)}"
                return replace(virtual, status="by luck", options=(), reason=reason)
            seen += counts
    fit = tuple(each for each in _options(name) if all(each in e for e in seen))
    if not seen or set(virtual.options) <= set(fit):
        return virtual
    return _really(virtual, fit)


def _by_luck(counts: Counter[Shown], repeats: int) -> str:
    """Return how often which options fitted, the most frequent first."""
    return ", ".join(
        f"{' or '.join(fit) or 'no option'} {times} of {repeats} times"
        for fit, times in counts.most_common()
    )


def _really(virtual: Posture, fit: Shown) -> Posture:
    """Return a posture as real delays show it: other than a virtual clock does."""
    was = " or ".join(virtual.options)
    if not fit:
        reason = f"it does as under no option with real delays, without them as {was}"
        return replace(virtual, status="not shown", options=(), reason=reason)
    reason = f"with real delays; without them {was}"
    status: Status = "shown" if len(fit) == 1 else "not shown"
    return replace(virtual, status=status, options=fit, reason=reason)


def _against(ran: Sequence[Evidence]) -> str:
    return ", ".join(
        f"scenario {each.number} shows {' or '.join(each.options)}" for each in ran
    )


def _mended(guess: Profile, found: Sequence[Posture]) -> Profile:
    for each in found:
        if each.option is not None:
            guess = choosing(guess, each.name, each.option)
    return guess


def _nearest(found: Sequence[Posture], first: Profile) -> Profile:
    """Return the named profile with the fewest differences; of equals the declared."""
    guesses = [first, *(each for each in PROFILES if each != first)]
    probe = Inferred("", tuple(found), first)
    return min(guesses, key=lambda each: len(list(probe.differing(each))))
