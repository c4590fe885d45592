"""What tests of drivers in TypeScript have in common."""

import shutil

import pytest

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or shutil.which("npm") is None,
    reason="without Node.js and npm no driver in TypeScript is built",
)
