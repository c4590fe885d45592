"""The conformance suite: what an engine has to keep, as checks that decide from traces.

Nothing of it is in 0.1; contract, checks and mutants come with a later version.
"""
