"""What a subject's code can do to what is around it: undone, refused, and put down.

A session runs in a temporary folder that is as it was when the session before began;
sockets are refused; and what leaves the agent by no call of a tool is an effect, as
``world.effect`` is (verdicts, Isolation and Side doors).
"""
