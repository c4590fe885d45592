"""Playing a scenario's runs with what a subject built of another shape.

What is the same for every shape stands here: runs are numbered, begin and end in the
trace, an exception that comes out is one of its events, and a run is cancelled where
the scenario says so. A shape says how one run is played, and what it left.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from refengine.messages import Message
from refengine.testing.clock import no_waiting, run_on
from refengine.testing.notation import parse_message
from refengine.testing.own_failures import told
from refengine.testing.points import class_of, point_of
from refengine.testing.scenario import RunSpec, Scenario
from refengine.testing.scripted import ScriptedError
from refengine.testing.subjects import Played, SubjectError, Way
from refengine.testing.tool_runs import point_of_scripted
from refengine.testing.trace import Trace
from refengine.testing.world import World

GO: Final = "go"
"""What a user says in a run whose input names nothing."""
SPENT: Final = frozenset(("completed", "max_iterations"))
"""How a run ends that has asked the model, unless it asks another one."""


class ShapeRuns(Protocol):
    """What a subject built, ready to be played run by run."""

    @property
    def hooks(self) -> Mapping[str, int]:
        """How often each callback of the subject ran; those that never did too."""
        ...

    async def run(self, spec: RunSpec, said: Sequence[Message]) -> None:
        """Play one run; the last thing ``said`` is the user's. Raises what comes out.

        ``said`` is never empty.
        """
        ...

    async def left(self) -> Mapping[str, object]:
        """Return what the last run left: ``status``, ``answer``, ``messages``, more."""
        ...


class StackPlay:
    """One scenario, played with one subject's shape."""

    def __init__(
        self,
        scenario: Scenario,
        world: World,
        shape: ShapeRuns,
        way: Way | None = None,
    ) -> None:
        """Play ``scenario`` with ``shape``, in a ``way`` if there are several."""
        self._scenario, self._world, self._shape = scenario, world, shape
        self._way: Way | None = way
        self._asked_another = False

    def played(self, got: object) -> Played:
        """Play the session on virtual time; raises SubjectError and EffectError."""
        if len(self._scenario.all_agents) > 1:
            raise SubjectError(got, "a world of several agents has no place for it")
        run_on(self._world.clock, self._play())
        if self._asked_another and not self._world.model.calls:
            raise SubjectError(got, "its model is not world.model, so nobody sees it")
        return Played(self._trace, self._shape.hooks, self._way)

    @property
    def _trace(self) -> Trace:
        return self._world.recorder.trace()

    async def _play(self) -> None:
        world = self._world
        ways = (
            {} if self._way is None else {"asked": self._scenario.way, "way": self._way}
        )
        world.recorder.add("build", ways)
        with warnings.catch_warnings(), no_waiting(world.clock.sleep):
            warnings.simplefilter("ignore")  # of a shape's own, which have other tests
            for number, spec in enumerate(self._scenario.runs, 1):
                world.recorder.run = number
                world.run += 1
                await self._run(spec)
        if world.misused is not None:
            raise world.misused

    async def _run(self, spec: RunSpec) -> None:
        recorder, model = self._world.recorder, self._world.model
        said = [parse_message(text) for text in spec.input] or [Message("user", GO)]
        given = [{"role": each.role, "content": each.content} for each in said]
        more = {"continues": True} if spec.continues else {}
        recorder.add("run_start", {"messages": given, **more})
        recorder.time_run()
        before, raised = model.calls, False
        try:
            await self._cancelled_as_asked(spec, said)
        except Exception as error:  # noqa: BLE001  # how a run ends is data
            raised = True
            self._failed(error)
        data = dict(await self._shape.left())
        self._asked_another |= data.get("status") in SPENT and not raised
        recorder.add("run_end", {**data, "iterations": model.calls - before})

    async def _cancelled_as_asked(self, spec: RunSpec, said: Sequence[Message]) -> None:
        """Play a run, and cancel it where its scenario says so."""
        recorder = self._world.recorder
        task = asyncio.ensure_future(self._shape.run(spec, said))
        if spec.cancel is not None:
            recorder.cancel_at(spec.cancel.when, spec.cancel.nth, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            if not recorder.cancelled:
                raise  # who plays the session was cancelled
        finally:
            recorder.never_cancel()

    def _failed(self, error: Exception) -> None:
        point = point_of(error)
        scripted = point_of_scripted(error)
        if scripted is not None or isinstance(error, ScriptedError):
            point = {"point": scripted or "model", "text": str(error)}
        elif point["point"] == "harness":
            point = {"point": "run", "text": str(error)}
        broke = {"class": class_of(error), **told(error)}
        data = {"kind": "error", "agent": "", "error": point, **broke}
        self._world.recorder.add("event", data)
