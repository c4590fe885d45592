"""Checks of rounds: whether another follows, what it is asked, and how many there are.

``finished`` rounds are judged: one that broke off is judged in ``breaking.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from compat.dialects.stream_loop.loop import LIMIT_TEXT, PROMPT
from compat.dialects.stream_loop.results import json_text
from property_tests.dialects.decision import DialectDecision
from property_tests.dialects.dialect import DialectCheck
from property_tests.stream_loop.view import (
    Data,
    LoopRound,
    LoopRun,
    LoopView,
    ToolRun,
    follow_up_of,
    rounds_at_most,
)

Decisions = Iterator[DialectDecision]

LOOPS: Final = frozenset(("loops",))
STATUS: Final = frozenset(("status",))


def completed(seen: LoopView) -> Decisions:
    """LOOP-001: a round that asks for nothing is the last, and its text the answer."""
    for run in seen.runs:
        last = run.rounds[-1] if run.rounds else None
        if run.result is None or last is None or not run.ended_well:
            continue
        if not seen.asking(last):
            claim = "the answer is what was said in the last round"
            yield DialectDecision(claim, last.text, run.result["text"], run.end.place)
    for run, each in seen.rounds:
        if each.finished and not seen.asking(each):
            claim = f"nothing asks for a round behind round {each.number}"
            place = run.end.place if each.last else each.entries[-1].place
            yield DialectDecision(claim, 0, int(not each.last), place)


def completed_status(seen: LoopView) -> Decisions:
    """LOOP-002: a run whose last round asks for nothing is completed."""
    for run in seen.runs:
        if run.result is None or not run.rounds or not run.ended_well:
            continue
        if not seen.asking(run.rounds[-1]):
            got = run.result["status"]
            yield DialectDecision("its status", "completed", got, run.end.place)


def asked_again(seen: LoopView) -> Decisions:
    """LOOP-003: a result that asks leads to another round."""
    for run, each in _of_loops(seen):
        if len(each.calls) == 1 and seen.asking(each) and _has_more(seen, run, each):
            claim = f"a round follows on round {each.number}"
            yield DialectDecision(claim, 1, int(not each.last), each.entries[-1].place)


def true_alone(seen: LoopView) -> Decisions:
    """LOOP-004: what is only like true asks for nothing."""
    for _, each in _of_loops(seen):
        gave = [follow_up_of(one.gave) for one in each.runs]
        if any(one and one is not True for one in gave) and True not in gave:
            claim = f"no round follows on round {each.number}"
            yield DialectDecision(claim, 0, int(not each.last), each.entries[-1].place)


def which_ask(seen: LoopView) -> Decisions:
    """LOOP-005: which of several results may ask."""
    for run, each in _of_loops(seen):
        asking = [one is not None and one.asks for one in each.executions]
        if len(asking) > 1 and len(set(asking)) > 1 and _has_more(seen, run, each):
            expected = int(bool(seen.asking(each)))
            claim = f"another round behind round {each.number} of several results"
            got = int(not each.last)
            yield DialectDecision(claim, expected, got, each.entries[-1].place)


def _of_loops(seen: LoopView) -> Iterator[tuple[LoopRun, LoopRound]]:
    for run in seen.looping:
        yield from ((run, each) for each in run.rounds if each.finished)


def _has_more(seen: LoopView, run: LoopRun, each: LoopRound) -> bool:
    """Tell whether there may be another round, and something to ask in it."""
    most = rounds_at_most(run.most, seen.profile)
    if most is None or each.number >= most:
        return False
    return seen.scenario.next_prompt != "" or seen.profile.empty_prompt == "loops"


def _followed(seen: LoopView) -> Iterator[tuple[LoopRound, LoopRound]]:
    """Yield the rounds that another followed, with that."""
    for run in seen.looping:
        for each, following in zip(run.rounds, run.rounds[1:], strict=False):
            if seen.asking(each):
                yield each, following


def prompt(seen: LoopView) -> Decisions:
    """LOOP-006: the prompt is a sentence and the result as JSON."""
    if seen.scenario.next_prompt is not None:
        return
    for each, following in _followed(seen):
        asking = seen.asking(each)
        if len(asking) == 1:
            expected = {"role": "user", "content": _prompt_of(asking[0])}
            claim = f"what round {following.number} is asked"
            place = following.request.place
            yield DialectDecision(claim, expected, _last(following), place)


def several_prompts(seen: LoopView) -> Decisions:
    """LOOP-007: prompts of several results stand in the order of the calls."""
    if seen.scenario.next_prompt is not None:
        return
    for each, following in _followed(seen):
        asking = seen.asking(each)
        if len(asking) > 1:
            expected = "\n".join(map(_prompt_of, asking))
            claim = f"what round {following.number} is asked"
            got = _last(following).get("content")
            yield DialectDecision(claim, expected, got, following.request.place)


def own_prompt(seen: LoopView) -> Decisions:
    """LOOP-008: a step of one's own makes the prompt."""
    own = seen.scenario.next_prompt
    if not own:
        return
    for each, following in _followed(seen):
        expected = "\n".join(own for _ in seen.asking(each))
        got = _last(following).get("content")
        claim = f"what round {following.number} is asked"
        yield DialectDecision(claim, expected, got, following.request.place)


