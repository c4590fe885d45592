"""Display names of uploaded files, which the Gemini API does not take."""

from __future__ import annotations

from dataclasses import replace

from compat.dialects.flow.content import Part
from compat.dialects.flow.contexts import InvocationContext
from compat.dialects.flow.model import LlmRequest
from compat.dialects.flow.variants import is_gemini, on_vertex


def remove_display_names(_: InvocationContext, request: LlmRequest, __: object) -> None:
    """Take the names off bytes and files, for a Gemini that is not asked on Vertex."""
    if on_vertex() or not is_gemini(request.model):
        return
    request.contents[:] = [
        replace(each, parts=tuple(map(_nameless, each.parts)))
        for each in request.contents
    ]


def _nameless(part: Part) -> Part:
    if part.blob is not None and part.blob.display_name:
        return replace(part, blob=replace(part.blob, display_name=""))
    if part.file is not None and part.file.display_name:
        return replace(part, file=replace(part.file, display_name=""))
    return part
