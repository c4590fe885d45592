"""Where tests of programs in Node find the official clients, and whether they do."""

import os
import shutil
from pathlib import Path

import pytest

PACKAGES = Path(
    os.environ.get(
        "REFENGINE_NODE_MODULES", Path(__file__).parent / "programs" / "node_modules"
    )
)
"""Made by npm beside the ``package.json`` of ``programs``, or named from outside."""


def has_node(package: str) -> bool:
    """Tell whether there is a Node with a package."""
    return shutil.which("node") is not None and (PACKAGES / package).is_dir()


def needs_node(package: str) -> pytest.MarkDecorator:
    """Return the mark that skips what has no Node with a package."""
    why = f"node and its package {package}: npm install --prefix tests/programs"
    return pytest.mark.skipif(not has_node(package), reason=why)
