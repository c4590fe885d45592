"""Each framework that is installed does the work that it is measured for."""

import pytest

from benchmarks.peers.measuring import Lost, ask
from benchmarks.peers.peer import NAMES

IN_DEV = {"langchain", "langgraph", "pydantic-ai", "flow"}
LIMIT = 100.0


@pytest.mark.parametrize("name", NAMES)
def test_framework_runs_without_handlers_and_with_two_at_each_hook(name):
    reply = ask(name, {"do": "admit", "numbers": [0, 2]}, LIMIT)

    assert not isinstance(reply, Lost), reply
    if "absent" in reply and name not in IN_DEV:
        pytest.skip(f"{reply['absent']}: pip install 'refengine[peers]'")
    assert reply["refused"] == {}
    assert reply["admitted"]
