"""Rows about ADK: one decision each, with what versions of it were seen to do.

``expect`` is what the row's own side and version does. ``observed`` says, version by
version, whether that did the same and, if not, what it did instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator

from compat.dialects.flow import FlowProfile, flow_profile
from refengine.postures import choosing

Kind: TypeAlias = Literal[
    "call_tool",
    "call_model",
    "merge_actions",
    "contents",
    "template",
    "transfer",
    "aggregate",
    "is_final",
    "py_chain",
]

SWITCH: Final = "+ADK_DISABLE_PROGRESSIVE_SSE_STREAMING=1"
"""What a version's name ends with that ran with Python's older way of streaming."""

FLOW_PROFILE_OF: Final = MappingProxyType(
    {
        "adk-go v0.4.0": "adk-go-0.4",
        "adk-go v0.5.0": "adk-go-0.5",
        "adk-go HEAD": "adk-go-2",
        "google-adk-1.23.0": "adk-py-1",
        "google-adk-2.13.0": "adk-py-2",
        f"google-adk-1.23.0{SWITCH}": "adk-py-1",
        f"google-adk-2.13.0{SWITCH}": "adk-py-2",
    }
)
"""The versions that a profile stands for; the others are counted, not compared."""

_GO: Final = re.compile(r"adk-go (?P<version>\S+)")
_OWN: Final = MappingProxyType({"1.23": "1.23.0", "2.13": "2.13.0"})


def profile_of(version: str) -> FlowProfile:
    """Return the profile of a version, with the older streaming if its name says so."""
    profile = flow_profile(FLOW_PROFILE_OF[version])
    if version.endswith(SWITCH):
        return choosing(profile, "aggregation", "first_part")
    return profile


class SeenVersion(BaseModel):
    """What one version was seen to do: the same as expected, or what instead."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    same: bool | None = None
    got: Any = None
    both_fail: bool = False
    note: str = ""

    @property
    def says(self) -> bool:
        """Whether it says what the version did."""
        return self.same is True or "got" in self.model_fields_set


@dataclass(frozen=True, slots=True)
class Told:
    """What a row says of one version; there may be nothing to say, which is null."""

    value: Any


class FlowRow(BaseModel):
    """One row; ``input`` is in the notation of its kind."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: str = Field(min_length=1)
    kind: Kind
    side: Literal["go", "py", "both"]
    version: str
    source_test: str = ""
    scenario: str = ""
    expected: str = ""
    note: str = ""
    input: dict[str, Any]
    expect: Any
    observed: dict[str, SeenVersion] = Field(default_factory=dict[str, SeenVersion])

    @field_validator("version")
    @classmethod
    def _is_known(cls, version: str) -> str:
        if version != "HEAD" and not re.fullmatch(r"v?\d[\d.]*(/v?\d[\d.]*)*", version):
            raise ValueError(
                "write vX.Y.Z, HEAD, or X.Y for Python; / stands between two"
            )
        return version

    @property
    def versions(self) -> tuple[str, ...]:
        """All versions that the row says something about."""
        return tuple(self._told())

    def for_version(self, version: str) -> Told:
        """Return what the row says of a version, which is one of ``versions``."""
        return self._told()[version]

    def _told(self) -> Mapping[str, Told]:
        told = {each: Told(self.expect) for each in self._own()}
        for name, seen in self.observed.items():
            if name != "reference" and seen.says:
                told[_short(name)] = Told(self.expect if seen.same else seen.got)
        return told

    def _own(self) -> Iterator[str]:
        """Yield the versions that ``expect`` is about."""
        for each in self.version.split("/"):
            if self.side == "py":
                yield f"google-adk-{_OWN.get(each, each)}"
            else:
                yield f"adk-go {each}"


def _short(name: str) -> str:
    """Return a version without how it was seen and at which commit."""
    go = _GO.match(name)
    return f"adk-go {go['version']}" if go else name


def is_flow_row(data: Mapping[str, Any]) -> bool:
    """Tell whether JSON is meant as a row about ADK and not as one about eino."""
    return "expect" in data or "observed" in data
