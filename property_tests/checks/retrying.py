"""Asking a model again that failed (contract §2, ERR, STR)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.kept_runs import effects, who
from property_tests.view import AFTER, BEFORE, RunView
from refengine.testing.scenario import AgentSpec, ModelWrapSpec, RetrySpec, Scenario
from refengine.testing.trace import Observation

RETRY: Final = frozenset(("retry",))
STREAMED: Final = RETRY | {"streaming"}
WRAPPED: Final = RETRY | {"wrap_model"}
FALL_BACK: Final = RETRY | {"fall_back"}


@dataclass(slots=True, eq=False)
class ModelAttempt:
    """One attempt at a model, ``number`` from 1 in its iteration, and how it ended.

    ``entered`` are the wrappers around it. ``request`` is None if the last of these
    raised: that has failed, too. ``streamed`` says whether it was a stream that was
    begun and closed, ``then`` is the attempt that follows in the same iteration.
    """

    number: int
    entered: list[Observation] = field(default_factory=list[Observation])
    request: Observation | None = None
    error: Observation | None = None
    response: Observation | None = None
    waits: list[int] = field(default_factory=list[int])
    streamed: bool = False
    then: ModelAttempt | None = None

    def failed_of(self, agent: AgentSpec) -> str | None:
        """Return the name of the error it failed of; None if it did not fail."""
        if self.error is not None:
            return str(self.error.data["error"])
        if self.request is not None or not self.entered:
            return None
        at = cast("int", self.entered[-1].data["position"])
        wrap = agent.handlers[at].wrap_model if at < len(agent.handlers) else None
        return None if wrap is None else wrap.error

    def is_worth(self, agent: AgentSpec, spec: RetrySpec) -> bool:
        """Tell whether it failed of an error that the policy has a model asked for."""
        name = self.failed_of(agent)
        return name is not None and spec.retry_on in (None, name)

    def is_retried(self, agent: AgentSpec, spec: RetrySpec) -> bool:
        """Tell whether another attempt is to follow one that failed so."""
        return self.is_worth(agent, spec) and self.number < spec.attempts

    @property
    def names(self) -> set[str]:
        """The extensions whose wrappers it entered."""
        return {str(each.data["extension"]) for each in self.entered}

    @property
    def at(self) -> Observation:
        """The entry that tells of it best."""
        return self.error or self.request or self.entered[-1]


def made_again(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a call is made again, as it was, exactly where the policy says so."""
    for run, spec, attempts in _retrying(case):
        for each in attempts:
            if each.failed_of(run.agent) is None or _is_followed(each, spec):
                continue
            claim = f"whether the model is asked again after attempt {each.number}"
            got = each.then is not None
            yield Decision(claim, each.is_retried(run.agent, spec), got, each.at)
            yield from _as_it_was("when it is asked again", each)


