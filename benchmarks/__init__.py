"""What a handler costs: the engine beside plain loops that make the same calls.

0.1 measures the engine alone; other frameworks beside it come with a later version.
"""
