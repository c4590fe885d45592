"""Judging a checkpoint store: calls played on it, alone, at once, and killed.

    clauses (contract.toml) → worlds of calls (worlds.py, places.py) → children that
    have the store (playing.py, worker.py) → what a right store answers (expected.py) →
    verdicts (judging.py)

An engine is judged by its trace, a store by its answers. So this is a room of its own,
with the verdict types, events and reports of the engines' one.
"""
