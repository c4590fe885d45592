"""How what an extra brings is installed, wherever refengine itself came from.

The name ``refengine`` is on no registry, so ``pip install 'refengine[wire]'`` would
find nothing, or a stranger's package. What the extra brings is there under its own
names, which works beside a checkout as well as beside a wheel.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from typing import Final

_OF_EXTRA: Final = re.compile(r"^([^;]+?)\s*;.*extra\s*==\s*[\"']([\w-]+)[\"']")


@cache
def install_line(extra: str) -> str:
    """Return the command that installs what an extra brings."""
    try:
        declared = requires("refengine") or []
    except PackageNotFoundError:  # its sources are on the path, and not installed
        declared = []
    found = [_OF_EXTRA.match(each) for each in declared]
    wanted = [each[1] for each in found if each is not None and each[2] == extra]
    if not wanted:
        return f"pip install '.[{extra}]' in the checkout of refengine"
    return f"pip install {' '.join(map(repr, sorted(wanted)))}"
