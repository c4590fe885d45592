"""Observers of agents: the clauses about their spans, as a dialect is judged.

The reference is an engine whose spans are known from what its world saw. Each observer
that a setup turns on is held against that: on the same engine, plain.
"""
