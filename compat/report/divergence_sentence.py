"""A divergence in one sentence, in the words of the user's own code.

Which sentence it is, is data: a shape for each code, or for a code in one channel. A
code without a shape is told by its summary, so a new one is never without a sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from compat.report.conform_text import counted
from compat.report.values import beside, brief, in_quotes
from compat.verdicts.migration import DescribedDivergence, Difference
from refengine.testing.json_values import is_list, is_mapping, is_message
from refengine.testing.notation import NotationError, parse_message
from refengine.testing.scenario import HandOverPoint, Scenario
from refengine.testing.trace import MISSING

Fields: TypeAlias = "Mapping[str, str]"

WIDE: Final = 60
"""So many characters of one value stand in a sentence."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A sentence where both sides have something, and where only one of them has.

    ``kept`` is for a text that NEW leaves as the world has it.
    """

    changed: str = ""
    lost: str = ""
    added: str = ""
    kept: str = ""


SHAPES: Final[Mapping[str, Wording]] = MappingProxyType(
    {
        "INSTRUCTION": Wording(
            "NEW's system message says {new}, and OLD's says {old}",
            "NEW sends one system message less than OLD: {old}",
            "NEW sends one more system message than OLD: {new}",
        ),
        "MESSAGE_LOST": Wording(
            "NEW sends {new} where OLD sends {old} and more",
            "NEW no longer sends {old}",
        ),
        "MESSAGE_ADDED": Wording(
            "NEW sends {new} and more where OLD sends {old}",
            added="NEW sends {new}, which OLD does not",
        ),
        "MESSAGE_CHANGED": Wording(
            "{whose} reads {new} in NEW, and {old} in OLD",
            kept="NEW leaves {whose} ({new}) as it is, and OLD makes {old} of it",
        ),
        "ORDER": Wording(
            "NEW has {new} where OLD has {old}: the same things in another order"
        ),
        "TOOLS_MERGE": Wording(
            "NEW shows the model {only_new}, and OLD shows it {only_old}",
            "NEW no longer shows the model {only_old}",
            "NEW shows the model {only_new}, and OLD does not",
        ),
        "TOOLS_MERGE .inside": Wording(
            "NEW shows the model {inside} as {inner_new}, and OLD as {inner_old}",
            "NEW shows the model no {inside}, which is {inner_old} in OLD",
            "NEW shows the model {inside} as {inner_new}, and OLD shows none",
        ),
        "TOOLS_ORDER": Wording(
            "NEW shows the model the same tools in another order: {new}, not {old}"
        ),
        "SETTINGS": Wording(
            "the options are {new} in NEW, and {old} in OLD",
            "NEW loses the options {old}",
            "NEW has the options {new}, and OLD has none",
        ),
        "EXTRA_CALL": Wording(added="NEW asks the model once more than OLD"),
        "EXTRA_CALL tool_executions": Wording(added="NEW runs {new}{and_old}"),
        "EXTRA_CALL .denied": Wording(
            added="NEW runs {new} without asking, to which the person says no"
        ),
        "AGAINST_NO": Wording(added="NEW runs {new} although the person said no"),
        "MISSING_CALL": Wording(lost="NEW asks the model once less than OLD"),
        "MISSING_CALL tool_executions": Wording(lost="NEW {not_run} {old}{as_old}"),
        "TOOL_ARGUMENTS": Wording("NEW runs {tool} with {new}, and OLD with {old}"),
        "TOOL_REPLACED": Wording("NEW runs {new} where OLD runs {old}"),
        "ANSWER": Wording(
            "the run answers {new} in NEW, and {old} in OLD",
            kept="NEW answers {new} as it came, and OLD makes {old} of it",
        ),
        "STATUS": Wording("the run ends with {new} in NEW, and with {old} in OLD"),
        "STATUS ways": Wording(
            lost="NEW holds extensions for refengine's own engine, and OLD is an agent"
            " of a framework: give both of one kind",
            added="NEW is an agent of a framework, and OLD holds extensions for"
            " refengine's own engine: give both of one kind",
        ),
        "STATE_LOST": Wording(
            "NEW keeps {new}{of_key} where OLD keeps {old}",
            "NEW does not keep {old}{of_key}",
        ),
        "STATE_CHANGED": Wording(
            "NEW keeps {new}{of_key}, and OLD keeps {old}",
            "NEW does not keep {old}{of_key}",
            "NEW keeps {new}{of_key}, which OLD does not",
        ),
        "WAITS": Wording(
            "NEW lets {new} seconds go by in a run in which OLD lets {old} go by"
        ),
        "STATE_KEPT": Wording(
            "NEW keeps {new} of a run on its way, and OLD {old}",
            "NEW does not keep {old} of a run on its way",
            "NEW keeps {new} of a run on its way, and OLD does not",
        ),
        "HAND_OVER_REFUSED": Wording(
            added="NEW refuses the run that OLD kept, with {new}; OLD goes on with it"
        ),
        "HAND_OVER_LOST": Wording(
            lost="NEW loses the run that OLD kept: it ends, and the model is not asked"
        ),
        "HAND_OVER_LOST tool_executions": Wording(
            lost="NEW loses the run that OLD kept: it ends, and {old} is never run"
        ),
        "HAND_OVER_TWICE": Wording(
            added="NEW runs {new} a second time in a run that OLD kept after it ran"
        ),
        "HAND_OVER_CHANGED": Wording(
            "of a run that OLD kept, NEW has {new} where OLD has {old}",
            "of a run that OLD kept, NEW does not have {old}",
            "of a run that OLD kept, NEW has {new}, and OLD does not",
        ),
        "HAND_OVER_TYPE": Wording(
            "what OLD kept comes back as {new} in NEW, and as {old} in OLD",
            "NEW does not have what comes back as {old} in OLD",
        ),
        "STREAM_TEXT": Wording(
            "whoever reads the run is told {new} by NEW, {old} by OLD"
        ),
        "STREAM_LEAK": Wording(
            "the consumer of the stream is shown {new} by NEW, and {old} by OLD; both"
            " keep the same history, so one of them shows what it does not keep"
        ),
        "STREAM_LEAK .alone": Wording(
            lost="the consumer of the stream is shown {shown} by OLD, which no kept"
            " history says, and not by NEW",
            added="the consumer of the stream is shown {shown} by NEW, which no kept"
            " history says, and not by OLD",
        ),
        "EVENT_ORDER": Wording(
            "whoever reads the run is told {new} by NEW, {old} by OLD"
        ),
        "EVENT_ORDER .kind": Wording(
            "whoever reads the run is told next of {new} by NEW, and of {old} by OLD"
        ),
        "EVENT_CHANGED": Wording(
            "an event that the consumer receives says {new} in NEW, and {old} in OLD",
            "an event that the consumer receives says {old} in OLD, and not in NEW",
            "an event that the consumer receives says {new} in NEW, and not in OLD",
        ),
        "EVENT_CHANGED .responses": Wording(
            "whoever reads the run is told by NEW that a tool gave {new}, by OLD {old}"
        ),
        "EVENT_CHANGED .actions": Wording(
            "an event carries the actions {new} in NEW, and {old} in OLD",
            "an event carries the actions {old} in OLD, and none in NEW",
            "an event carries the actions {new} in NEW, and none in OLD",
        ),
        "ASKED": Wording(
            "the person is asked {new} by NEW, and {old} by OLD",
            "NEW does not ask the person {old}, and OLD does",
            "NEW asks the person {new}, and OLD does not",
        ),
        "ERROR_LOST": Wording(lost="NEW raises no {old}, and OLD does"),
        "ERROR_NEW": Wording(added="NEW raises {new}, and OLD does not"),
        "ERROR_CLASS": Wording("NEW raises {new} where OLD raises {old}"),
        "ERROR_CAUSE": Wording("NEW's error comes of {new}, and OLD's of {old}"),
        "ERROR_POINT": Wording("NEW fails {new}, and OLD {old}"),
        "ORDER .after": Wording(
            "NEW does {effect} after {new}, and OLD after {old}: another order"
        ),
        "EFFECT_LOST": Wording(lost="NEW {not_do} {old}{as_old}"),
        "EFFECT_EXTRA": Wording(added="NEW does {new}{and_old}"),
        "EFFECT_CHANGED .name": Wording("NEW does {new} where OLD does {old}"),
        "EFFECT_CHANGED": Wording("NEW does {effect} with {new}, and OLD with {old}"),
        "PAIRING": Wording("NEW has call and result paired as {new}, and OLD as {old}"),
        "PAIRING .calls_without_result": Wording(
            "the call without a result is {only_new} in NEW, and {only_old} in OLD",
            "the call {only_old} has a result in NEW, and none in OLD",
            "the call {only_new} has no result in NEW, and one in OLD",
        ),
        "PAIRING .results_without_call": Wording(
            "the result without its call is {only_new} in NEW, and {only_old} in OLD",
            "NEW does not have the result {only_old}, which has no call in OLD",
            "NEW has the result {only_new} without the call that it belongs to",
        ),
        "TYPE": Wording(
            "{place} is {inner_new} in NEW, and {inner_old} in OLD: equal, of another"
            " type"
        ),
        "DELIVERED_TO": Wording(
            "NEW delivers `{what}` to {receivers_new}, and OLD to {receivers_old}"
        ),
        "PART_EVENT": Wording(
            "whoever reads the run is told {new} by NEW, and {old} by OLD",
            "whoever reads the run is not told by NEW that {old}",
            "whoever reads the run is told by NEW that {new}, and not by OLD",
        ),
        "WAY_LOST": Wording("NEW cannot be run in the way {old}, and OLD can"),
    }
)
"""The sentences, by code, or by code and channel, or code and last step of the path;
each is about NEW and OLD."""

_ENDS: Final = MappingProxyType({1: "st", 2: "nd", 3: "rd"})
_NUMBERS: Final = (
    *("first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)
_OF_ROLE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "system": "the system message",
        "user": "the user's message",
        "assistant": "the model's answer",
        "tool": "the result",
    }
)


def sentence(found: DescribedDivergence, world: Scenario | None = None) -> str:
    """Return what a divergence is, as one sentence in one line."""
    at = found.difference
    denied = [DENIED] if _is_denied(found, world) else []
    mark, shown = _shown_alone(found)
    alone = [LEAKED] if mark else []
    code, inside = found.code, _inside_a_tool(found)
    special = (*denied, *alone, *([INSIDE] if inside else []))
    keys = (*special, f"{code} {at.channel}", f"{code} .{_key(at)}", code)
    shape = next((SHAPES[each] for each in keys if each in SHAPES), _OTHER)
    fields = {**_fields(found), "shown": shown, "inside": inside}
    one_sided = shape.lost if mark == "-" else shape.added
    values = _inner(found) if inside else at
    form = one_sided if alone else _form(shape, values.old, values.new, world)
    try:
        said = form.format(**fields)
    except (KeyError, IndexError):  # a shape that is wrong is no reason for none
        said = ""
    said = said or found.summary
    turn = "after one more turn, " if at.channel == "second_turn" else ""
    whole = f"{_handed(found, world)}{_when(found.where, world)}{turn}{said}"
    return f"{whole[:1].upper()}{whole[1:]}."


_OTHER: Final = Wording(
    lost="{summary}: {old} in OLD, and nothing in NEW",
    added="{summary}: {new} in NEW, and nothing in OLD",
)
"""Of a code without a shape: where both have something, both values stand below."""
DENIED: Final = "EXTRA_CALL .denied"
"""The sentence of a call that a person would have denied, had NEW asked."""
LEAKED: Final = "STREAM_LEAK .alone"
"""The sentence of a text that one side shows, and the other shows nothing for."""
INSIDE: Final = "TOOLS_MERGE .inside"
"""The sentence of one place in which what is shown of a tool differs."""
_OF_A_TOOL: Final = re.compile(r"\[\d+\]\.tools\[(\d+)\]\.(.+)")


def _is_denied(found: DescribedDivergence, world: Scenario | None) -> bool:
    """Tell whether it is a call that only NEW makes, and that the person denies.

    A tool that asks by itself has to run for that, so its run is against nobody's no.
    """
    at = found.difference
    if found.code != "EXTRA_CALL" or world is None or not is_mapping(at.new):
        return False
    run = at.new.get("run")
    if not isinstance(run, int) or not 0 < run <= len(world.runs):
        return False
    denied = at.new.get("call_id") in world.runs[run - 1].denies
    return denied and at.new.get("name") not in _asking(world)


def _asking(world: Scenario) -> AbstractSet[str]:
    """Return the names of a world's tools that ask a person by themselves."""
    return {
        tool.name
        for agent in world.all_agents
        for tool in agent.tools
        if any(each.op == "ask" for each in tool.body)
    }


