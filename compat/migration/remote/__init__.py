"""Subjects that are written in the language of their engine, behind its driver."""
