"""Profiles of the stream-loop dialect: what the decision record does, and what we do.

``loop-adr`` is the record's sketch as its code would run, with the plainest reading
where the record says nothing. ``loop-safe``, the default, has our decision at each of
these points.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from refengine.postures import named, profiles_in, refuse_unknown_options


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopProfile:
    """A choice at each point that the record leaves open, or where its sketch fails."""

    name: str
    iteration_limit: Literal["falsy_is_three", "checked"]
    """max_iterations: what is falsy or NaN means 3, and a negative number no round at
    all; or all but whole numbers from 1 on is refused"""
    exhausted_text: Literal["limit_text", "last_round"]
    """the text of a result whose rounds are used up: a fixed sentence, or that of the
    last round"""
    follow_up: Literal["any", "first_only", "last_only"]
    """which of a round's results may ask for another round"""
    next_input: Literal["history", "prompt_only"]
    """what the model is asked in the next round: all that was said with the prompt
    behind it, or the prompt alone"""
    empty_prompt: Literal["completes", "loops"]
    """a next prompt without text: the loop ends with a warning, or asks with nothing"""
    tool_failure: Literal["result", "aborts"]
    """a tool that raises, or is not there, or exceeds a limit: its result says so, or
    the error comes out"""
    open_parts: Literal["ended", "left"]
    """parts that are open when a stream breaks, time is up or the run is cancelled:
    end in error, or stay as they were"""
    raising_callback: Literal["isolated", "aborts"]
    """a callback that raises: on_error is told and the run goes on, or it comes out"""

    def __post_init__(self) -> None:
        refuse_unknown_options(self)


LOOP_PROFILES: Final = tuple(
    profiles_in(
        LoopProfile, Path(__file__).with_name("profiles.toml").read_text("utf-8")
    )
)
"""All profiles of the dialect, in the order of ``profiles.toml``."""


def loop_profile(name: str) -> LoopProfile:
    """Return the profile of that name; raises UnknownProfileError with a suggestion."""
    return named(LOOP_PROFILES, name)
