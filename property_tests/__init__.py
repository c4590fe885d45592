"""The conformance suite: what an engine has to keep, as checks that decide from traces.

``refengine conform`` judges engines by it, and tests of pytest can.
"""
