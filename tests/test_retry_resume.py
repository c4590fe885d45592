"""A run that was interrupted at a later attempt goes on with that attempt."""

import pytest

from refengine import ModelRetry, RetriesExhaustedError, interrupt, is_reentry
from refengine.state import Checkpoints, MemoryStore
from refengine.testing.clock import run
from tests.retry_support import BOTH_MODES, Broken, Busy, Counting, Shaky
from tests.support import DONE, USER, Whole, build, calls, outcome_of


class Asking(Counting):
    """Asks in the wrapper around the model, at the attempts it is told."""

    def __init__(self, *at):
        super().__init__()
        self._at = at
        self.answers = []

    async def wrap_model_call(self, ctx, request, next):
        self.counts["around"] += 1
        if is_reentry() or self.counts["around"] in self._at:
            self.answers.append(interrupt("go on?"))
        return await next(ctx, request)


def cut_and_resumed(first, then, *, stream):
    """Interrupt a run at its second attempt, and resume it with another agent."""
    store = MemoryStore()
    handler = Asking()

    async def agent_of(asking, model):
        retry = ModelRetry(2, backoff=lambda _: 0)
        kept = Checkpoints(store)
        return await build(
            asking, model=model, tools=[Whole()], retry=retry, checkpoints=kept
        )

    async def play_it():
        agent = await agent_of(Asking(2), first)
        async with agent.run([USER], stream=stream, checkpoint="k") as started:
            waiting = (await started.result()).interrupts
        other = await agent_of(handler, then)
        answers = {str(each.address): "yes" for each in waiting}
        async with other.resume("k", answers) as resumed:
            async for _ in resumed:
                pass
        return resumed

    return run(play_it()), handler


@BOTH_MODES
@pytest.mark.parametrize("step", [Busy, Broken])
def test_interrupted_attempt_is_entered_again(stream, step):
    first, then = Shaky(step()), Shaky(step(), DONE)

    resumed, handler = cut_and_resumed(first, then, stream=stream)

    result = outcome_of(resumed)
    assert (result.status, result.answer) == ("completed", DONE)
    assert list(result.messages) == [USER, DONE]
    assert (len(first.asked), len(then.asked)) == (1, 2)
    assert handler.answers == ["yes"]
    assert handler.counts == {"before": 0, "after": 1, "around": 2, "end": 1}


@BOTH_MODES
def test_attempts_before_the_interrupt_count(stream):
    first, then = Shaky(Busy()), Shaky(Busy(), Busy())

    resumed, _ = cut_and_resumed(first, then, stream=stream)

    assert isinstance(resumed.error, RetriesExhaustedError)
    assert resumed.error.attempts == 3
    assert len(then.asked) == 2


@BOTH_MODES
def test_next_iteration_has_all_its_attempts(stream):
    first, then = Shaky(Busy()), Shaky(calls("t"), Busy(), Busy(), DONE)

    resumed, _ = cut_and_resumed(first, then, stream=stream)

    assert outcome_of(resumed).answer == DONE
