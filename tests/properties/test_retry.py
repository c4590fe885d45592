"""Calls, waits and streams of a run with retry are what a small oracle unrolls."""

from hypothesis import given
from hypothesis import strategies as st

from refengine import ModelRetry
from tests.properties.support import searching
from tests.retry_support import BOTH_MODES, Broken, Busy, Fatal, Shaky, play
from tests.support import DONE, Whole, calls

STEPS = {
    "busy": Busy,
    "fatal": Fatal,
    "cut": Broken,
    "cut at once": lambda: Broken(chunks=()),
    "fatal cut": lambda: Broken(Fatal()),
}


@st.composite
def worlds(draw):
    """Draw tries a model, further models, and what each attempt meets, by iteration."""
    outcomes = st.sampled_from([*STEPS, "answer", "answer"])
    rows = st.lists(st.lists(outcomes, min_size=9, max_size=9), min_size=1, max_size=3)
    return draw(st.integers(1, 3)), draw(st.integers(0, 2)), draw(rows)


def expected(tries, spare, rows, *, stream):
    """Say what happens, by unrolling all attempts and cutting after the last one."""
    order = [(model, nth) for model in range(1 + spare) for nth in range(tries)]
    asked, told, clock = [], [], 0
    for at, row in enumerate(rows):
        outcomes = row[: len(order)]
        stops = [n for n, o in enumerate(outcomes) if o == "answer" or "fatal" in o]
        taken = outcomes[: stops[0] + 1] if stops else outcomes
        for (model, nth), outcome in zip(order, taken, strict=False):
            clock += nth * 5
            asked.append((str(model), clock))
            if stream and outcome not in {"busy", "fatal"}:
                told.append("WillRetryError" if outcome != "answer" else None)
        last = taken[-1]
        end = None if last == "answer" else "ModelError"
        end = end if stops else "RetriesExhaustedError"
        if stream and "cut" in last:
            told[-1] = "Fatal" if last == "fatal cut" else end
        if end is not None:
            return asked, told, end, at
    return asked, told, None, len(rows)


class Rows:
    """The next outcome for whichever model is asked; an answer ends its row."""

    def __init__(self, rows):
        self._rows = [list(row) for row in rows]

    def pop(self, _at):
        outcome = self._rows[0].pop(0)
        if outcome != "answer":
            return STEPS[outcome]()
        del self._rows[0]
        return calls("t") if self._rows else DONE


@BOTH_MODES
@searching(100)
@given(world=worlds())
def test_calls_waits_and_streams_are_what_an_oracle_says(stream, world):
    tries, spare, rows = world
    asked, script = [], Rows(rows)
    names = [str(at) for at in range(1 + spare)]
    first, *others = (Shaky(name=n, asked=asked, script=script) for n in names)
    retry = ModelRetry(
        tries - 1, lambda e: isinstance(e, Busy), lambda n: n * 5, tuple(others)
    )

    seen = play(model=first, tools=[Whole()], retry=retry, stream=stream)

    end = type(seen.error).__name__ if seen.error else None
    answers = [each for each in seen.result.messages if each.role == "assistant"]
    got = asked, seen.told, end, len(answers)
    assert got == expected(tries, spare, rows, stream=stream)
