"""Which worlds a clause is about, as conditions on what stands in a scenario.

A condition is a path, or several with ``|`` between, where there is something, what
its value is (``turns.before.do=remove``) or what is found in it
(``agent.instruction~[{]``). Lists on the way are searched, or a number says which
entry of one; ``*`` is any key, ``**`` any keys or none, and an exclamation mark in
front denies it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.projection import text_of

ANY: Final = ("*", "**")


class WorldValues:
    """A scenario, as JSON, of which many clauses ask the same conditions."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        self._scenario = scenario
        self._met: dict[str, bool] = {}

    def meet(self, condition: str) -> bool:
        """Tell whether this is one of the worlds that a condition names."""
        if condition not in self._met:
            self._met[condition] = self._meet(condition)
        return self._met[condition]

    def _meet(self, condition: str) -> bool:
        asked = condition.removeprefix("!")
        paths, *wanted = re.split("([=~])", asked, maxsplit=1)
        sign, values = wanted or ("", "")
        found = (x for path in paths.split("|") for x in self._at(path.split(".")))
        if sign == "=":
            there = any(text_of(each) in values.split("|") for each in found)
        elif sign:
            there = any(re.search(values, text_of(each)) for each in found)
        else:
            there = any(each not in (None, [], {}, False, "") for each in found)
        return there is not condition.startswith("!")

    def _at(self, path: Sequence[str]) -> Iterator[object]:
        """Yield all values at a path; what stands anywhere is looked up by its key."""
        match path:
            case ["**", key, *rest] if key not in ANY:
                for each in self._anywhere.get(key, ()):
                    yield from _values_at(each, rest)
            case _:
                yield from _values_at(self._scenario, path)

    @cached_property
    def _anywhere(self) -> Mapping[str, Sequence[object]]:
        found: dict[str, list[object]] = {}
        for each in _objects_in(self._scenario):
            for key, value in each.items():
                found.setdefault(key, []).append(value)
        return found


def _objects_in(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield each object in a value, however deep it stands."""
    if is_mapping(value):
        yield value
    inside = value.values() if is_mapping(value) else value if is_list(value) else ()
    for each in inside:
        yield from _objects_in(each)


def _values_at(value: object, path: Sequence[str]) -> Iterator[object]:
    """Yield all values at a path, through every list on the way."""
    if is_list(value):
        if path and path[0].isdigit():
            value, path = value[int(path[0]) :][:1], path[1:]
        for each in value:
            yield from _values_at(each, path)
    elif path and path[0] == "**":
        yield from _values_at(value, path[1:])
        for each in value.values() if is_mapping(value) else ():
            yield from _values_at(each, path)
    elif not path:
        yield value
    elif is_mapping(value):
        for key in value if path[0] == "*" else (path[0],):
            if key in value:
                yield from _values_at(value[key], path[1:])
