"""What a caller hands to an engine, and whether it is still as it was.

Lists and maps can be edited by whoever is given them; the caller still holds them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from operator import is_
from typing import Any

from refengine.agent import ChatModelAgentConfig
from refengine.messages import Message


class GivenConfig:
    """Tools and flags of an agent, as they were when it was built."""

    def __init__(self, config: ChatModelAgentConfig) -> None:
        self.config = config
        self._tools = tuple(config.tools_config.tools)
        self._flags = dict(config.tools_config.return_directly)

    def changed(self) -> Iterator[str]:
        """Yield the paths of what is no longer as it was, each once."""
        now = self.config.tools_config
        tools, flags = now.tools, now.return_directly
        same = len(tools) == len(self._tools) and all(map(is_, tools, self._tools))
        if not same:
            self._tools = tuple(tools)
            yield "tools"
        if dict(flags) != self._flags:
            self._flags = dict(flags)
            yield "return_directly"


class GivenRun:
    """Messages and options of a run, as they were when it began."""

    def __init__(self, messages: Sequence[Message], options: Mapping[str, Any]) -> None:
        self.messages = messages
        self.options = copy.deepcopy(dict(options))
        self._messages = tuple(messages)
        self._options = copy.deepcopy(self.options)

    def changed(self) -> Iterator[str]:
        """Yield the paths of what is no longer as it was."""
        if tuple(self.messages) != self._messages:
            yield "messages"
        if self.options != self._options:
            yield "options"
