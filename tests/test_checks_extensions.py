"""What an extension is: the checks of EXT."""

from tests.deciding import OF, decisions, scenario

DONE = "assistant:done"


def test_an_identity_handler_is_asked_for_nothing_where_it_may_be_seen():
    world = scenario({"handlers": [{"id": "h", "before_model": []}]}, DONE)

    assert len(decisions(OF["EXT-001"], world)) == 2
    assert not decisions(OF["EXT-001"], world, under="langgraph-prebuilt-1")


def test_handlers_without_an_id_are_renamed_by_an_identity_handler():
    world = scenario({"handlers": [{"before_model": []}]}, DONE)

    assert not decisions(OF["EXT-001"], world)
