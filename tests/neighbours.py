"""Neighbours of a subject, in worlds where they are called as those of a check are."""

from collections.abc import Iterator

from compat.migration.corpus import make_corpus
from compat.migration.options import EXAMPLES
from compat.migration.words import harvest
from refengine.testing import Scenario, read_scenario


def names_of_ours() -> list[str]:
    """Return what the neighbours are called in the worlds of a check of no source."""
    worlds = make_corpus(harvest({}), EXAMPLES, 0).worlds
    agents = [agent for each in worlds for agent in each.scenario.all_agents]
    extensions = [one for each in agents for one in (*each.handlers, *each.middlewares)]
    return sorted({each.id for each in extensions if each.id})


def worlds_of_neighbours(names: list[str]) -> Iterator[Scenario]:
    """Yield a world for each name, with two neighbours of each; those of that one fail.

    Two of one name are in the worlds of a check, too.
    """
    record, fails = [{"op": "record"}], [{"op": "error", "text": "boom"}]
    for one in names:
        handlers = [
            {"id": each, "before_model": fails if each == one else record}
            for each in (*names, *names)
        ]
        yield read_scenario(
            {
                "agent": {"handlers": handlers},
                "model_script": ["assistant:hi"],
                "runs": [{"input": ["user:a"]}],
            }
        )
