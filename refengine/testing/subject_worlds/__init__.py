"""Worlds for a subject of a migration check, in its own words; no Hypothesis.

``source`` and ``graph_source`` find the words, ``words`` keeps them, ``kit``, ``turns``
and ``families`` put worlds together, ``worlds`` and ``graph_worlds`` give all of them.
"""
