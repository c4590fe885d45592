"""Names, texts and messages: small symbols first, so that a failure shrinks to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import JsonValue

from refengine.messages import Message, ToolCall
from refengine.testing.notation import CALL_START, SURROGATE, show_message


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldChoices:
    """The choices of ``scenarios``, which says what each means."""

    middlewares: bool = True
    handlers: bool = True
    tool_call_middlewares: bool = True
    failures: bool = False
    streaming: bool | None = None
    distributes: bool = False
    unknown_calls: bool = False
    counting: bool = False
    delays: bool = True
    options: bool = False
    retry: bool = False
    asks: bool = False
    cancels: bool = False
    small: bool = False
    max_runs: int = 2
    words: tuple[str, ...] = ()


ANYTHING: Final = WorldChoices()
"""The default of every part."""


NAMES: Final = ("t", "u", "T", "wörk-1", "wo\u0308rk-1", " get it ", "get_it")
"""Some of them are one name to who composes, trims or lowers them, or fills spaces."""
TEXTS: Final = (
    *("a", "b", "", "a b", " zwei  Wörter ", "one\r\ntwo\n", "🦜\u200d é ", "[x"),
    *("e\u0301\t", "{{x}} {a} 100%% $$x", "%s ${a}", '{"b": [1.0,null],"a":"é"}'),
    "\ufeff\0one\x0btwo\u2028&amp; <B>\n\n",
)
"""Some of them are other texts to who takes them for templates, JSON or mark-up."""
ARGUMENTS: Final = (
    *("{}", '{"q":"a"}', ' {"b": [1, 2.0],"a":"e\u0301"} ', "", "not json"),
    '{"é":"(x) ]"}',
)
INSTRUCTIONS: Final = ("", "be brief", "", "a very long one, " * 400)
LONG: Final = "a long text, " * 400
PLACE: Final = re.compile(rf"<[a-z_]+>|{SURROGATE.pattern}")
"""What stands for something else in a scenario; only strategies that mean it write it.

Hypothesis also draws constants of the modules it sees, and ours hold such texts.
"""

# Lone surrogates are not text: pydantic refuses them, and so does UTF-8.
_SURROGATES: Final[tuple[Literal["Cs"]]] = ("Cs",)
_CHARACTERS: Final = st.characters(exclude_categories=_SURROGATES)


@cache
def tool_names(choices: WorldChoices = ANYTHING) -> SearchStrategy[str]:
    """Names of tools: few, so that equal ones come together by themselves."""
    return st.sampled_from([*NAMES, *filter(_is_name, choices.words)])


@cache
def texts(choices: WorldChoices = ANYTHING) -> SearchStrategy[str]:
    """Contents of messages, Unicode included, but nothing like the start of a call."""
    return _some(TEXTS, choices, 12).filter(_is_content)


@cache
def instructions(choices: WorldChoices) -> SearchStrategy[str]:
    """Instructions: often none, sometimes a very long one."""
    if choices.small:
        odd = [" {{be}} brie\u0301f\r\n", "\ufeffbe {brief} 100%% $$x "]
        return st.sampled_from(["", "be brief", *odd])
    return st.one_of(st.sampled_from(INSTRUCTIONS), texts(choices))


@cache
def arguments(choices: WorldChoices) -> SearchStrategy[str]:
    """Raw argument texts, usually JSON; the notation keeps ``)]`` out of them."""
    short = _some(ARGUMENTS, choices, 6).filter(_is_arguments)
    return short if choices.small else _or_long(short)


@cache
def messages(choices: WorldChoices = ANYTHING) -> SearchStrategy[str]:
    """Messages that may stand anywhere in a history, in the notation; no calls."""
    if choices.small:
        return st.tuples(st.just("user"), texts(choices)).map(":".join)
    heads = st.sampled_from(["user", "assistant", "system", "tool(c0)"])
    return st.tuples(heads, _or_long(texts(choices))).map(":".join)


@cache
def calls(
    names: tuple[str, ...], choices: WorldChoices
) -> SearchStrategy[list[ToolCall]]:
    """One to three calls of one answer; their ids are given when the script is made."""
    call = st.builds(ToolCall, st.just(""), st.sampled_from(names), arguments(choices))
    return st.lists(call, min_size=1, max_size=3)


@cache
def added_calls(choices: WorldChoices) -> SearchStrategy[str]:
    """Answers with a call or two of their own, which a hook puts in the model's place.

    Their ids are none that the model's own calls have.
    """
    call = st.builds(
        ToolCall,
        st.sampled_from(["h1", "H1"]),
        tool_names(choices),
        arguments(choices),
    )
    some = st.lists(call, min_size=1, max_size=2, unique_by=lambda each: each.id)
    said = st.builds(Message, st.just("assistant"), texts(choices), some.map(tuple))
    return said.map(show_message)


@cache
def answers(choices: WorldChoices = ANYTHING) -> SearchStrategy[str]:
    """Plain answers of a model, in the notation."""
    said = texts(choices) if choices.small else _or_long(texts(choices))
    return said.map(lambda text: show_message(Message("assistant", text)))


@cache
def run_options() -> SearchStrategy[dict[str, JsonValue]]:
    """Options of a run: few names, so that two runs set the same one differently."""
    some: list[JsonValue] = [0, 0.5, "a", "", None, True, ["a", ""], {"a": 1}]
    values = st.sampled_from(some)
    return st.dictionaries(st.sampled_from(["o", "p"]), values, max_size=2)


def _some(
    small: Sequence[str], choices: WorldChoices, size: int
) -> SearchStrategy[str]:
    """Small texts first, then the subject's words, then any up to a size."""
    own = [st.sampled_from(choices.words)] if choices.words else []
    return st.one_of(st.sampled_from(small), *own, st.text(_CHARACTERS, max_size=size))


def _or_long(short: SearchStrategy[str]) -> SearchStrategy[str]:
    """Now and then one that is longer than anybody who cuts texts would leave it."""
    # The short one is drawn in any case, or a failure would not shrink back to it.
    both = st.tuples(short, st.integers(0, 11))
    return both.map(lambda drawn: LONG if drawn[1] == 11 else drawn[0])


def _is_name(text: str) -> bool:
    return bool(text) and not set(text) & set(":()[]")


def _is_content(text: str) -> bool:
    return not (CALL_START.search(text) or PLACE.search(text))


def _is_arguments(text: str) -> bool:
    return ")]" not in f"{text})" and not SURROGATE.search(text)
