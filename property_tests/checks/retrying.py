"""Asking a model again that failed (contract §2, ERR, STR)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.kept_runs import effects
from property_tests.view import AFTER, BEFORE, RunView
from refengine.testing.scenario import ModelWrapSpec, RetrySpec, Scenario
from refengine.testing.trace import Observation

RETRY: Final = frozenset(("retry",))


@dataclass(slots=True, eq=False)
class ModelAttempt:
    """One call of the model, ``number`` from 1 in its iteration, and how it ended.

    ``streamed`` says whether it was a stream that was begun and closed, ``then`` is the
    attempt that follows in the same iteration.
    """

    number: int
    request: Observation
    error: Observation | None = None
    response: Observation | None = None
    waits: list[int] = field(default_factory=list[int])
    streamed: bool = False
    then: ModelAttempt | None = None

    def is_retried(self, spec: RetrySpec) -> bool:
        """Tell whether another attempt is to follow one that failed so."""
        if self.error is None:
            return False
        worth = spec.retry_on in (None, self.error.data["error"])
        return worth and self.number <= spec.max_retries


def made_again(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a call is made again, as it was, exactly where the policy says so."""
    for _, spec, attempts in _retrying(case):
        for each in attempts:
            if each.error is None:
                continue
            claim = f"whether the model is asked again after attempt {each.number}"
            got = each.then is not None
            yield Decision(claim, each.is_retried(spec), got, each.error)
            if each.then is not None:
                again = each.then.request
                claim = "what the model is sent when it is asked again"
                for name in ("messages", "tools", "options"):
                    expected = each.request.data[name]
                    yield Decision(claim, expected, again.data[name], again)


def last_error(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a run whose last attempt failed ends with that error."""
    for run, spec, attempts in _retrying(case):
        last = attempts[-1]
        if last.error is None or last.is_retried(spec):
            continue
        worth = spec.retry_on in (None, last.error.data["error"])
        point = "retry_exhausted" if worth else "model"
        error = None if run.error is None else run.error.data["error"]
        reported = cast("Mapping[str, object]", error or {})
        yield Decision(
            "how a run ends whose last attempt failed, and with which error",
            ["error", point, last.error.data["error"]],
            [run.status, reported.get("point"), reported.get("is")],
            run.error or run.end,
        )


def hooks_once(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that hooks of a pass run once an iteration, however often it is asked."""
    for run, _, attempts in _retrying(case):
        begun = sum(each.number == 1 for each in attempts)
        answered = sum(each.response is not None for each in attempts)
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
                yield Decision(claim, len(attempts), count, run.end)


def waited(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that the backoff is asked before each retry, by its number."""
    for _, spec, attempts in _retrying(case):
        for each in attempts if spec.backoff is not None else ():
            if each.error is not None:
                claim = f"what the backoff is asked after attempt {each.number}"
                expected = [each.number] if each.is_retried(spec) else []
                yield Decision(claim, expected, each.waits, each.error)


def distinguishable(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a stream's error says whether another attempt follows."""
    for run, spec, attempts in _retrying(case):
        broken = [each for each in run.events if "stream_error" in each.data]
        failed = [each for each in attempts if each.error is not None and each.streamed]
        if any(_joins(each.wrap_model) for each in run.agent.handlers):
            continue  # its consumer is told nothing of a stream that breaks
        for event, attempt in zip(broken, failed, strict=False):
            claim = "whether the error of a stream says that the model is asked again"
            expected = attempt.is_retried(spec)
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


def iterations(run: RunView) -> int:
    """Count the iterations of a run that asks again: the first attempts in it."""
    return sum(each.number == 1 for each in _attempts(run))


def _retrying(
    case: PlayedWorld,
) -> Iterator[tuple[RunView, RetrySpec, Sequence[ModelAttempt]]]:
    """Yield each run of an agent with a policy, and its attempts."""
    for run in case.played.runs:
        spec = run.agent.retry
        if spec is not None and (attempts := _attempts(run)):
            yield run, spec, attempts


def _attempts(run: RunView) -> list[ModelAttempt]:
    noted = {id(each): entry for each, entry in effects(run)}
    found: list[ModelAttempt] = []
    for each in run.entries:
        last = found[-1] if found else None
        if each.kind == "model_request":
            again = last is not None and last.response is None
            made = ModelAttempt(last.number + 1 if last and again else 1, each)
            if last and again:
                last.then = made
            found.append(made)
        elif last is not None and each.kind == "model_error":
            last.error = each
        elif last is not None and each.kind == "model_response":
            last.response = each
        elif last is not None and each.kind == "stream_close":
            last.streamed |= each.data["of"] == "model"
        elif last is not None and noted.get(id(each), {}).get("at") == "backoff":
            last.waits.append(int(noted[id(each)]["attempt"]))
    return found


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


CHECKS: Final = (
    Check(clause="STR-022", decide=distinguishable, needs=RETRY, meant=_retries),
    Check(clause="STR-023", decide=not_kept, needs=RETRY, meant=_retries),
    Check(clause="ERR-026", decide=made_again, needs=RETRY, meant=_retries),
    Check(clause="ERR-027", decide=last_error, needs=RETRY, meant=_retries),
    Check(clause="ERR-028", decide=hooks_once, needs=RETRY, meant=_retries),
    Check(clause="ERR-029", decide=wrappers_each_time, needs=RETRY, meant=_retries),
    Check(clause="ERR-030", decide=waited, needs=RETRY, meant=_retries),
)
