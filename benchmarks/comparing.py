"""Two reports, row by row: whether the ratio over the same floor changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import exp, hypot, log
from pathlib import Path
from typing import TypeAlias

from pydantic import ValidationError

from compat.verdicts.cost import Compared, ComparedRow, Cost, Costs, Estimate, Floor
from refengine.errors import RefengineError
from refengine.testing.given_text import problem

Key: TypeAlias = tuple[str, Floor]


class NotAReportError(RefengineError):
    """A file that ``bench run --json`` did not write."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(f"{path}: no report of bench run --json: {why}")


def read(path: Path) -> Costs:
    """Return the report of a file; raises NotAReportError and OSError."""
    try:
        return _sound(path, Costs.read(path.read_text("utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise NotAReportError(path, f"{where}: {problem(first['msg'])}") from error
    except UnicodeDecodeError as error:
        raise NotAReportError(path, "it is not text") from error


def _sound(path: Path, costs: Costs) -> Costs:
    """Return the report; raises NotAReportError for numbers that no run writes."""
    if costs.noise.band < 0:
        raise NotAReportError(path, "noise.band: a share is 0 or more")
    seen: set[Key] = set()
    for cost in costs.costs:
        for each in cost.compared:
            found, where = each.ratio, f"{cost.key}, over {each.floor}"
            if (cost.key, each.floor) in seen:
                raise NotAReportError(path, f"{where}: the row is there twice")
            if not 0 < found.low <= found.value <= found.high:
                raise NotAReportError(
                    path, f"{where}: a ratio is above 0, and inside its interval"
                )
            seen.add((cost.key, each.floor))
    return costs


def compared(old: Costs, new: Costs, limit: float) -> Iterator[ComparedRow]:
    """Yield each row of either report; one that only one has is shown, not judged."""
    before, after = _by_key(old), _by_key(new)
    noise = max(old.noise.band, new.noise.band)
    for key in dict.fromkeys((*before, *after)):
        if key in before and key in after:
            first, second = before[key], after[key]
            if first[0].name == second[0].name:
                yield _judged(key, first, second, noise, limit)
            else:
                yield _row(key, second[0], f"in the first it is {first[0].name}")
        else:
            side = "first" if key in before else "second"
            cost, _ = before.get(key) or after[key]
            yield _row(key, cost, f"only the {side} has it")
    for cost in (*old.costs, *new.costs):
        if cost.blocked is not None:
            yield _row((cost.key, "no handlers"), cost, cost.blocked.why)


def differing(old: Costs, new: Costs) -> Iterator[str]:
    """Yield what makes two reports less alike than a reader may think."""
    for name in sorted({*old.header.machine, *new.header.machine}):
        first = old.header.machine.get(name, "unknown")
        second = new.header.machine.get(name, "unknown")
        if first != second:
            yield f"{name}: {first} against {second}"
    if old.header.quick != new.header.quick:
        yield "one of them is a quick run"
    if old.header.subject != new.header.subject:
        yield f"subject: {old.header.subject} against {new.header.subject}"


def change_of(old: Estimate, new: Estimate) -> Estimate:
    """Return how many times larger a ratio became; its interval holds both errors."""
    value = log(new.value / old.value)
    low = hypot(log(old.high / old.value), log(new.value / new.low))
    high = hypot(log(old.value / old.low), log(new.high / new.value))
    return Estimate(value=exp(value), low=exp(value - low), high=exp(value + high))


def _by_key(costs: Costs) -> Mapping[Key, tuple[Cost, Compared]]:
    return {
        (cost.key, each.floor): (cost, each)
        for cost in costs.costs
        for each in cost.compared
    }


def _judged(
    key: Key,
    before: tuple[Cost, Compared],
    after: tuple[Cost, Compared],
    noise: float,
    limit: float,
) -> ComparedRow:
    change = change_of(before[1].ratio, after[1].ratio)
    row = _row(key, after[0], "")
    same = change.low <= 1 <= change.high or abs(change.value - 1) <= noise
    if same:
        update = {"verdict": "not distinguishable", "change": change}
    elif change.high <= limit:
        update = {"verdict": "pass", "change": change}
    elif change.low > limit:
        update = {"verdict": "fail", "change": change}
    else:
        why = f"it changed, but the interval holds the limit of {limit:g}"
        update = {"verdict": "not distinguishable", "change": change, "why": why}
    return row.model_copy(update=update)


def _row(key: Key, cost: Cost, why: str) -> ComparedRow:
    return ComparedRow(
        key=key[0],
        name=cost.name,
        floor=key[1],
        change=None,
        verdict="not shown",
        why=why,
    )
