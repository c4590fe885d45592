"""Structured answers of a model that cannot give them beside tools.

It is given one more tool, whose arguments are the answer; what that tool gives back is
told once more as the model's text (adk.md §1.13).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from compat.dialects.flow.content import text_content
from compat.dialects.flow.contexts import InvocationContext, ToolContext
from compat.dialects.flow.events import Event
from compat.dialects.flow.run_errors import InvalidAnswerError
from compat.dialects.flow.schemas import misfits
from compat.dialects.flow.tools import Tool
from compat.dialects.flow.values import plain
from refengine.messages import Json

ANSWER_TOOL: Final = "set_model_response"


def answer_tool(schema: Mapping[str, Json]) -> Tool:
    """Return the tool whose arguments are the structured answer."""

    def run(ctx: ToolContext, args: dict[str, Any]) -> object:
        wrong = "; ".join(misfits(args, schema))
        if not wrong:
            return args
        error = InvalidAnswerError(wrong)
        if ctx.invocation_context.profile.invalid_answer == "raises":
            raise error
        return {"error": str(error)}

    return Tool(
        name=ANSWER_TOOL,
        description="Give your final answer; its arguments are the answer.",
        parameters=schema,
        run=run,
    )


def structured_answer(ctx: InvocationContext, responses: Event) -> Event | None:
    """Return the event that tells a structured answer as text; None if there is none.

    An answer that did not fit is told too, or the model is asked again: a posture.
    """
    given = (each for each in responses.responses if each.name == ANSWER_TOOL)
    found = next(given, None)
    if found is None or found.response is None:
        return None
    answer = plain(found.response)
    if _is_refusal(answer) and ctx.profile.invalid_answer == "retried":
        return None
    compact = ctx.profile.answer_json == "compact"
    separators = (",", ":") if compact else None
    text = json.dumps(
        answer, ensure_ascii=False, sort_keys=compact, separators=separators
    )
    return ctx.event(content=text_content("model", text))


def _is_refusal(answer: Mapping[str, Any]) -> bool:
    said = str(answer.get("error", ""))
    return len(answer) == 1 and said.startswith(str(InvalidAnswerError("")))
