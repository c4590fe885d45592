"""Engines of the Flow dialect behind drivers: agents and services elsewhere."""