def _prompt_of(each: ToolRun) -> str:
    return PROMPT + json_text(each.gave["result"])


def _last(following: LoopRound) -> Data:
    return following.asked[-1] if following.asked else {}


def next_input(seen: LoopView) -> Decisions:
    """LOOP-009: a round is asked with all that was said, or with the prompt alone."""
    for each, following in _followed(seen):
        before: list[Any] = list(each.asked)
        if seen.profile.next_input == "prompt_only":
            expected: list[Any] = [x for x in map(_role, before) if x == "system"]
            got: list[Any] = [_role(one) for one in following.asked[:-1]]
            claim = f"what stands before the prompt of round {following.number}"
        else:
            expected, got = before, list(following.asked[: len(before)])
            claim = f"round {following.number} is asked behind all that was said"
        yield DialectDecision(claim, expected, got, following.request.place)


def _role(message: Data) -> str:
    return str(message["role"])


def feedback(seen: LoopView) -> Decisions:
    """LOOP-010: the answer with its calls, then a message for each result."""
    for each, following in _followed(seen):
        if seen.hears("on_tool_result"):
            got = list(following.asked[len(each.asked) : -1])
            claim = f"what round {following.number} is fed back"
            expected = _fed_back(each)
            yield DialectDecision(claim, expected, got, following.request.place)


def _fed_back(each: LoopRound) -> list[Data]:
    """Return the messages of an answer and its results, as they were told."""
    ids = [one["call_id"] for one in each.results]
    calls: list[Any] = [
        {"id": id_, "name": one.name, "arguments": one.arguments}
        for id_, one in zip(ids, each.calls, strict=False)
    ]
    answer = {"role": "assistant", "content": each.text, "calls": calls}
    results = [
        {
            "role": "tool",
            "content": one["text"],
            "call_id": one["call_id"],
            "name": one["name"],
        }
        for one in each.results
    ]
    all_of_it = [answer, *results]
    return [{key: one for key, one in each.items() if one} for each in all_of_it]


def three_rounds(seen: LoopView) -> Decisions:
    """LOOP-011: where no number is given there are three rounds."""
    for run in seen.looping:
        if run.most is None and _all_ask(seen, run.rounds):
            got = len(run.rounds)
            yield DialectDecision("so many rounds", 3, got, run.end.place)


def _all_ask(seen: LoopView, rounds: Sequence[LoopRound]) -> bool:
    """Tell whether each round asks for another, so that only the limit ends a run."""
    return bool(rounds) and all(
        each.finished and seen.asking(each) and seen.scenario.next_prompt != ""
        for each in rounds
    )


def rounds_given(seen: LoopView) -> Decisions:
    """LOOP-012: there are as many rounds as the number says, and no more."""
    for run in seen.looping:
        if type(run.most) is int and run.most > 0 and _all_ask(seen, run.rounds):
            got = len(run.rounds)
            yield DialectDecision("so many rounds", run.most, got, run.end.place)


def numbers(seen: LoopView) -> Decisions:
    """LOOP-013: a number that is none is refused, or taken as the sketch takes it."""
    for run in seen.looping:
        if run.most is None or (type(run.most) is int and run.most > 0):
            continue
        most = rounds_at_most(run.most, seen.profile)
        place = run.end.place
        if most is None:
            claim = f"{run.spec.max_iterations!r} is refused before anything is asked"
            got = [len(run.rounds), run.error is not None]
            yield DialectDecision(claim, [0, True], got, place)
        elif not most or _all_ask(seen, run.rounds):
            claim = f"{run.spec.max_iterations!r} means so many rounds"
            yield DialectDecision(claim, most, len(run.rounds), place)


def exhausted(seen: LoopView) -> Decisions:
    """LOOP-014: a run whose rounds are used up says so by its status."""
    for run in seen.looping:
        if run.result is not None and _all_ask(seen, run.rounds):
            got = run.result["status"]
            yield DialectDecision("its status", "max_iterations", got, run.end.place)


def exhausted_text(seen: LoopView) -> Decisions:
    """LOOP-015: its text is that of the last round, or a fixed sentence."""
    for run in seen.looping:
        if run.result is not None and _all_ask(seen, run.rounds):
            fixed = seen.profile.exhausted_text == "limit_text"
            expected = LIMIT_TEXT if fixed else run.rounds[-1].text
            got = run.result["text"]
            yield DialectDecision("its text", expected, got, run.end.place)


