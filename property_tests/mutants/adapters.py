"""The table of our own broken adapters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from compat.adapters import adapt
from compat.engines.adapted import Adapt
from property_tests.mutants import own
from property_tests.mutants.doors import (
    ADAPTED,
    NATIVE,
    adapted_by,
    adapting,
    arranged,
    as_given,
    each_remade,
    remade,
    with_options,
)
from property_tests.mutants.mutant import OWN, Door, Mutant
from property_tests.mutants.seeds import BARE, COUNTING, STRUCTS
from refengine.agent import ChatModelAgentConfig
from refengine.profile import Profile

FAILING: Final = MappingProxyType({**STRUCTS, "failures": True})
SHIPPED: Final = "eino-0.9"
"""The profile whose hooks run at the start of every run."""


def _broken(  # noqa: PLR0913  # the columns of a table
    id_: str,
    about: str,
    violates: tuple[str, ...],
    adapter: Adapt,
    worlds: Mapping[str, bool | int] = STRUCTS,
    *,
    under: str = "seed-001",
    right: Door = NATIVE,
) -> Mutant:
    return Mutant(
        id=id_,
        about=about,
        source=OWN,
        violates=violates,
        right=right,
        wrong=adapting(id_, adapter),
        worlds=worlds,
        under=under,
    )


def _wraps_behind(
    config: ChatModelAgentConfig, profile: Profile
) -> ChatModelAgentConfig:
    """Put the structs' tool wrappers behind those of the handlers."""
    adapted = adapt(config.middlewares, profile)
    first = [remade(each, bind_tool=None) for each in adapted]
    none: dict[str, None] = dict.fromkeys(
        hook for each in adapted for hook in each.hooks if hook != "bind_tool"
    )
    last = [remade(each, **none) for each in adapted if each.bind_tool is not None]
    handlers = [*first, *config.handlers, *last]
    return replace(config, middlewares=(), handlers=handlers)


OWN_ADAPTERS: Final = (
    _broken(
        "state-on-the-handler",
        "The state object is kept on the handler, so runs share it.",
        ("COMPAT-001", "COMPAT-004"),
        own.state_on_the_handler,
    ),
    _broken(
        "state-lost-between-passes",
        "After-hooks are given another state object than before-hooks, where an"
        " iteration has one.",
        ("COMPAT-001", "COMPAT-004"),
        own.state_of_a_pass,
        under=SHIPPED,
    ),
    _broken(
        "edits-lost",
        "What a hook leaves in its state is not written back.",
        ("COMPAT-001", "MSG-003"),
        each_remade(own.edits_lost),
    ),
    _broken(
        "after-hooks-in-reverse",
        "After-hooks run last struct first, as if they unwound the before-hooks.",
        ("COMPAT-001", "ORD-003"),
        own.in_reverse("after_chat_model"),
    ),
    _broken(
        "wraps-in-reverse",
        "The last struct's tool wrapper is outermost.",
        ("COMPAT-001", "ORD-013"),
        own.in_reverse("wrap_tool_call"),
    ),
    Mutant(
        id="wraps-behind-handlers",
        about="The structs' tool wrappers stand inside those of the handlers.",
        source=OWN,
        violates=("COMPAT-002", "ORD-012"),
        right=NATIVE,
        wrong=arranged("wraps behind handlers", _wraps_behind),
        worlds=MappingProxyType({"max_runs": 1}),
    ),
    _broken(
        "factory-an-agent",
        "A factory is called for one tool, and its closure serves all tools.",
        ("COMPAT-001", "COMPAT-005"),
        each_remade(own.factory_an_agent),
        COUNTING,
    ),
    _broken(
        "stream-wrapper-dropped",
        "Streamed calls are not wrapped.",
        ("COMPAT-001", "COMPAT-003", "STR-003"),
        each_remade(own.only_invokable),
    ),
    _broken(
        "context-dropped",
        "What a wrapper puts into the context does not reach the tool.",
        ("COMPAT-002", "CTX-007"),
        own.inner(own.without_context),
    ),
    Mutant(
        id="options-dropped",
        about="A wrapped tool is called without the options of the run.",
        source=OWN,
        violates=("COMPAT-001", "WRAP-017"),
        right=with_options("native, with options", as_given),
        wrong=with_options(
            "options dropped", adapted_by(own.inner(own.without_options))
        ),
        worlds=STRUCTS,
    ),
    _broken(
        "error-wrapped-twice",
        "The adapter wraps a hook's error, and so does the engine.",
        ("COMPAT-001", "ERR-002"),
        each_remade(own.wrapped_twice),
        FAILING,
    ),
    _broken(
        "error-swallowed",
        "A hook that raises is passed over.",
        ("COMPAT-001", "ERR-001"),
        each_remade(own.swallowed),
        FAILING,
    ),
    _broken(
        "separator-after",
        "The separator stands behind the addition instead of before it.",
        ("COMPAT-001", "INS-004"),
        each_remade(own.separator_after),
    ),
    _broken(
        "additions-pile-up",
        "The addition of the last run is still there in the next one.",
        ("COMPAT-001", "INS-009"),
        each_remade(own.piling_up),
        MappingProxyType({"handlers": False}),
        under=SHIPPED,
    ),
    _broken(
        "tools-in-front",
        "The structs' tools stand before the configured ones.",
        ("COMPAT-001", "TOOL-002"),
        each_remade(own.tools_in_front),
    ),
    _broken(
        "counts-as-handler",
        "The engine is not told that the handlers are adapted ones, so it calls their"
        " factories for every turn.",
        ("COMPAT-001", "COMPAT-005"),
        each_remade(own.as_handlers),
        COUNTING,
        under=SHIPPED,
    ),
    _broken(
        "behind-a-handler",
        "A handler stands before the adapted ones, so their tools are not configured"
        " ones, and those that are come back when another handler removes all.",
        ("COMPAT-005",),
        own.behind_a_handler,
        MappingProxyType({**BARE, "handlers": True, "unknown_calls": True}),
        under=SHIPPED,
        right=ADAPTED,
    ),
)
"""Adapters that are wrong in one way each."""
