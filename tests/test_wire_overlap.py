"""Requests that overlapped when they were recorded may come in any order again."""

import json
from dataclasses import replace
from itertools import permutations

import httpx2
import pytest

from compat.wire.cassette_files import read_cassette
from compat.wire.errors import CassetteError, MismatchError, NotAllPlayedError
from compat.wire.matching import ready
from compat.wire.scrubbing import Scrubber
from compat.wire.strict import strict_cassette
from compat.wire.transport import ReplayTransport
from tests.wire_support import exchange, post, written

HELD = ("one", "two", "three")
"""Were asked for at one time; ``last`` came when all of them had ended."""
ORDERS = [(*order, "last") for order in permutations(HELD)]


def overlapping():
    afters = {"one": None, "two": 0, "three": 0, "last": None}
    return [
        replace(exchange(said, said.upper()), after=after)
        for said, after in afters.items()
    ]


def played(transport, *order):
    """Ask in an order; return the answers."""
    with httpx2.Client(transport=transport) as client:
        return [post(client, each).json()["answer"] for each in order]


@pytest.mark.parametrize("order", ORDERS)
def test_what_overlapped_is_played_in_any_order(order, tmp_path):
    transport = ReplayTransport(ready("some.yaml", overlapping()))
    path = written(tmp_path / "some.yaml", overlapping())

    said = played(transport, *order)
    with httpx2.Client() as client, strict_cassette(path) as session:
        again = [post(client, each).json()["answer"] for each in order]

    assert said == again == [each.upper() for each in order]
    assert [json.loads(x.response.body)["answer"] for x in session.exchanges] == said


@pytest.mark.parametrize("before", [(), ("one",), ("three", "one")])
def test_what_came_behind_them_all_has_to_wait(before):
    transport = ReplayTransport(ready("some.yaml", overlapping()))

    with pytest.raises(MismatchError) as caught:
        played(transport, *before, "last")

    assert caught.value.matches == [4]


def test_what_is_missing_is_told_by_its_own_number():
    transport = ReplayTransport(ready("some.yaml", overlapping()))

    with pytest.raises(NotAllPlayedError, match=r"2 of 4; .*\n  1\. .*\n  4\. "):
        played(transport, "three", "two")


def test_request_that_is_none_of_them_is_told_which_there_were():
    transport = ReplayTransport(ready("some.yaml", overlapping()))

    with pytest.raises(MismatchError, match=r"none of interactions 1, 3 of some\.yaml"):
        played(transport, "two", "four")


def test_file_keeps_what_overlapped(tmp_path):
    path = written(tmp_path / "some.yaml", overlapping())

    assert [each.after for each in read_cassette(path)] == [None, 0, 0, None]


@pytest.mark.parametrize("after", [1, 7])
def test_interaction_after_more_than_stand_before_it_is_refused(after):
    wrong = replace(exchange("one"), after=after)

    with pytest.raises(
        CassetteError, match=f"interaction 1: it is after {after} inter"
    ):
        ready("some.yaml", [wrong])


@pytest.mark.parametrize("after", ["1", 1.0, True, -1])
def test_after_that_is_no_number_is_refused(after, tmp_path):
    path = written(tmp_path / "some.json", overlapping())
    tree = json.loads(path.read_text("utf-8"))
    tree["interactions"][1]["after"] = after
    path.write_text(json.dumps(tree), "utf-8")

    with pytest.raises(CassetteError, match="interaction 2: after is not a number"):
        read_cassette(path)


IDS = (
    "501110d6-ef83-4fb8-b80b-6fb94c92ec2d",
    "282b3c91-1552-4e67-a359-abe37aaaea40",
)


def test_field_that_is_drawn_anew_is_advised_and_can_be_named_on_replay_alone():
    recorded = [exchange("one", metadata={"trace_id": IDS[0]})]

    def play(scrubber):
        transport = ReplayTransport(ready("some.yaml", recorded, scrubber))
        with httpx2.Client(transport=transport) as client:
            post(client, "one", metadata={"trace_id": IDS[1]})

    with pytest.raises(MismatchError, match="cassette serve --field trace_id"):
        play(Scrubber())
    play(Scrubber(fields=["trace_id"]))


@pytest.mark.parametrize(
    "others",
    [{"metadata": {"trace_id": IDS[1], "user": "b"}}, {"metadata": {"user": "a"}}],
)
def test_field_that_is_named_hides_no_other(others):
    recorded = [exchange("one", metadata={"trace_id": IDS[0], "user": "a"})]
    scrubber = Scrubber(fields=["trace_id"])
    transport = ReplayTransport(ready("some.yaml", recorded, scrubber))

    with pytest.raises(MismatchError), httpx2.Client(transport=transport) as client:
        post(client, "one", **others)
