"""Engines of the Flow dialect: worlds as data, the door to each, and how they play."""
