"""In which order wrappers nest around model calls and tool calls (contract §2 ORD)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from property_tests.check import Case, Decision
from property_tests.checks import positions
from property_tests.checks.nesting import Onion, Reached, onion
from property_tests.checks.specs import keeps_ids
from property_tests.view import Call, RunView, View


def model_order(case: Case) -> Iterator[Decision]:
    """Tell whether the first wrapper around the model is the outermost."""
    for found, layers in _model_onions(case.played):
        for each in found.reached:
            yield _nested(
                "around a model call the first handler is outermost", each, layers
            )


def model_whole(case: Case) -> Iterator[Decision]:
    """Tell whether every wrapper is around each model request, once."""
    for found, layers in _model_onions(case.played):
        for each in found.reached:
            yield from _whole(
                "every wrapper is around a model request, once", each, layers
            )


def model_left(case: Case) -> Iterator[Decision]:
    """Tell whether wrappers around the model are left innermost first."""
    for found, _ in _model_onions(case.played):
        yield from _backwards(
            "wrappers around the model are left innermost first", found
        )


def tool_lists(case: Case) -> Iterator[Decision]:
    """Tell whether of the lists the tools configuration is outermost, then structs."""
    asked = "around a call: tools configuration, then structs, then handlers"
    for found, layers in _tool_onions(case.played):
        lists = list(dict.fromkeys(map(_list_of, layers)))
        for each in found.reached:
            got = list(dict.fromkeys(map(_list_of, positions.only(layers, each.open))))
            if len(got) > 1:
                yield Decision(asked, positions.in_order(lists, got), got, each.at)


def tool_order(case: Case) -> Iterator[Decision]:
    """Tell whether of each list the first wrapper is the outermost."""
    for found, layers in _tool_onions(case.played):
        for name in dict.fromkeys(map(_list_of, layers)):
            mine = [each for each in layers if _list_of(each) == name]
            for each in found.reached:
                yield _nested(
                    "around a call the first of a list is outermost", each, mine
                )


def tool_whole(case: Case) -> Iterator[Decision]:
    """Tell whether every wrapper is around each execution of a tool, once."""
    for found, layers in _tool_onions(case.played):
        for each in found.reached:
            yield from _whole(
                "every wrapper is around an execution, once", each, layers
            )


def tool_left(case: Case) -> Iterator[Decision]:
    """Tell whether wrappers around a call are left innermost first."""
    for found, _ in _tool_onions(case.played):
        yield from _backwards("wrappers around a call are left innermost first", found)


def _model_onions(view: View) -> Iterator[tuple[Onion, list[str]]]:
    for run in view.runs:
        layers = positions.of_handlers(run.agent, "wrap_model")
        for now in run.iterations if layers else ():
            yield onion(now.entries, layers, "model_request"), layers


def _tool_onions(view: View) -> Iterator[tuple[Onion, list[str]]]:
    for run, call in _calls(view):
        kind: positions.Kind = "streamable" if _streams(call) else "invokable"
        layers = positions.around_tool(run.agent, kind)
        if layers:
            yield onion(call.entries, layers, "tool_start"), layers


def _calls(view: View) -> Iterator[tuple[RunView, Call]]:
    """Yield the calls whose entries no other one's are mixed with."""
    for run in view.runs:
        if not keeps_ids(run.agent):
            continue
        for now in run.iterations:
            for call in now.calls.values():
                yield run, call


def _streams(call: Call) -> bool:
    """Tell which kind of wrapper a call had, by the tool or else by who was entered."""
    if call.starts:
        return call.starts[0].data.get("mode") == "stream"
    return bool(call.hooks) and call.hooks[0].name.endswith("streamable")


def _list_of(place: str) -> str:
    return place.partition("[")[0]


def _nested(asked: str, each: Reached, layers: Sequence[str]) -> Decision:
    got = positions.only(layers, each.open)
    return Decision(asked, positions.in_order(layers, got), got, each.at)


def _whole(asked: str, each: Reached, layers: Sequence[str]) -> Iterator[Decision]:
    """Decide which layers were open; if the innermost was not reached, a beginning."""
    got = list(each.open)
    wanted = list(layers)
    if not each.whole:
        if positions.only(layers, got) != positions.in_order(layers, got):
            return
        wanted = wanted[: len(got)]
    yield Decision(asked, sorted(wanted), sorted(got), each.at)


def _backwards(asked: str, found: Onion) -> Iterator[Decision]:
    for each in found.left:
        yield Decision(asked, each.innermost, each.layer, each.at)
