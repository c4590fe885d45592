"""A few handlers that are ready to use, each also an example of how to write one."""

from refengine.handlers.cache import CacheHandler
from refengine.handlers.logging import LoggingHandler
from refengine.handlers.tool_filter import ToolFilterHandler

__all__ = ["CacheHandler", "LoggingHandler", "ToolFilterHandler"]
