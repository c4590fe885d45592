"""Generated worlds of the stream loop: streams, tools, callbacks, limits, turns.

They know the domain: calls in pieces that are mixed, tools that fail, wait or ask for
another round, streams that break, callbacks that raise. What comes first in a choice is
the plainest, so that failures shrink to it. Needs the extra ``testing``.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from compat.engines.stream_loop.scenario import CALLBACKS, LoopScenario

Doc: TypeAlias = "dict[str, Any]"
Draw: TypeAlias = Any  # what a composite strategy draws with

TEXTS: Final = ("a", "b ", "Ünï", "")
TOOLS: Final = ("f", "g", "slow", "broken", "missing")
ARGUMENTS: Final = ('{"a":', "1}", "", "{}")
RESULTS: Final = (1, {"k": [1, None]}, "text", 2.5)
FOLLOW_UPS: Final = (False, True, True, 1, "true")
SAFE_FORMS: Final = ("", "", "forms", "adapted", "cuts")


def loop_worlds_drawn() -> st.SearchStrategy[LoopScenario]:
    """Return what draws scenarios of any shape."""
    return _documents().map(lambda doc: LoopScenario.model_validate(doc, strict=False))


@st.composite
def _documents(draw: Draw) -> Doc:
    compares = draw(st.sampled_from(SAFE_FORMS))
    doc: Doc = {
        "compares": compares,
        "tools": [draw(_tools(name)) for name in TOOLS if name != "missing"],
        "script": draw(st.lists(_answers(), max_size=4)),
        "callbacks": draw(_callbacks()) if compares != "cuts" else {},
        "turns": draw(st.lists(_turns(compares), min_size=1, max_size=2)),
    }
    if draw(_rarely()):
        doc["instruction"] = "Be brief."
    if draw(_rarely()):
        doc["limits"] = draw(_limits(cuts=compares == "cuts"))
    if not compares and draw(_rarely()):
        doc["next_prompt"] = draw(st.sampled_from(("go on", "")))
    return doc


def _rarely() -> st.SearchStrategy[bool]:
    return st.integers(0, 4).map(lambda number: number == 1)


@st.composite
def _tools(draw: Draw, name: str) -> Doc:
    if name == "broken":
        fault = draw(st.sampled_from(("error", "odd", "cancelled")))
        outcome: Doc = {"error": "no power"} if fault == "error" else {"fault": fault}
        return {"name": name, "outcomes": [outcome]}
    outcomes = draw(st.lists(_outcomes(), min_size=1, max_size=2))
    if name == "slow":
        outcomes = [{**each, "seconds": 3} for each in outcomes]
    return {"name": name, "outcomes": outcomes}


@st.composite
def _outcomes(draw: Draw) -> Doc:
    if draw(st.booleans()):
        return {"text": draw(st.sampled_from(("ok", "")))}
    result = draw(st.sampled_from(RESULTS))
    return {"result": result, "follow_up": draw(st.sampled_from(FOLLOW_UPS))}


@st.composite
def _answers(draw: Draw) -> list[Doc]:
    """Draw a stream: texts, and pieces of up to three calls mixed among them."""
    chunks: list[Doc] = []
    seen: set[int] = set()
    for at, index in enumerate(
        draw(st.lists(st.sampled_from((None, 0, 1, 2)), max_size=5))
    ):
        chunks.extend({"text": each} for each in draw(_few_texts()))
        arguments = draw(st.sampled_from(ARGUMENTS))
        piece: Doc = {"arguments": arguments}
        if index is None or index not in seen:
            piece["name"] = draw(st.sampled_from(TOOLS))
            piece["id"] = draw(st.sampled_from((f"c{at}", "")))
        if index is not None:
            piece["index"] = index
            seen.add(index)
        chunk: Doc = {"calls": [piece]}
        if draw(_rarely()):
            chunk["text"] = "with "
        chunks.append(chunk)
    chunks.extend({"text": each} for each in draw(_few_texts()))
    if draw(_rarely()):
        at = draw(st.integers(0, len(chunks)))
        chunks = [*chunks[:at], {"error": "broken"}]
    if chunks and draw(_rarely()):
        chunks[-1]["seconds"] = 2
    return chunks


def _few_texts() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(TEXTS), max_size=2)


@st.composite
def _callbacks(draw: Draw) -> Doc:
    if not draw(_rarely()):
        return {}
    name = draw(st.sampled_from(CALLBACKS))
    if draw(_rarely()):
        return {name: {"seconds": 1}}
    return {name: {"raises_on": [draw(st.integers(1, 3))]}}


@st.composite
def _limits(draw: Draw, *, cuts: bool) -> Doc:
    timed: tuple[tuple[str, float], ...] = (
        ("round_seconds", 2.5),
        ("tool_seconds", 1.5),
    )
    lengths = (("calls_per_round", 1), ("argument_chars", 3), ("result_chars", 3))
    name, value = draw(st.sampled_from(lengths if cuts else (*timed, *lengths)))
    return {name: value}


@st.composite
def _turns(draw: Draw, compares: str) -> Doc:
    turn: Doc = {"input": draw(st.sampled_from(("hi", "more")))}
    turn["continues"] = draw(_rarely())
    if compares:
        return turn
    if draw(_rarely()):
        turn["cancel_after"] = draw(st.sampled_from((0.5, 2.25)))
    if draw(_rarely()):
        turn["max_iterations"] = draw(st.sampled_from((1, 2, 5, 0, -1, 1.5)))
    return turn
