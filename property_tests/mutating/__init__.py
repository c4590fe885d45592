"""Automatic mutation testing: are the checks strong enough for what nobody thought of.

    python -m property_tests.mutating

cosmic-ray makes every single change that it knows to the modules of the engine's chain,
tool merge, loop and streams, and to the adapters. Each changed tree is judged like any
engine; a change that no check notices survives. Survivors with a reason stand in
``survivors.toml``; docs/mutation-testing.md has the score.
"""
