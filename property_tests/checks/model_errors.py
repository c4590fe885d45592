"""ERR around the model: what it or a wrapper around it raised, and what follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from property_tests.check import Case, Check, Decision
from property_tests.checks.model_onions import model_wrap_of
from property_tests.checks.outcomes import shown_names
from property_tests.view import HookView, Iteration, RunView
from refengine.testing.trace import Observation

_ACTS: Final = frozenset(("hook_enter", "model_request", "tool_start"))
_WRAPPER: Final = frozenset(("wrap_model",))


def model_error_told(case: Case) -> Iterator[Decision]:
    """Decide whether an error of the model ends the run as such."""
    for run, now in _iterations(case):
        if now.model_error is None:
            continue
        text = now.model_error.data.get("error")
        error = {"point": "model", "text": text, "is": text}
        asked = "an error of the model ends the run as the model's, wrapped once"
        yield _told(asked, run, error, now.model_error)


def model_error_stops(case: Case) -> Iterator[Decision]:
    """Decide whether a hook, a tool or another call follows an error of the model."""
    for run, now in _iterations(case):
        if now.model_error is not None:
            asked = "after an error of the model no hook, tool or model call follows"
            yield _stops(asked, run, now.model_error)


def wrapper_error_told(case: Case) -> Iterator[Decision]:
    """Decide whether an error of a wrapper around the model ends the run as its own."""
    for run, hook, text in _raised(case):
        names = shown_names(run.agent)
        if names is not None:
            error = {"point": "model", "of": names[hook.position], "text": text}
            asked = "what a model wrapper raised ends the run as its, wrapped once"
            yield _told(asked, run, error, hook.enter)


def wrapper_error_stops(case: Case) -> Iterator[Decision]:
    """Decide whether anything acts after a wrapper around the model raised."""
    for run, hook, _ in _raised(case):
        asked = "after a model wrapper raised no hook, tool or model call follows"
        yield _stops(asked, run, hook.enter)


def _raised(case: Case) -> Iterator[tuple[RunView, HookView, str]]:
    """Yield each model wrapper that was called to raise, with the error's text."""
    for run, now in _iterations(case):
        if any(each.same_as is not None for each in run.agent.handlers):
            continue
        for hook in now.model_wraps:
            text = model_wrap_of(run.agent, hook).error
            if text is not None:
                yield run, hook, text


def _iterations(case: Case) -> Iterator[tuple[RunView, Iteration]]:
    for run in case.played.runs:
        for now in run.iterations:
            yield run, now


def _told(
    asked: str, run: RunView, error: Mapping[str, object], raised: Observation
) -> Decision:
    wanted = {"class": "ScriptedError", "error": error}
    got = None
    if run.error is not None:
        data = run.error.data
        got = {"class": data.get("class"), "error": data.get("error")}
    return Decision(asked, wanted, got, run.error or raised)


def _stops(asked: str, run: RunView, raised: Observation) -> Decision:
    later = [e for e in run.entries if e.seq > raised.seq and e.kind in _ACTS]
    at = later[0] if later else raised
    return Decision(asked, [], [each.kind for each in later], at)


CHECKS: Final = (
    Check(clause="ERR-005", decide=model_error_told),
    Check(clause="ERR-006", decide=model_error_stops),
    Check(clause="ERR-024", decide=wrapper_error_told, any_of=_WRAPPER),
    Check(clause="ERR-025", decide=wrapper_error_stops, any_of=_WRAPPER),
)
"""What all errors around the model have to keep."""
