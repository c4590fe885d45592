"""Drivers: engines in any language, each a program that owns an agent loop and no more.

``connection`` is this side of the protocol, ``remote`` the door; ``building`` makes the
programs that come with this package. docs/protocol.md has every frame.
"""
