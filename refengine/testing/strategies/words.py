"""Names, texts and messages: small symbols first, so that a failure shrinks to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from refengine.messages import Message, ToolCall
from refengine.testing.notation import show_message
from refengine.testing.strategies.wanted import Wanted

NAMES: Final = ("t", "u", "v", "wörk-1", "検索")
TEXTS: Final = ("a", "b", "", "a b", "zwei Wörter", "one\ntwo", "end\n", "🦜 é ", "[x")
ARGUMENTS: Final = ("{}", '{"q":"a"}', '{"q":[1,2]}', "", "not json", '{"é":"(x) ]"}')
LONG: Final = "a long text, " * 400
CALL_START: Final = re.compile(r"\[[^:()\[\]]*:[^:()\[\]]+\(")
"""What no content holds: the start of a call (see VOCABULARY, Messages)."""

# Lone surrogates are no text: pydantic refuses them, and so does UTF-8.
_SURROGATES: Final[tuple[Literal["Cs"]]] = ("Cs",)
_CHARACTERS: Final = st.characters(exclude_categories=_SURROGATES)


def tool_names(wanted: Wanted | None = None) -> SearchStrategy[str]:
    """Names of tools: few, so that equal ones come together by themselves."""
    own = (wanted or Wanted()).words
    return st.sampled_from([*NAMES, *filter(_is_name, own)])


def texts(wanted: Wanted | None = None) -> SearchStrategy[str]:
    """Contents of messages, Unicode included, but nothing like the start of a call."""
    own = (wanted or Wanted()).words
    some = st.text(_CHARACTERS, max_size=12)
    small = st.sampled_from([*TEXTS, *own])
    return st.one_of(small, small, some).filter(_is_content)


def instructions(wanted: Wanted) -> SearchStrategy[str]:
    """Instructions: often none, sometimes a very long one."""
    return st.one_of(st.just(""), texts(wanted), texts(wanted), st.just(LONG))


def arguments(wanted: Wanted) -> SearchStrategy[str]:
    """Raw argument texts, usually JSON; the notation keeps ``)]`` out of them."""
    some = st.text(_CHARACTERS, max_size=6)
    small = st.sampled_from([*ARGUMENTS, *wanted.words])
    return st.one_of(small, small, some).filter(lambda text: ")]" not in f"{text})")


def messages(wanted: Wanted | None = None) -> SearchStrategy[str]:
    """Messages that may stand anywhere in a history, in the notation; no calls."""
    given = texts(wanted)
    plain = st.tuples(st.sampled_from(["user", "assistant", "system"]), given)
    return st.one_of(plain.map(":".join), given.map("tool(c0):{}".format))


def calls(names: Sequence[str], wanted: Wanted) -> SearchStrategy[list[ToolCall]]:
    """One to three calls of one answer; their ids are given when the script is made."""
    call = st.builds(ToolCall, st.just(""), st.sampled_from(names), arguments(wanted))
    return st.lists(call, min_size=1, max_size=3)


def answers(wanted: Wanted | None = None) -> SearchStrategy[str]:
    """Plain answers of a model, in the notation."""
    return texts(wanted).map(lambda text: show_message(Message("assistant", text)))


def _is_name(text: str) -> bool:
    return bool(text) and not set(text) & set(":()[]")


def _is_content(text: str) -> bool:
    return CALL_START.search(text) is None
