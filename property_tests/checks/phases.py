"""One ``before_agent`` phase, folded over the operations of a scenario's handlers.

No engine is asked: a scenario says what each handler does to the configuration, and a
profile how equal names, null and flags are taken (contract INS, TOOL, RD).

A handler sees sets of tools; equal names in them fold (contract TOOL).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from property_tests.checks.positions import has, label, objects
from refengine.profile import Profile
from refengine.testing import ops
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import decoded
from refengine.testing.ops import ToolSpec
from refengine.testing.scenario import AgentSpec
from refengine.testing.trace import Observation


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool in a set; its flag is None where nobody set one."""

    spec: ToolSpec
    flag: bool | None = None


def folded(entries: Sequence[ToolEntry], profile: Profile) -> list[ToolEntry]:
    """Fold equal names: the last tool, the last set flag, at the place of the first.

    Under the posture ``all_shown`` all entries stay as they are.
    """
    if profile.equal_tool_names == "all_shown":
        return list(entries)
    found: dict[str, ToolEntry] = {}
    for each in entries:
        earlier = found.get(each.spec.name)
        flag = earlier.flag if earlier and each.flag is None else each.flag
        found[each.spec.name] = ToolEntry(each.spec, flag)
    return list(found.values())


def names_of(entries: Iterable[ToolEntry]) -> list[str]:
    """Return the names of a set, in order."""
    return [each.spec.name for each in entries]


def offered(seen: Observation) -> list[str]:
    """Return the names of the tools in a model request."""
    tools = cast("Sequence[object]", seen.data["tools"])
    return [str(names_shown(each)[0]) for each in tools]


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


@dataclass(slots=True)
class Config:
    """A configuration while handlers act on it; ``flags`` is None without a map."""

    instruction: str
    tools: list[ToolEntry] | None
    flags: dict[str, bool] | None

    def shown(self) -> dict[str, object]:
        """Return it as a trace puts it down."""
        tools = self.tools or []
        flags = self.flags
        if flags is None:
            last = {each.spec.name: each.flag for each in tools}
            flags = {name: flag for name, flag in last.items() if flag is not None}
        return {
            "instruction": self.instruction,
            "tools": names_of(tools),
            "return_directly": dict(flags),
        }


@dataclass(frozen=True, slots=True)
class HandlerTurn:
    """One handler's turn: what it sees, what it leaves, and what was made of that.

    ``left`` is None if it raises. ``doubled`` tells that it leaves equal names,
    ``removed`` are the names that it takes out.
    """

    label: str
    seen: Mapping[str, object]
    left: Mapping[str, object] | None
    doubled: bool = False
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setup:
    """What a ``before_agent`` phase leaves.

    ``failed`` tells that it ends with an error: then nothing runs. ``default`` are the
    tools before any handler, of which some have one name if ``doubled``; ``left`` those
    that the last handler left, None for null. ``writes`` are the flags that handlers
    set, by name; ``readded`` the names that were taken out and put in again.
    """

    steps: tuple[HandlerTurn, ...]
    failed: bool
    instruction: str = ""
    default: tuple[ToolSpec, ...] = ()
    doubled: bool = False
    left: tuple[ToolSpec, ...] | None = ()
    shown: tuple[ToolSpec, ...] = ()
    runnable: Mapping[str, ToolSpec] = field(default_factory=dict[str, ToolSpec])
    direct: frozenset[str] = frozenset()
    writes: Mapping[str, tuple[bool | None, ...]] = field(
        default_factory=dict[str, tuple[bool | None, ...]]
    )
    readded: frozenset[str] = frozenset()


def joined(base: str, additions: Iterable[str], profile: Profile) -> str:
    """Return an instruction with what struct middlewares add to it."""
    separator = "\n" if profile.separator == "newline" else "\n\n"
    text, empty = base, not base
    for addition in additions:
        if not addition and profile.empty_addition == "skipped":
            continue
        if profile.empty_base == "replaced" and empty:
            text = addition
        else:
            text += separator + addition
        empty = not text
    return text


def default_tools(agent: AgentSpec, profile: Profile) -> list[ToolEntry]:
    """Return the configured tools and those of struct middlewares."""
    configured = [ToolEntry(each) for each in agent.tools]
    added = [ToolEntry(t) for each in agent.middlewares for t in each.additional_tools]
    if profile.additional_tools == "before_configured":
        return folded([*added, *configured], profile)
    return folded([*configured, *added], profile)


class Phases:
    """The phases of one agent, one after the other: handlers count their turns."""

    def __init__(self, agent: AgentSpec, profile: Profile) -> None:
        self._agent = agent
        self._profile = profile
        self._turns: dict[int, int] = {}
        self._number = 0

    def next(self) -> Setup:
        """Return the next phase."""
        self._number += 1
        return _Phase(self._agent, self._profile, self._number, self._turns).setup()