def is_shown_alone(found: DescribedDivergence) -> bool:
    """Tell whether it is a text that one side alone shows."""
    return bool(_shown_alone(found)[0])


def _inner(found: DescribedDivergence) -> Difference:
    return found.difference if found.innermost is None else found.innermost


def _inside_a_tool(found: DescribedDivergence) -> str:
    """Return which part of which tool differs, if that is one place in one tool."""
    tools = found.difference.new
    place = _OF_A_TOOL.fullmatch(_inner(found).path)
    if place is None or not is_list(tools):
        return ""
    tool = tools[int(place[1])]
    name = tool.get("name") if is_mapping(tool) else tool
    return f"`{place[2]}` of the tool `{name}`"


def _shown_alone(found: DescribedDivergence) -> tuple[str, str]:
    """Return whose text it is that one side shows alone, by its mark, and the text.

    Both are "" for anything else, and where each side shows some text of its own.
    """
    only = [each for each in found.lines if each[0] != " "]
    marks = {mark for mark, _ in only}
    if found.code != "STREAM_LEAK" or len(marks) != 1:
        return "", ""
    mark, line = only[0]
    return mark, f'"{brief(line.partition(": ")[2])}"'


def _form(shape: Wording, old: object, new: object, world: Scenario | None) -> str:
    if new == MISSING:
        return shape.lost
    if old == MISSING:
        return shape.added
    if is_list(old) and is_list(new) and shape.lost and shape.added:
        if not _only(new, old):
            return shape.lost
        if not _only(old, new):
            return shape.added
    if shape.kept and world is not None:
        texts = {*_texts(world)}
        if _content(new) in texts and _content(old) not in texts:
            return shape.kept
    return shape.changed


