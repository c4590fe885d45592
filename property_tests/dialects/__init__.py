"""Judging agents of a dialect: scenarios played through its doors, checks on traces.

    a Dialect (dialect.py): contract, worlds, doors, checks, mutants
    → children that play and judge its worlds (workers.py, worker.py)
    → verdicts (judging.py), as property_tests/judging/by_clause.py asks for them

An engine is judged in ``property_tests/judging``: it has variants, probes and a first
divergence from the reference, which a dialect does without.
"""
