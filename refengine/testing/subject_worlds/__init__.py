"""Worlds for a subject of a migration check, in its own words; no Hypothesis.

``source``, ``code_tokens`` and ``named_values`` find the words, ``words`` keeps them,
``kit``, ``turns`` and ``families`` put worlds together, ``worlds`` and ``graph_worlds``
give all of them.
"""
