"""Worlds for everybody's tests: scenarios, scripted models, traces, strategies."""
