"""A session of observed agents, whose consumer may leave its runs."""

from __future__ import annotations

from pydantic import PositiveInt

from refengine.testing.scenario import Scenario


class ObservedScenario(Scenario):
    """A session of observed agents.

    Of each run its consumer reads so many events as ``leaves`` says, all by default.
    Then it closes the run, and cancels nothing.
    """

    leaves: PositiveInt | None = None
