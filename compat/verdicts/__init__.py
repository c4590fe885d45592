"""Verdict types: what a judgement says, without how it was reached.

``migration`` is old against new, ``conformance`` an engine against the contract. A
report reads these and nothing else.
"""