def _fields(found: DescribedDivergence) -> Fields:
    at = found.difference
    old, new = _phrases(at.old, at.new, bare=found.code in _BARE)
    if at.channel == "effects" and ".data" in at.path:
        old, new = _as_data(at.old, at.new)
    inner = _inner(found)
    inner_old, inner_new = _phrases(inner.old, inner.new, bare=False)
    return {
        "place": f"`{_key(inner)}`" if _key(inner) else "it",
        "inner_old": inner_old,
        "inner_new": inner_new,
        "of_key": f" as `{_key(at)}`" if _KEYED.search(at.path) else "",
        "old": old,
        "new": new,
        "whose": _whose(at.new),
        "only_old": _only(at.old, at.new) or "none of them",
        "only_new": _only(at.new, at.old) or "fewer tools",
        "effect": _named_in(found, r"(\S+) ", "a side effect"),
        "tool": _named_in(found, r"[^:]*: (\S+?)\(", "the tool"),
        "summary": found.summary,
        "what": found.where.rpartition(", ")[2],
        "receivers_old": _receivers(at.old),
        "receivers_new": _receivers(at.new),
        **_times(found),
    }


def _times(found: DescribedDivergence) -> Fields:
    """Return how a side does what the other does, too, though not so often."""
    of_call = r"\A\S+: " if found.difference.channel == "tool_executions" else r"\A"
    told = [(mark, re.sub(of_call, "", text)) for mark, text in found.lines]
    first = next((text for mark, text in told if mark != " "), None)
    if (" ", first) in told:
        once = {"and_old": " once more than OLD", "as_old": " once less than OLD"}
        return {**once, "not_do": "does", "not_run": "runs"}
    rest = {"and_old": ", and OLD does not", "as_old": ", and OLD does"}
    return {**rest, "not_do": "does not do", "not_run": "does not run"}


