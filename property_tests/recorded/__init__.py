"""Recorded sessions as worlds: as they were, and with extensions grafted on.

What vendors' models and clients really did is met here: texts in tens of chunks, calls
in pieces, fields that one vendor alone has, failures by status, turns after failures.
"""
