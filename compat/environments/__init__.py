"""Environments of packages, each made once and kept, that sides of a check run with.

Here for ``compat.migration``, which has a side run in one, and ``refengine env``.
"""