def _receivers(value: object) -> str:
    """Return who a callback is delivered to, and how often if that is not once."""
    if not is_mapping(value) or not value:
        return "nobody"
    each = (f"`{name}`" + _often(many) for name, many in value.items())
    return " and ".join(each)


def _often(times: object) -> str:
    if times == 1 or not isinstance(times, int):
        return ""
    return f" {counted(times, 'time')}"


_KEYED: Final = re.compile(r"\.(?:values|session|user|app|temp)[.\[]")
"""A path into what is kept under keys of its own."""


def _key(at: Difference) -> str:
    """Return the last step of a path: a key; empty if that is an index."""
    found = re.search(r"(?:\.([\w-]+)|\[\"(.*)\"\])\Z", at.path)
    return "" if found is None else found[1] or found[2] or ""


def _only(mine: object, other: object) -> str:
    """Return what only the first of two lists has, in words."""
    ours, theirs = (each if is_list(each) else () for each in (mine, other))
    found = [each for each in ours if each not in theirs]
    return _phrase(found) if found else ""


def _named_in(found: DescribedDivergence, form: str, otherwise: str) -> str:
    """Return the name in the first line around it that only one side has."""
    rows = (re.match(form, text) for mark, text in found.lines if mark != " ")
    name = next(rows, None)
    return f"`{name[1]}`" if name else otherwise


