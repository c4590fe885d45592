"""The resolved order of everything that acts on a run, as text or as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from refengine.chain import LayerName
from refengine.compiled import CompiledAgent
from refengine.extensions import Extensions

AGAIN: Final = "↻"
"""Marks a wrapper that is entered again on resume, so its code before ``next`` is run
a second time; what it had called gives what it gave (contract INT)."""
_AGAIN_NOTE: Final = f"{AGAIN} runs again up to its next if a run is resumed inside"
_ADDITIONS: Final = ("additional_instruction", "additional_tools")
Section = tuple[str, str, list[LayerName]]


def explain(
    machine: CompiledAgent, extensions: Extensions, style: Literal["text", "mermaid"]
) -> str:
    """Return the order; pipelines top to bottom, onions outermost first.

    Wrappers that a resumed run enters again are marked, if the agent keeps its runs.
    """
    sections = list(_sections(machine, extensions))
    kept = machine.keeper is not None
    if style == "mermaid":
        return "\n".join(_mermaid(sections, kept=kept))
    head = f"agent {machine.name!r} under {machine.profile.name}"
    marked = kept and any(names for _, how, names in sections if how == "around")
    foot = [_AGAIN_NOTE] if marked else []
    return "\n".join([head, *_text(sections, kept=kept), *foot])


def _sections(machine: CompiledAgent, extensions: Extensions) -> Iterator[Section]:
    built = machine.profile.before_agent == "build"
    when = "once, at build" if built else "at the start of every run"
    yield f"before_agent ({when})", "then", _before_agent(extensions)
    yield (
        "before model, in order",
        "then",
        _pass(extensions, "before_chat_model", "before_model_rewrite_history"),
    )
    wraps = [name for name, _ in extensions.with_hook("wrap_model_call")]
    yield f"around the model{_attempts(machine)}, outermost first", "around", wraps
    fields = ("after_chat_model", "after_model_rewrite_history")
    order = machine.profile.after_hooks
    after = _pass(extensions, *fields, handlers_first=order == "handlers_first")
    if order == "reversed":
        after.reverse()
    yield "after model, in order", "then", after
    invoke, stream = machine.binder.invokable.names, machine.binder.streamable.names
    yield "around an invokable tool, outermost first", "around", list(invoke)
    yield "around a streamable tool, outermost first", "around", list(stream)
    called = machine.profile.after_agent == "on_success"
    last = extensions.with_hook("after_agent") if called else []
    if order == "reversed":
        last.reverse()
    yield "after_agent (on success), in order", "then", [name for name, _ in last]


def _attempts(machine: CompiledAgent) -> str:
    """Return how often the wrappers around the model are entered in one iteration."""
    retry = machine.model.retry
    if retry is None:
        return ""
    tries, models = 1 + retry.max_retries, 1 + len(retry.fall_back)
    each = f"{tries} of each of {models} models" if models > 1 else "of one model"
    return f", at each of at most {retry.attempts} attempts ({each})"


def _before_agent(extensions: Extensions) -> list[LayerName]:
    structs = [
        LayerName(each.name, each.position, ", ".join(fields))
        for each in extensions.middlewares
        if (fields := [f for f in _ADDITIONS if getattr(each.struct, f)])
    ]
    return structs + [name for name, _ in extensions.with_hook("before_agent")]


def _pass(
    extensions: Extensions, field: str, hook: str, *, handlers_first: bool = False
) -> list[LayerName]:
    structs = [name for name, _ in extensions.model_hooks(field)]
    handlers = [name for name, _ in extensions.with_hook(hook)]
    return handlers + structs if handlers_first else structs + handlers


def _text(sections: Sequence[Section], *, kept: bool) -> Iterator[str]:
    for title, how, names in sections:
        yield f"{title}:" if names else f"{title}: nobody"
        for depth, name in enumerate(names):
            indent = "  " * (depth + 1 if how == "around" else 1)
            mark = f" {AGAIN}" if kept and how == "around" else ""
            yield f"{indent}{name.owner} · {name.hook}{mark}"


def _mermaid(sections: Sequence[Section], *, kept: bool) -> Iterator[str]:
    """Draw pipelines as arrows and onions as boxes in boxes."""
    yield "flowchart TD"
    previous = ""
    for at, (title, how, names) in enumerate(sections):
        box = f"s{at}"
        yield f'  subgraph {box}["{title}"]'
        onion = _onion(box, names, f" {AGAIN}" if kept else "")
        yield from onion if how == "around" else _chain(box, names)
        yield "  end"
        if previous:
            yield f"  {previous} --> {box}"
        previous = box


def _chain(box: str, names: Sequence[LayerName]) -> Iterator[str]:
    if not names:
        yield f'    {box}n["nobody"]'
    for at, name in enumerate(names):
        arrow = f"{box}n{at - 1} --> " if at else ""
        yield f'    {arrow}{box}n{at}["{_label(name)}"]'


def _onion(box: str, names: Sequence[LayerName], mark: str) -> Iterator[str]:
    for at, name in enumerate(names):
        yield f'    subgraph {box}n{at}["{_label(name)}{mark}"]'
    yield f'    {box}core(("the call"))'
    for _ in names:
        yield "    end"


def _label(name: LayerName) -> str:
    return f"{name.owner} · {name.hook}".replace('"', "#quot;")