class _Phase:
    def __init__(
        self, agent: AgentSpec, profile: Profile, number: int, turns: dict[int, int]
    ) -> None:
        self._agent, self._profile = agent, profile
        self._number, self._turns = number, turns
        self._nulled = False
        self._writes: dict[str, list[bool | None]] = {}
        self._gone: set[str] = set()
        self._readded: set[str] = set()
        self._default = default_tools(agent, profile)
        additions = (each.additional_instruction for each in agent.middlewares)
        text = joined(decoded(agent.instruction), additions, profile)
        flags = dict(agent.return_directly) if _by_name(profile) else None
        self._config = Config(text, list(self._default), flags)

    def setup(self) -> Setup:
        steps: list[HandlerTurn] = []
        for at in objects(self._agent):
            if not has(self._agent.handlers[at], "before_agent"):
                continue
            step, went_on = self._step(at)
            steps.append(step)
            if not went_on:
                return Setup(tuple(steps), failed=True)
        return self._resolved(tuple(steps))

    def _step(self, at: int) -> tuple[HandlerTurn, bool]:
        spec = self._agent.handlers[at]
        turn = self._turns[at] = self._turns.get(at, 0) + 1
        where = label("before_agent", at, spec.id or f"handler-{at}")
        seen = self._config.shown()
        before = set(names_of(self._config.tools or ()))
        todo = [op for op in spec.before_agent or () if op.on_call in (None, turn)]
        if not all(map(self._done, todo)):
            return HandlerTurn(where, seen, None), False
        left = self._config.shown()
        given = names_of(self._config.tools or ())
        if not self._settled():
            return HandlerTurn(where, seen, left), False
        after = set(names_of(self._config.tools or ()))
        gone = () if self._nulled else tuple(sorted(before - after))
        self._readded.update(after & self._gone)
        self._gone.update(before - after)
        doubled = len(set(given)) < len(given)
        return HandlerTurn(where, seen, left, doubled, gone), True

    def _settled(self) -> bool:
        """Take what a handler left; False if that is refused."""
        left = self._config.tools
        if left is None:
            self._nulled, self._config.tools = True, []
            return self._profile.null_tools != "refused"
        self._nulled = self._nulled and not left
        self._config.tools = folded(left, self._profile)
        return True

    def _done(self, op: ops.Op) -> bool:
        """Do an operation; False if it raises."""
        config = self._config
        tools = config.tools or []
        if isinstance(op, ops.Fail):
            return False
        if isinstance(op, ops.AppendInstruction):
            alone = op.if_base_empty == "replace" and not config.instruction
            text = self._numbered(op.text)
            config.instruction = text if alone else config.instruction + op.sep + text
        elif isinstance(op, ops.AppendTools):
            config.tools = [*tools, *map(self._made, op.tools)]
        elif isinstance(op, ops.RemoveTool):
            config.tools = [each for each in tools if each.spec.name != op.name]
        elif isinstance(op, ops.SetTools):
            config.tools = None if op.value is None else []
        elif isinstance(op, ops.SetReturnDirectly):
            name = self._numbered(op.name)
            return self._flagged({name: op.value}, {name})
        elif isinstance(op, ops.ReplaceReturnDirectly):
            names = {*names_of(tools), *(config.flags or {})}
            return self._flagged(op.value or {}, names)
        return True

    def _flagged(self, flags: Mapping[str, bool], names: set[str]) -> bool:
        config = self._config
        for name in names | flags.keys():
            self._writes.setdefault(name, []).append(flags.get(name))
        if config.flags is not None:
            kept = {k: v for k, v in config.flags.items() if k not in names}
            config.flags = {**kept, **flags}
            return True
        if config.tools is None:
            return False
        config.tools = [
            replace(each, flag=flags.get(each.spec.name))
            if each.spec.name in names
            else each
            for each in config.tools
        ]
        return True

    def _made(self, spec: ToolSpec) -> ToolEntry:
        changed = {
            "name": self._numbered(spec.name),
            "result": self._numbered(spec.result),
            "chunks": tuple(map(self._numbered, spec.chunks)),
        }
        return ToolEntry(spec.model_copy(update=changed))

    def _numbered(self, text: str) -> str:
        return text.replace("<run>", str(self._number))

    def _resolved(self, steps: tuple[HandlerTurn, ...]) -> Setup:
        left = None if self._nulled else self._config.tools
        default = self._default
        shown = runs = left or []
        if left is None:
            runs = default
            shown = default if self._profile.null_tools == "ignored" else []
        elif not left and self._profile.all_tools_removed != "none_left":
            shown = default
            runs = default if self._profile.all_tools_removed == "ignored" else []
        return Setup(
            steps,
            failed=False,
            instruction=self._config.instruction,
            default=_specs(default),
            doubled=_doubled(self._agent),
            left=None if left is None else _specs(left),
            shown=_specs(shown),
            runnable={each.spec.name: each.spec for each in runs},
            direct=self._direct(runs),
            writes={name: tuple(all_) for name, all_ in self._writes.items()},
            readded=frozenset(self._readded),
        )

    def _direct(self, runs: Sequence[ToolEntry]) -> frozenset[str]:
        """Return the names that end a run, by the posture ``return_directly``."""
        configured, rule = self._agent.return_directly, self._profile.return_directly
        if rule == "configured":
            return _true(configured)
        if rule == "three_valued":
            flags = {e.spec.name: e.flag for e in runs}
            return _true(
                {
                    n: configured.get(n, False) if f is None else f
                    for n, f in flags.items()
                }
            )
        final = self._config.flags or {}
        if rule == "membership":
            return frozenset(final or configured)
        return _true(final) or _true(configured)


def _by_name(profile: Profile) -> bool:
    return profile.return_directly in {"membership", "true_or_configured"}


def _true(flags: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(name for name, flag in flags.items() if flag)


def _specs(entries: Iterable[ToolEntry]) -> tuple[ToolSpec, ...]:
    return tuple(each.spec for each in entries)


def _doubled(agent: AgentSpec) -> bool:
    """Tell whether tools of the configuration and of structs have one name."""
    added = [t.name for each in agent.middlewares for t in each.additional_tools]
    names = [*added, *(each.name for each in agent.tools)]
    return len(set(names)) < len(names)