_BARE: Final = frozenset(("INSTRUCTION", "MESSAGE_CHANGED"))
"""Codes whose sentences say whose a message is, so that its text is enough."""


def _phrases(old: object, new: object, *, bare: bool) -> tuple[str, str]:
    """Return both values in words; long texts by where they differ."""
    said = _quoted if bare else _phrase
    ours, theirs = _content(old), _content(new)
    if ours is not None and theirs is not None and max(len(ours), len(theirs)) > WIDE:
        return in_quotes(ours, theirs)
    if is_mapping(old) and is_mapping(new) and said(old) == said(new):
        return _unlike(old, new), _unlike(new, old)
    return said(old), said(new)


def _as_data(old: object, new: object) -> tuple[str, str]:
    """Return both values as JSON; long ones by where they differ."""
    if isinstance(old, str) and isinstance(new, str):
        return _phrases(old, new, bare=False)
    whole = (json.dumps(each, ensure_ascii=False) for each in (old, new))
    return beside(*whole)


def _unlike(mine: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return what one of two mappings has that the other has not, in words."""
    found = {k: x for k, x in mine.items() if other.get(k, MISSING) != x}
    return brief(json.dumps(found, ensure_ascii=False), WIDE)


def _phrase(value: object) -> str:
    """Return a value in words."""
    if value == MISSING:
        return "nothing"
    if is_mapping(value):
        return _of_mapping(value)
    if isinstance(value, str):
        return _quoted(value)
    if is_list(value) and value and all(isinstance(each, str) for each in value):
        return ", ".join(f"`{brief(each, WIDE)}`" for each in value)
    return brief(json.dumps(value, ensure_ascii=False), WIDE)


def _of_mapping(value: Mapping[str, Any]) -> str:
    """Return what a mapping is, by the first key that says so."""
    if is_message(value):
        return _message(value)
    told = (_BY_KEY[key](value) for key in _BY_KEY if key in value)
    found = next(filter(None, told), "")
    return found or brief(json.dumps(value, ensure_ascii=False), WIDE)


def _message(value: Mapping[str, Any]) -> str:
    calls = [each["name"] for each in value.get("tool_calls", ())]
    if calls:
        beside = f" beside {_quoted(said)}" if (said := value.get("content")) else ""
        return f"the model's call of {_phrase(calls)}{beside}"
    return f"{_whose(value)} {_quoted(value.get('content') or '')}"


def _point(value: Mapping[str, Any]) -> str:
    of = f" of {brief(str(value['of']), WIDE)}" if value.get("of") else ""
    return f"at {value['point']}{of}"


def _counts(value: Mapping[str, Any]) -> str:
    if not all(isinstance(each, int) for each in value.values()):
        return ""  # of some state, which has a name of its own like that
    ran = counted(value.get("executions", 0), "run")
    return f"{counted(value['model_calls'], 'model call')} and {ran} of the tool"


def _named(value: Mapping[str, Any]) -> str:
    data = value.get("data")
    told = "" if data in (None, "", {}) else json.dumps(data, ensure_ascii=False)
    given = value.get("arguments", told)
    if not isinstance(value["name"], str) or not isinstance(given, str):
        return ""  # of some state, as above
    more = "" if given in {"", "{}"} else f" with {brief(given, WIDE)}"
    return f"`{value['name']}`{more}"


def _part(value: Mapping[str, Any]) -> str:
    """Return how a part of an answer is."""
    if not isinstance(value["state"], str) or "kind" not in value:
        return ""  # of some state, as above
    of = f" of `{value['error']}`" if value.get("error") else ""
    return f"`{value.get('id')}`, a {value['kind']}, has the state {value['state']}{of}"


def _approval(value: Mapping[str, Any]) -> str:
    """Return of which call a person was asked, and with what other arguments."""
    if not isinstance(value.get("name"), str) or "args" not in value:
        return ""  # of some state, as above
    asked = json.dumps(value.get("asked"), ensure_ascii=False)
    how = f"with {brief(asked, WIDE)}" if "asked" in value else "as it is called"
    return f"`{value['name']}`, shown {how}"


_BY_KEY: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = MappingProxyType(
    {
        "state": _part,
        "error": lambda value: f"`{value['error']}`",
        "point": _point,
        "model_calls": _counts,
        "approved": _approval,
        "name": _named,
    }
)
"""How a mapping is told, by a key that it has."""


def _whose(value: object) -> str:
    """Return whose message a value is."""
    if not is_message(value):
        return "it"
    if value["role"] == "tool" and value.get("name"):
        return f"the result of `{value['name']}`"
    return _OF_ROLE.get(value["role"], "a message")


def _quoted(value: object) -> str:
    text = _content(value)
    if text is None:
        return _phrase(value)
    return f'"{brief(text, WIDE)}"' if text else "an empty text"


def _content(value: object) -> str | None:
    """Return the text that a value is, or says."""
    if value == MISSING:
        return None
    if is_mapping(value) and isinstance(value.get("content"), str):
        return None if value.get("tool_calls") else str(value["content"])
    return value if isinstance(value, str) else None


def _handed(found: DescribedDivergence, world: Scenario | None) -> str:
    """Return that it shows in what OLD kept, where the sentence does not say so."""
    point = None if world is None else world.hand_over
    if point is None or found.code.startswith("HAND_OVER"):
        return ""
    return f"{HANDED[point]}, "


HANDED: Final[Mapping[HandOverPoint, str]] = MappingProxyType(
    {
        "interrupted": "when NEW resumes a run that OLD kept",
        "between turns": "on a thread that OLD kept",
        "failed": "when NEW goes on with a run that failed in OLD",
    }
)


def _when(where: str, world: Scenario | None) -> str:
    """Return where it is, as a person tells it: in which run, on which call."""
    run = re.match(r"run (\d+)", where)
    if run is None:
        return f"{where}, "
    call = re.search(r"model call (\d+)", where)
    several = world is None or len(world.runs) > 1
    parts = [f"in the {_nth(run[1])} run"] if several else []
    parts += [f"on the {_nth(call[1])} model call"] if call else []
    return f"{', '.join(parts)}, " if parts else ""


def _nth(number: str) -> str:
    at = int(number)
    if 1 <= at <= len(_NUMBERS):
        return _NUMBERS[at - 1]
    end = "th" if at % 100 in {11, 12, 13} else _ENDS.get(at % 10, "th")
    return f"{at}{end}"


def _texts(world: Scenario) -> Iterator[str]:
    """Yield what is said in a world, by whom it may be."""
    answers = (each for each in world.model_script if isinstance(each, str))
    said = (text for run in world.runs for text in run.input)
    for text in (*answers, *said):
        try:
            yield parse_message(text).content
        except NotationError:
            continue
    yield from (tool.result for agent in world.all_agents for tool in agent.tools)