def empty_prompt(seen: LoopView) -> Decisions:
    """LOOP-016: with nothing to ask the loop ends with a warning, or asks nothing."""
    if seen.scenario.next_prompt != "":
        return
    for run in seen.looping:
        most = rounds_at_most(run.most, seen.profile)
        for each in run.rounds:
            asks = each.finished and seen.asking(each)
            if (
                not asks
                or most is None
                or (seen.profile.empty_prompt == "loops" and each.number >= most)
            ):
                continue
            got = [int(not each.last), int(bool(run.warnings))]
            expected = [0, 1] if seen.profile.empty_prompt == "completes" else [1, 0]
            claim = f"a round behind round {each.number}, and a warning"
            yield DialectDecision(claim, expected, got, run.end.place)


def instruction(seen: LoopView) -> Decisions:
    """LOOP-017: an instruction stands first in each request, and is not kept."""
    told = seen.scenario.instruction
    if not told:
        return
    for run in seen.runs:
        for each in run.rounds:
            got = [one["content"] for one in each.asked if one["role"] == "system"]
            claim = f"the instructions of round {each.number}"
            yield DialectDecision(claim, [told], got, each.request.place)
            first = each.asked[0].get("content")
            claim = f"what round {each.number} begins with"
            yield DialectDecision(claim, told, first, each.request.place)
        kept: list[Data] = list((run.result or {}).get("history", ()))
        got = [each for each in kept if _role(each) == "system"]
        yield DialectDecision("instructions that are kept", [], got, run.end.place)


def history(seen: LoopView) -> Decisions:
    """LOOP-018: a run begins with the history that it was given, and the input."""
    for run in seen.runs:
        if not run.rounds:
            continue
        before: list[Any] = []
        if run.spec.continues and run.before is not None:
            before = list(run.before.get("history", []))
        expected = [*before, _user(run.spec.input)]
        asked = [each for each in run.rounds[0].asked if each["role"] != "system"]
        place = run.rounds[0].request.place
        yield DialectDecision("what the model is asked first", expected, asked, place)


def _user(text: str) -> Data:
    return {"role": "user", "content": text} if text else {"role": "user"}


def kept_history(seen: LoopView) -> Decisions:
    """LOOP-019: the history of a result is the last request and what it led to."""
    for run in seen.runs:
        if run.result is None or not run.ended_well or not run.rounds:
            continue
        last = run.rounds[-1]
        asked = [each for each in last.asked if each["role"] != "system"]
        kept = run.result["history"]
        expected = [*asked, *_fed_back(last)]
        if seen.asking(last):  # the prompt of a round that there was no more
            kept = kept[: len(expected)]
            if seen.profile.next_input == "prompt_only":
                continue
        if seen.hears("on_tool_result"):
            yield DialectDecision("what is kept", expected, kept, run.end.place)


CHECKS: Final = (
    DialectCheck(clause="LOOP-001", decide=completed),
    DialectCheck(clause="LOOP-002", decide=completed_status, needs=STATUS),
    DialectCheck(clause="LOOP-003", decide=asked_again, needs=LOOPS),
    DialectCheck(clause="LOOP-004", decide=true_alone, needs=LOOPS),
    DialectCheck(clause="LOOP-005", decide=which_ask, needs=LOOPS),
    DialectCheck(clause="LOOP-006", decide=prompt, needs=LOOPS),
    DialectCheck(
        clause="LOOP-007",
        decide=several_prompts,
        needs=LOOPS,
        under={"follow_up": ("any",)},
    ),
    DialectCheck(clause="LOOP-008", decide=own_prompt, needs=LOOPS | {"prompts"}),
    DialectCheck(clause="LOOP-009", decide=next_input, needs=LOOPS),
    DialectCheck(
        clause="LOOP-010",
        decide=feedback,
        needs=LOOPS,
        under={"next_input": ("history",)},
    ),
    DialectCheck(clause="LOOP-011", decide=three_rounds, needs=LOOPS),
    DialectCheck(clause="LOOP-012", decide=rounds_given, needs=LOOPS),
    DialectCheck(clause="LOOP-013", decide=numbers, needs=LOOPS),
    DialectCheck(clause="LOOP-014", decide=exhausted, needs=LOOPS | STATUS),
    DialectCheck(clause="LOOP-015", decide=exhausted_text, needs=LOOPS),
    DialectCheck(clause="LOOP-016", decide=empty_prompt, needs=LOOPS | {"prompts"}),
    DialectCheck(
        clause="LOOP-017", decide=instruction, needs=frozenset(("instruction",))
    ),
    DialectCheck(clause="LOOP-018", decide=history, needs=frozenset(("history",))),
    DialectCheck(clause="LOOP-019", decide=kept_history, needs=frozenset(("history",))),
)
"""Clauses about rounds."""