def falls_back(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that the next model is asked the same where all attempts at one failed."""
    for run, spec, attempts in _retrying(case):
        for each in attempts if spec.fall_back else ():
            if each.request is not None:
                claim = f"which model is asked at attempt {each.number}"
                got = each.request.data.get("model", "")
                last = min(each.number, spec.attempts)
                yield Decision(claim, spec.model_at(last), got, each.request)
            if _is_followed(each, spec) and each.failed_of(run.agent) is not None:
                claim = f"whether another model is asked after attempt {each.number}"
                got = each.then is not None
                yield Decision(claim, each.is_worth(run.agent, spec), got, each.at)
                yield from _as_it_was("to fall back on", each)


def _is_followed(attempt: ModelAttempt, spec: RetrySpec) -> bool:
    """Tell whether it is the last attempt at a model that another one follows."""
    return attempt.number < spec.attempts and not spec.retry_at(attempt.number)


def _as_it_was(when: str, attempt: ModelAttempt) -> Iterator[Decision]:
    """Ask that the attempt after one is made with the request of that one."""
    again = None if attempt.then is None else attempt.then.request
    if again is not None and attempt.request is not None:
        for name in ("messages", "tools", "options"):
            expected = attempt.request.data[name]
            claim = f"what a model is sent {when}"
            yield Decision(claim, expected, again.data[name], again)


def paused(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that the time between two attempts is what the policy says.

    Each part of a run that was kept has a clock of its own.
    """
    for run, spec, attempts in () if case.played.resumed else _retrying(case):
        for each in attempts if spec.wait_ms else ():
            again = None if each.then is None else each.then.request
            if (
                again is None
                or each.error is None
                or not each.is_worth(run.agent, spec)
            ):
                continue
            expected = spec.retry_at(each.number) * spec.wait_ms
            passed = round(1000 * (_time(again) - _time(each.error)))
            claim = f"milliseconds between attempt {each.number} and the next one"
            yield Decision(claim, expected, passed, again)


def _time(seen: Observation) -> float:
    return cast("float", seen.data["time"])


def last_error(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a run whose last attempt failed ends with that error."""
    for run, spec, attempts in _retrying(case):
        last = attempts[-1]
        name = last.failed_of(run.agent)
        if name is None or last.is_retried(run.agent, spec):
            continue
        point = "retry_exhausted" if last.is_worth(run.agent, spec) else "model"
        error = None if run.error is None else run.error.data["error"]
        reported = cast("Mapping[str, object]", error or {})
        yield Decision(
            "how a run ends whose last attempt failed, and with which error",
            ["error", point, name],
            [run.status, reported.get("point"), _named(reported)],
            run.error or run.end,
        )


def _named(reported: Mapping[str, object]) -> object:
    """Return the name of the error: that of a wrapper is its whole text."""
    return reported.get("is", reported.get("text"))


def hooks_once(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that hooks of a pass run once an iteration, however often it is asked."""
    for run, _, attempts in _retrying(case):
        begun = sum(each.number == 1 for each in attempts)
        answered = sum(each.response is not None for each in attempts)
        last = attempts[-1]
        if last.response is not None and run.left_around(run.iterations[-1]):
            answered -= 1  # it has not come out of its wrappers
        for hook, count in _entered(run).items():
            if hook[0] in BEFORE | AFTER:
                expected = begun if hook[0] in BEFORE else answered
                claim = f"entries into {hook[0]} of {hook[1]}, one an iteration"
                yield Decision(claim, expected, count, run.end)


def wrappers_each_time(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that wrappers around the model are entered once an attempt."""
    for run, _, attempts in _retrying(case):
        for hook, count in _entered(run).items():
            if hook[0] == "wrap_model":
                claim = f"entries into {hook[1]} around the model, one an attempt"
                left = run.is_left and hook[1] not in attempts[-1].names
                yield Decision(claim, len(attempts) - left, count, run.end)


def waited(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that the backoff is asked before each retry, by its number."""
    for run, spec, attempts in _retrying(case):
        for each in attempts if spec.backoff is not None else ():
            if each.failed_of(run.agent) is not None:
                claim = f"what the backoff is asked after attempt {each.number}"
                retry = spec.retry_at(each.number)
                asked = retry and each.is_retried(run.agent, spec)
                yield Decision(claim, [retry] if asked else [], each.waits, each.at)


def distinguishable(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a stream's error says whether another attempt follows."""
    for run, spec, attempts in _retrying(case):
        broken = [each for each in run.events if "stream_error" in each.data]
        failed = [each for each in attempts if each.error is not None and each.streamed]
        if any(_joins(each.wrap_model) for each in run.agent.handlers):
            continue  # its consumer is told nothing of a stream that breaks
        if failed and not run.is_left:
            claim = "events whose streams broke, one for each that did"
            at = broken[-1] if broken else failed[-1].at
            yield Decision(claim, len(failed), len(broken), at)
        for event, attempt in zip(broken, failed, strict=False):
            claim = "whether the error of a stream says that the model is asked again"
            expected = attempt.is_retried(run.agent, spec)
            yield Decision(claim, expected, event.data.get("will_retry", False), event)


def not_kept(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a history holds the answers, and nothing of attempts that failed."""
    for run, _, attempts in _retrying(case):
        failed = any(each.error is not None for each in attempts)
        if failed and not run.is_edited:
            answers = sum(each.response is not None for each in attempts)
            kept = sum(m.role == "assistant" for m in run.final)
            given = sum(m.role == "assistant" for m in run.given)
            claim = "answers that a run keeps, one an iteration that was answered"
            yield Decision(claim, answers + given, kept, run.end)


def _retrying(
    case: PlayedWorld,
) -> Iterator[tuple[RunView, RetrySpec, Sequence[ModelAttempt]]]:
    """Yield each run of an agent with a policy, and its attempts."""
    for run in case.played.runs:
        spec = run.agent.retry
        if spec is not None and (attempts := _attempts(run)):
            yield run, spec, attempts


def _attempts(run: RunView) -> list[ModelAttempt]:
    """Return the attempts of a run; an answer that came begins another iteration."""
    noted = {id(each): entry for each, entry in effects(run)}
    found: list[ModelAttempt] = []
    for each in run.entries:
        last = found[-1] if found else None
        if _begins(last, each):
            again = last is not None and last.response is None
            made = ModelAttempt(last.number + 1 if last and again else 1)
            if last and again:
                last.then = made
            found.append(made)
            last = made
        if last is not None:
            _put(last, each, noted.get(id(each), {}))
    return found


def _begins(last: ModelAttempt | None, seen: Observation) -> bool:
    """Tell whether an entry is the first one of another attempt than the last."""
    asks = seen.kind == "model_request"
    if not (asks or _wraps(seen)):
        return False
    if last is None or last.request is not None:
        return True
    return not asks and any(who(each) == who(seen) for each in last.entered)


def _wraps(seen: Observation) -> bool:
    return seen.kind == "hook_enter" and seen.data["hook"] == "wrap_model"


def _put(
    attempt: ModelAttempt, seen: Observation, noted: Mapping[str, Any]
) -> None:  # what it tells of the attempt
    if _wraps(seen):
        attempt.entered.append(seen)
    elif seen.kind == "model_request":
        attempt.request = seen
    elif seen.kind == "model_error":
        attempt.error = seen
    elif seen.kind == "model_response":
        attempt.response = seen
    elif seen.kind == "stream_close":
        attempt.streamed |= seen.data["of"] == "model"
    elif noted.get("at") == "backoff":
        attempt.waits.append(int(noted["attempt"]))


def _joins(wrap: ModelWrapSpec | None) -> bool:
    return wrap is not None and wrap.concat_stream


def _entered(run: RunView) -> Counter[tuple[str, str]]:
    """Count the entries into hooks, by hook and extension."""
    return Counter(
        (str(each.data["hook"]), str(each.data["extension"]))
        for each in run.entries
        if each.kind == "hook_enter"
    )


def _retries(scenario: Scenario) -> bool:
    return any(agent.retry is not None for agent in scenario.all_agents)


def _falls_back(scenario: Scenario) -> bool:
    return any(a.retry is not None and a.retry.fall_back for a in scenario.all_agents)


CHECKS: Final = (
    Check(clause="STR-022", decide=distinguishable, needs=STREAMED, meant=_retries),
    Check(clause="STR-023", decide=not_kept, needs=RETRY, meant=_retries),
    Check(clause="ERR-026", decide=made_again, needs=RETRY, meant=_retries),
    Check(clause="ERR-027", decide=last_error, needs=RETRY, meant=_retries),
    Check(clause="ERR-028", decide=hooks_once, needs=RETRY, meant=_retries),
    Check(clause="ERR-029", decide=wrappers_each_time, needs=WRAPPED, meant=_retries),
    Check(clause="ERR-030", decide=waited, needs=RETRY, meant=_retries),
    Check(clause="ERR-032", decide=falls_back, needs=FALL_BACK, meant=_falls_back),
    Check(clause="ERR-033", decide=paused, needs=RETRY, meant=_retries),
)
