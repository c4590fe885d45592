"""Playing agents of a dialect with sessions: events, state by scope, artifacts.

What a framework of that kind has to offer for it is ``session.FlowStack``. The modules
here import none of them.
"""
