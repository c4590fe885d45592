"""Rows about single decisions of ADK, judged by the Flow dialect."""
