"""One agent while its driver plays it: contexts, errors and streams, and its runs.

The context of the harness travels as a number inside that of the engine, and says in
which run something is called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from compat.drivers.agents import DriverAgent
from compat.drivers.connection import DriverProcess, Params
from compat.drivers.histories import SeenHistory
from compat.drivers.saying import said_by_engine
from compat.drivers.values import Wire
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context, at_point
from refengine.messages import Message
from refengine.profile import profile
from refengine.stream import StreamReader
from refengine.testing import doors


class OpenRun:
    """A run that goes on: what was told of it, and how far its consumer is."""

    def __init__(
        self, number: int, given: Sequence[Message], ctx: Context, seen: SeenHistory
    ) -> None:
        self.number = number
        self.given = tuple(given)
        self.ctx = ctx
        self.seen = seen
        self.is_over = False
        self.told: asyncio.Queue[Wire | None] = asyncio.Queue()
        self._untaken = 0
        self._taken = asyncio.Event()
        self._taken.set()
        self._in_step = asyncio.Event()
        self._in_step.set()
        self._read = asyncio.Event()
        self._read.set()
        self._has_results = asyncio.Event()
        self._has_results.set()

    def tell(self, event: Wire) -> None:
        """Take what the engine told."""
        self.seen.hear(event.get("role"))
        self._untaken += 1
        self._taken.clear()
        self._find_step()
        self.told.put_nowait(event)

    def took(self) -> None:
        """Note that the consumer has taken an event."""
        self._untaken -= 1
        if self._untaken == 0:
            self._taken.set()
        self._find_step()

    def reads(self) -> None:
        """Note that the consumer reads an answer that comes in chunks."""
        self._read.clear()

    def has_read(self) -> None:
        """Note that it does so no longer."""
        self._read.set()

    def reads_result(self) -> None:
        """Note that the consumer reads a result that comes in chunks.

        That may take time, and the next call does not wait for it.
        """
        self._has_results.clear()
        self._find_step()

    def has_read_result(self) -> None:
        """Note that it does so no longer."""
        self._has_results.set()
        self._find_step()

    def _find_step(self) -> None:
        """Let calls wait for events that are told, but not while a result is read."""
        if self._taken.is_set() or not self._has_results.is_set():
            self._in_step.set()
        else:
            self._in_step.clear()

    async def has_results(self) -> None:
        """Wait until the consumer has read the results that the model is now told.

        Who asks the model has read their streams itself, so they wait for nobody.
        """
        await self._taken.wait()
        await self._has_results.wait()

    def end(self) -> None:
        """Let go of all that waits for the consumer."""
        self.is_over = True
        self._taken.set()
        self._in_step.set()
        self._read.set()
        self._has_results.set()

    async def caught_up(self, *, within_answer: bool = False) -> None:
        """Wait until the consumer has taken all that was told, and read the answer.

        Or until it reads a result that comes in chunks. What the answer itself may wait
        for is asked for ``within_answer``.
        """
        await self._in_step.wait()
        if not within_answer:
            await self._read.wait()


class AgentState(DriverAgent):
    """One agent with extensions: what is shared by all that plays it."""

    def __init__(self, driver: DriverProcess, config: ChatModelAgentConfig) -> None:
        super().__init__(driver)
        self.takes(event=self._event)
        self.config = config
        self.runs: dict[int, OpenRun] = {}
        under = profile(driver.about["profile"])
        self._sent_each_call = under.instruction_place == "each_call"
        self._edits_kept = under.before_model_edits == "kept"
        self._empty_added = under.empty_addition == "kept"
        self._contexts: dict[int, tuple[Context, OpenRun]] = {}
        self._context_numbers: dict[tuple[int, int], int] = {}

    def new_run(self, given: Sequence[Message]) -> OpenRun:
        """Return a run that is about to start."""
        number = len(self.runs) + 1
        seen = SeenHistory(
            given,
            has_instruction=self._has_instruction,
            sent_each_call=self._sent_each_call,
            edits_kept=self._edits_kept,
        )
        ctx = doors.run_context(self.config.name)
        self.runs[number] = run = OpenRun(number, given, ctx, seen)
        return run

    @property
    def _has_instruction(self) -> bool:
        """Whether there is an instruction before any hook."""
        structs = self.config.middlewares
        added = self._empty_added or any(s.additional_instruction for s in structs)
        return bool(self.config.instruction or (structs and added))

    def raised(self, message: str, data: Params) -> BaseException:
        """Return an exception for what the engine says."""
        return said_by_engine(message, data, self.config.max_iterations)

    def _event(self, params: Params) -> None:
        """Take an event; of a run that was left, nobody wants one."""
        run = self.runs.get(params["run"])
        if run is not None and not run.is_over:
            run.tell(params)

    # Contexts

    def number_of(self, ctx: Context, run: OpenRun) -> int:
        """Return the number of a context in a run."""
        key = id(ctx), run.number
        found = self._context_numbers.get(key)
        if found is None:
            found = self._context_numbers[key] = len(self._contexts) + 1
            self._contexts[found] = ctx, run
        return found

    def place_of(
        self, params: Params, call_id: str | None = None
    ) -> tuple[Context, OpenRun]:
        """Return in which context and in which run something is called."""
        ctx, run = self._contexts[params["ctx"]]
        start = run.ctx
        return at_point(ctx, start.run_path, call_id, start._locals), run  # noqa: SLF001  # as doors.at_call, of hooks too

    def before_run(self, params: Params) -> tuple[Context, OpenRun]:
        """Return the same before a run has a state, and so values of its own."""
        ctx, run = self._contexts[params["ctx"]]
        return at_point(ctx, run.ctx.run_path, None, None), run

    # Streams of the engine

    def reader(
        self, stream: int, make: Callable[[Wire], Any] = lambda piece: piece
    ) -> StreamReader[Any]:
        """Return a stream that the driver is asked for, chunk by chunk."""
        return StreamReader(self.pulled(stream, make))
