"""Which worlds subjects behind drivers can be played in: those of both engines.

A subject is looked at in as many worlds as there are, so a world loses what an engine
cannot be asked for where that is beside the point. One that streams is played in one
piece on an engine that does not stream, or does not where a neighbour wraps the model;
its neighbours go where the engine has no hook for them, and so on; what no change takes
away is left out.

The AI SDK enters other hooks in a run that streams than in one that does not. So sides
that speak of the latter alone are in no run that streams, and to those that speak of
both each of these is played in one piece, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import MappingProxyType
from typing import Final, TypeAlias

from compat.engines.capabilities import CapabilityError, refuse_undeclared
from compat.engines.needs import hidden_needs, is_usual
from compat.migration.corpus import Corpus
from refengine.messages import Message, join_chunks
from refengine.testing.notation import parse_chunk, parse_message, write_message
from refengine.testing.recorder import Recorder
from refengine.testing.scenario import (
    AgentSpec,
    ModelFailure,
    RunSpec,
    Scenario,
    ScriptEntry,
)
from refengine.testing.world import World

Playable: TypeAlias = "Callable[[Scenario], bool]"

AGENTS: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType(
    {
        "unknown_tools_handler": {"unknown_tools_handler": None},
        "sequential": {"sequential": False},
        "return_directly": {"return_directly": {}},
    }
)
"""By capability: what an agent has where an engine does not declare it."""
STREAMED: Final = "streaming"
IN_ONE_PIECE: Final = "in one piece"
OF_WAYS: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        IN_ONE_PIECE: re.compile(r"\b(?:wrapGenerate|experimental_prepareStep)\b"),
        STREAMED: re.compile(
            r"\b(?:wrapStream|on(?:Chunk|Error|Finish|Abort)|experimental_transform)\b"
        ),
    }
)
"""By the way of a run: what a source has that only such runs of the AI SDK enter."""
TEXTS: AbstractSet[str] = frozenset(("lone_surrogates",))
"""What drivers carry and a user's code cannot hold: its texts are UTF-8."""


def ways_of(sources: Iterable[str]) -> frozenset[str]:
    """Return of which ways of a run these sources have a hook of its own."""
    texts = (*sources,)
    found = (way for way, says in OF_WAYS.items() if any(map(says.search, texts)))
    return frozenset(found)


def fitted(
    corpus: Corpus,
    declared: AbstractSet[str],
    ways: AbstractSet[str] = frozenset(),
) -> Corpus:
    """Return the worlds of a corpus that need no more than these capabilities.

    One that needs more for a reason beside the point is as near to it as can be.
    ``ways`` are those that the sources of both sides have hooks of their own for.
    """
    can = frozenset(declared - TEXTS)
    if ways == {IN_ONE_PIECE}:
        can -= {STREAMED}

    def fits(world: Scenario) -> bool:
        return playable(world, can)

    def near(world: Scenario) -> Iterator[Scenario]:
        made = eased(world, can, fits)
        yield made
        if ways == OF_WAYS.keys() and any(run.streaming for run in made.runs):
            yield _in_one_piece(made)

    worlds = (
        replace(each, scenario=world, unusual=corpus.unusual(world))
        for each in corpus.worlds
        for world in near(each.scenario)
    )
    kept = tuple(each for each in worlds if fits(each.scenario))
    return replace(corpus, worlds=kept, fits=fits, slow=True)


def _in_one_piece(world: Scenario) -> Scenario:
    runs = (run.model_copy(update={"streaming": False}) for run in world.runs)
    return world.model_copy(update={"runs": tuple(runs)})


def flow_fitted(corpus: Corpus) -> Corpus:
    """Return the worlds of a corpus that agents with sessions can be played in."""
    before = corpus.fits

    def fits(world: Scenario) -> bool:
        if before is not None and not before(world):
            return False
        needs = {need for need, _ in hidden_needs(world)}
        return len(world.all_agents) == 1 and needs.isdisjoint(TEXTS)

    kept = tuple(each for each in corpus.worlds if fits(each.scenario))
    return replace(corpus, worlds=kept, fits=fits, slow=True)


def playable(world: Scenario, declared: frozenset[str]) -> bool:
    """Tell whether engines that declare this can be asked for a world."""
    if any(need not in declared for need, _ in hidden_needs(world)):
        return False
    recorder = Recorder()
    try:
        for spec in world.all_agents:
            config = World(spec, world, recorder).config()
            refuse_undeclared("", declared, replace(config, checkpoints=None))
    except CapabilityError:
        return False
    return True


def eased(world: Scenario, can: AbstractSet[str], playable: Playable) -> Scenario:
    """Return a world as near to this one as an engine that can so much has it."""
    if playable(world):
        return world
    world = world.model_copy(update={"runs": tuple(_in_pieces(world, can))})
    if "arguments_text" not in can:
        script = map(_with_objects, world.model_script)
        world = world.model_copy(update={"model_script": tuple(script)})
    agents = tuple(_agent(each, can, playable) for each in world.all_agents)
    if world.agent is not None:
        return world.model_copy(update={"agent": agents[0]})
    return world.model_copy(update={"agents": agents})


def _in_pieces(world: Scenario, can: AbstractSet[str]) -> Iterator[RunSpec]:
    """Yield its runs, those in one piece that cannot be streamed."""
    for run in world.runs:
        around = any(each.wrap_model for each in world.all_agents[run.agent].handlers)
        needs = {"streaming", *(["streamed_model_wraps"] if around else [])}
        streams = run.streaming and needs <= can
        yield run.model_copy(update={"streaming": streams})


def _agent(spec: AgentSpec, can: AbstractSet[str], playable: Playable) -> AgentSpec:
    changes = {
        key: value
        for capability, change in AGENTS.items()
        if capability not in can
        for key, value in change.items()
    }
    if "streamable_tools" not in can:
        whole = {"kind": "invokable"}
        changes["tools"] = tuple(each.model_copy(update=whole) for each in spec.tools)

    def has(**part: object) -> bool:
        alone = AgentSpec().model_copy(update=part)
        return playable(Scenario(agent=AgentSpec()).model_copy(update={"agent": alone}))

    for kind in ("tool_call_middlewares", "middlewares"):
        there: Sequence[object] = getattr(spec, kind)
        changes[kind] = tuple(each for each in there if has(**{kind: (each,)}))
    several = [each for each in spec.handlers if each.same_as is not None]
    if not several or not has(handlers=spec.handlers):
        kept = (each for each in spec.handlers if each.same_as is None)
        changes["handlers"] = tuple(each for each in kept if has(handlers=(each,)))
    return spec.model_copy(update=changes)


def _with_objects(entry: ScriptEntry) -> ScriptEntry:
    """Return an answer whose calls have objects for arguments."""
    message = _whole(entry)
    if message is None or all(is_usual(c.arguments) for c in message.tool_calls):
        return entry
    calls = [replace(c, arguments=_object(c.arguments)) for c in message.tool_calls]
    return write_message(replace(message, tool_calls=tuple(calls)))


def _whole(entry: ScriptEntry) -> Message | None:
    """Return the answer, None if it fails."""
    if isinstance(entry, str):
        return parse_message(entry)
    if isinstance(entry, ModelFailure) or entry.stream_error is not None:
        return None
    return join_chunks(map(parse_chunk, entry.chunks))


def _object(arguments: str) -> str:
    try:
        tree: object = json.loads(arguments)
    except ValueError:
        return "{}"
    return json.dumps(tree, ensure_ascii=False) if isinstance(tree, dict) else "{}"
