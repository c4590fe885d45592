"""Subjects played in this process: the judge's players without their children."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from compat.migration.differences import TraceChannels
from compat.migration.pairs import SeenPair
from compat.verdicts.migration import DescribedDivergence, Exercise
from compat.verdicts.relations import channels_of
from refengine.testing import Scenario, World, play_subject, read_scenario, run

Subject = Callable[[World], object]


@dataclass(frozen=True)
class PlayedHere:
    """What was played in this process; its text is the real one."""

    jsonl: str
    refused: str | None = None
    way: str | None = None


class Here:
    """Plays a subject in this process; a subject that ends it would end the tests."""

    intends: Sequence[str] = ()
    ways: Sequence[str] = ()

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.hooks: Counter[str] = Counter()

    def play(self, world: Scenario) -> PlayedHere:
        played = run(play_subject(world, self.subject))
        self.hooks.update(played.hooks)
        for hook in played.hooks:
            self.hooks.setdefault(hook, 0)
        return PlayedHere(played.trace.to_jsonl())

    def play_all(self, worlds: Sequence[Scenario]) -> Iterator[PlayedHere]:
        return map(self.play, worlds)

    def run_in(self, ways: Sequence[str]) -> None:
        pass

    def broken(self, played: PlayedHere) -> Sequence[str]:
        return ()

    @property
    def exercise(self) -> Exercise:
        return Exercise("here", dict(self.hooks))


def shown(world: Scenario, subject: Subject) -> TraceChannels:
    return TraceChannels(Here(subject).play(world).jsonl)


def divergence(
    world: Scenario, old: Subject, new: Subject, relation: str = "identical"
) -> DescribedDivergence:
    """Return what the first difference of two subjects in a world is named."""
    ours, theirs = shown(world, old), shown(world, new)
    found = SeenPair(ours, theirs, channels_of(relation)).divergence
    assert found is not None
    return found


def world(**fields: object) -> Scenario:
    """Return a world: ``agent`` and ``model_script`` as in scenarios, ``runs`` too."""
    runs = fields.pop("runs", [{"input": ["user:a"]}])
    return read_scenario({"agent": fields.pop("agent", {}), "runs": runs, **fields})


CALLS = world(
    agent={"tools": [{"name": "t", "result": "r"}, {"name": "u", "result": "s"}]},
    model_script=["assistant:[c1:t({})][c2:u({})]", "assistant:done"],
)
"""Two calls of one message, then an answer."""

STREAMS = world(
    agent={"tools": [{"name": "t", "kind": "streamable", "chunks": ["r", "s"]}]},
    model_script=["assistant:[c1:t({})]", "assistant:done soon"],
    runs=[{"input": ["user:a"], "streaming": True}],
)
"""A call of a tool that streams, in a streaming run."""

TURNS = world(
    model_script=["assistant:x", "assistant:y"],
    runs=[{"input": ["user:a"]}, {"input": ["user:b"], "continues": True}],
)
"""Two turns of a thread."""
