"""The processors of a flow, each in a module of its own, in the seed's order."""

from __future__ import annotations

from typing import Final

from compat.dialects.flow.processing import RequestProcessor, ResponseProcessor
from compat.dialects.flow.processors.auth import prepare_auth
from compat.dialects.flow.processors.basic import fill_config
from compat.dialects.flow.processors.code_execution import (
    prepare_code_execution,
    process_code_execution,
)
from compat.dialects.flow.processors.confirmation import resume_confirmed_calls
from compat.dialects.flow.processors.contents import build_contents
from compat.dialects.flow.processors.display_names import remove_display_names
from compat.dialects.flow.processors.identity import tell_identity
from compat.dialects.flow.processors.instructions import add_instructions
from compat.dialects.flow.processors.output_schema import ask_for_structure
from compat.dialects.flow.processors.planning import prepare_planning, process_planning
from compat.dialects.flow.processors.tools import find_tools
from compat.dialects.flow.processors.transfer import offer_transfer

DEFAULT_REQUEST_PROCESSORS: Final[tuple[RequestProcessor, ...]] = (
    fill_config,
    find_tools,
    prepare_auth,
    resume_confirmed_calls,
    add_instructions,
    tell_identity,
    build_contents,
    prepare_planning,
    prepare_code_execution,
    ask_for_structure,
    offer_transfer,
    remove_display_names,
)
"""What prepares a request, in the seed's order."""

DEFAULT_RESPONSE_PROCESSORS: Final[tuple[ResponseProcessor, ...]] = (
    process_planning,
    process_code_execution,
)
"""What a response goes through before it is told."""

__all__ = [
    "DEFAULT_REQUEST_PROCESSORS",
    "DEFAULT_RESPONSE_PROCESSORS",
    "add_instructions",
    "ask_for_structure",
    "build_contents",
    "fill_config",
    "find_tools",
    "offer_transfer",
    "prepare_auth",
    "prepare_code_execution",
    "prepare_planning",
    "process_code_execution",
    "process_planning",
    "remove_display_names",
    "resume_confirmed_calls",
    "tell_identity",
]
