"""What a setting of one interface is called in the others, and what has no counterpart.

``SETTINGS`` is held against the readers of requests by a test, so that the table on the
page is what the code does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from compat.wire.interfaces import anthropic, chat, gemini, responses
from compat.wire.interfaces.anthropic import ANTHROPIC
from compat.wire.interfaces.chat import CHAT
from compat.wire.interfaces.gemini import GEMINI
from compat.wire.interfaces.responses import RESPONSES


def _by_name(settings: Mapping[str, str], **more: str) -> Mapping[str, str]:
    """Return what settings are called there, the newer of two names that one has."""
    return MappingProxyType({ours: theirs for theirs, ours in settings.items()} | more)


SETTINGS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        CHAT: _by_name(
            chat.SETTINGS, tool_choice="tool_choice", response_format="response_format"
        ),
        RESPONSES: _by_name(
            responses.SETTINGS,
            tool_choice="tool_choice",
            response_format="text.format",
            verbosity="text.verbosity",
            reasoning_effort="reasoning.effort",
        ),
        ANTHROPIC: _by_name(
            anthropic.SETTINGS,
            tool_choice="tool_choice",
            parallel_tool_calls="tool_choice.disable_parallel_tool_use",
            response_format="output_config.format",
        ),
        GEMINI: _by_name(
            {f"generationConfig.{key}": name for key, name in gemini.SETTINGS.items()},
            model="(the address)",
            stream="(the address)",
            tool_choice="toolConfig.functionCallingConfig",
            response_format="generationConfig.responseMimeType",
        ),
    }
)
"""Each interface's settings that others have, too: our name, and the path in a body."""


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Why something has no counterpart, and who has it."""

    interfaces: tuple[str, ...]
    reason: str


_OPENAI: Final = (CHAT, RESPONSES)
BETWEEN_VENDORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "model": "each vendor has models of its own",
        "max_tokens": "Anthropic asks for it, and vendors count otherwise",
        "service_tier": "each vendor sells tiers of its own",
        "strict": "each vendor has its own schemas that it can be held to",
    }
)
"""What vendors have alike and mean otherwise; ``strict`` is of tools."""
OWN: Final[Mapping[str, Uncounted]] = MappingProxyType(
    {
        "store": Uncounted(_OPENAI, "both keep what they are asked, one by default"),
        "stream_options": Uncounted(_OPENAI, "they say what a stream tells besides"),
        "logit_bias": Uncounted((CHAT,), "nobody else lets single tokens be weighed"),
        "logprobs": Uncounted((CHAT,), "elsewhere a part of the answer is asked for"),
        "top_logprobs": Uncounted(_OPENAI, "an answer tells them by another form"),
        "n": Uncounted((CHAT,), "the others of OpenAI and Anthropic give one answer"),
        "modalities": Uncounted((CHAT,), "elsewhere sound and images are tools"),
        "prediction": Uncounted((CHAT,), "only there an answer can be foretold"),
        "include": Uncounted((RESPONSES,), "it names parts of its own answers"),
        "reasoning": Uncounted((RESPONSES,), "only there thoughts are summed up"),
        "truncation": Uncounted((RESPONSES,), "nobody else cuts a history by itself"),
        "background": Uncounted((RESPONSES,), "elsewhere an answer is waited for"),
        "max_tool_calls": Uncounted((RESPONSES,), "it bounds tools of OpenAI's own"),
        "prompt": Uncounted((RESPONSES,), "it names a prompt that is kept at OpenAI"),
        "not_stored": Uncounted((RESPONSES,), "it goes on with what was never stored"),
        "thinking": Uncounted(
            (ANTHROPIC,), "each vendor bounds in a way of its own what a model thinks"
        ),
        "output_config": Uncounted(
            (ANTHROPIC,), "effort is measured otherwise by each vendor"
        ),
        "metadata": Uncounted((ANTHROPIC,), "it holds the user's id and nothing else"),
        "is_error": Uncounted((ANTHROPIC,), "only there a failed result is marked"),
        "cache_control": Uncounted((ANTHROPIC,), "the others cache by themselves"),
        "cache_marks": Uncounted(
            (ANTHROPIC,), "places up to which is cached; the others cache by themselves"
        ),
        "functionCallingConfig": Uncounted(
            (GEMINI,), "only there calls are held to schemas, or to some of the tools"
        ),
        "safetySettings": Uncounted((GEMINI,), "only there filters can be chosen"),
        "cachedContent": Uncounted((GEMINI,), "it names what was kept at the vendor"),
        "thoughts": Uncounted(
            (RESPONSES, ANTHROPIC, GEMINI),
            "they are sealed or signed, and come back to their own vendor alone",
        ),
        "signatures": Uncounted((GEMINI,), "only there calls are signed"),
        "generationConfig": Uncounted(
            (GEMINI,), "settings that are Gemini's alone, such as how it thinks"
        ),
    }
)
"""What an interface has alone, by its name there, with the reason."""


def lacking(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    """Return the settings that only one of two sets of interfaces has, by our names."""
    first, second = (
        {name for each in interfaces for name in SETTINGS[each]}
        for interfaces in (one, other)
    )
    return tuple(sorted(first ^ second))


def reason_for(name: str, interfaces: Iterable[str]) -> str:
    """Return why something that these interfaces say is not compared."""
    said = tuple(interfaces)
    found = OWN.get(name)
    if found is not None and set(said) & set(found.interfaces):
        return found.reason
    if name in BETWEEN_VENDORS and not said:
        return BETWEEN_VENDORS[name]
    return f"only {' and '.join(said)} has it" if said else "only one side has it"
