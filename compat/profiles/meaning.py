"""What each posture is about, in the sentence that stands below its field."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from refengine.profile import Profile


def meanings() -> Mapping[str, str]:
    """Return the sentence of each posture by name.

    They are read from the source, where they cannot be forgotten when a posture is
    changed.
    """
    [kind] = ast.parse(inspect.getsource(Profile)).body
    return dict(_sentences(kind.body if isinstance(kind, ast.ClassDef) else ()))


def _sentences(body: Iterable[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, text in pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            yield field.target.id, " ".join(str(text.value.value).split())
