"""Structs as they are and as handlers: the checks of COMPAT."""

import pytest

from tests.deciding import OF, decisions, scenario

DONE = "assistant:done"
BOTH = {
    "before_chat_model": [{"op": "record"}],
    "after_chat_model": [{"op": "record"}],
}


def test_a_world_without_structs_has_nothing_to_adapt():
    world = scenario({"handlers": [{"id": "h", "before_model": []}]}, DONE)

    assert not decisions(OF["COMPAT-002"], world)


@pytest.mark.parametrize(
    ("under", "decided"), [("seed-001", True), ("eino-0.9", False)]
)
def test_adapting_beside_handlers_depends_on_the_after_hooks(under, decided):
    agent = {"middlewares": [BOTH], "handlers": [{"id": "h", "after_model": []}]}
    found = decisions(OF["COMPAT-002"], scenario(agent, DONE), under=under)

    assert bool(found) is decided
