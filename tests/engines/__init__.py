"""Engines that tests judge."""
