"""Observers of agents: what their spans say, held against the calls that happened.

An observer is a setup: a file with the line that turns tracing on. A world knows every
call of a model and of a tool, so it knows which spans there have to be.
"""
