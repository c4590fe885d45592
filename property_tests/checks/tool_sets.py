"""Sets of a scenario's tools, and how equal names in them fold (contract TOOL)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from property_tests.checks.positions import has
from refengine.profile import Profile
from refengine.testing.narrowing import is_mapping
from refengine.testing.ops import ToolSpec
from refengine.testing.scenario import AgentSpec
from refengine.testing.trace import Observation


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool in a set; its flag is None where nobody set one."""

    spec: ToolSpec
    flag: bool | None = None


def folded(entries: Sequence[Entry], profile: Profile) -> list[Entry]:
    """Fold equal names: the last tool, the last set flag, at the place of the first.

    Under the posture ``all_shown`` all entries stay as they are.
    """
    if profile.equal_tool_names == "all_shown":
        return list(entries)
    found: dict[str, Entry] = {}
    for each in entries:
        earlier = found.get(each.spec.name)
        flag = earlier.flag if earlier and each.flag is None else each.flag
        found[each.spec.name] = Entry(each.spec, flag)
    return list(found.values())


def names_of(entries: Iterable[Entry]) -> list[str]:
    """Return the names of a set, in order."""
    return [each.spec.name for each in entries]


def implementation(spec: ToolSpec) -> str:
    """Return how a trace tells tools of one name apart."""
    return spec.result or "".join(spec.chunks)


def offered(seen: Observation) -> list[str]:
    """Return the names of the tools in a model request."""
    tools = cast("Sequence[object]", seen.data["tools"])
    return [str(names_shown(each)[0]) for each in tools]


def tools_in(config: object) -> list[str]:
    """Return the names of the tools in a configuration as a trace puts it down."""
    return list(cast("Sequence[str]", config["tools"])) if is_mapping(config) else []


def is_doubled(names: Sequence[str]) -> bool:
    """Tell whether a name stands there more than once."""
    return len(set(names)) < len(names)


def hidden(agent: AgentSpec) -> list[Sequence[str]]:
    """Return, for each wrapper around the model, the tools that it takes out."""
    found: list[Sequence[str]] = []
    for spec in agent.handlers:
        origin = spec
        while origin.same_as is not None:
            origin = agent.handlers[origin.same_as]
        if has(origin, "wrap_model") and origin.wrap_model is not None:
            found.append(origin.wrap_model.hide_tools)
    return found


def names_shown(tool: object) -> tuple[object, object]:
    """Return name and description of a tool in a request, None for what it lacks."""
    if is_mapping(tool):
        return tool.get("name"), tool.get("description")
    return getattr(tool, "name", None), getattr(tool, "description", None)
