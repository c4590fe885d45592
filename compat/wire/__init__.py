"""Exchanges with a model over HTTP: reading, comparing, scrubbing and replaying them.

Needs the extra ``wire``. This module imports nothing, so that reading a cassette does
not load a client, and a client no recorder; ``docs/cassettes.md`` names the modules.
"""
