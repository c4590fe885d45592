"""A step as one record of bytes: what is written is read back, or refused by name."""

import dataclasses
import hashlib
import json
import subprocess
import sys
from importlib import metadata
from importlib.metadata import PackageNotFoundError

import pytest
from hypothesis import given

import refengine
from refengine.errors import NotKeepableError
from refengine.interrupts import Pending
from refengine.messages import Message, MessageChunk, ToolCall, ToolCallChunk
from refengine.resume import checkpoint
from refengine.resume.checkpoint import Entry, Failure, Point, Splice, Step
from refengine.state import Limits, decode_step, encode_step, read_records
from refengine.state import errors as state_errors
from refengine.state.envelope import FORMAT, MAX_HEADER, opened, sealed
from refengine.state.errors import (
    BadCheckpointError,
    BadTreeError,
    DamagedCheckpointError,
    ForeignFileError,
    NewerFormatError,
    OversizedCheckpointError,
    TooDeepError,
    TruncatedCheckpointError,
    UnknownCodecError,
    UnknownTypeError,
)
from refengine.state.values import Types
from tests.state_samples import WRITER, sample_types, samples
from tests.state_strategies import STEPS, searching

STEP = Step(0, 1, Splice(0, (Message("user", "hi"),)), Point())
TYPES = Types()


def record(body, types=TYPES):
    """Return the record of a body that was made by hand."""
    text = body if isinstance(body, str) else json.dumps(body)
    return sealed(text.encode("ascii"), types.fingerprint, "by hand")


def body_of(step=STEP, **changes):
    """Return the parsed body of a step's record, with these keys changed."""
    return {**json.loads(opened(encode_step(step, TYPES)).body), **changes}


def test_record_is_two_lines_of_ascii_to_read() -> None:
    header, body, end = encode_step(STEP, TYPES, writer="me").split(b"\n")

    assert end == b""
    assert header.startswith(b'refengine-checkpoint 1 {"writer":"me","codec":"json"')
    assert body == (
        b'{"seq":0,"iteration":1,"splice":{"messages":[{"role":"user","content":"hi"}]},'
        b'"point":{"phase":"iteration"}}'
    )


def test_writer_is_this_version() -> None:
    found = opened(encode_step(STEP, TYPES)).header

    assert found.writer == f"refengine {refengine.__version__}"
    assert found.types == TYPES.fingerprint


def test_writer_has_no_version_where_nothing_is_installed(monkeypatch) -> None:
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.delitem(vars(refengine), "__version__", raising=False)
    monkeypatch.setattr(metadata, "version", missing)

    assert opened(encode_step(STEP, TYPES)).header.writer == "refengine"


@given(STEPS)
@searching(60)
def test_any_step_comes_back(step) -> None:
    types = sample_types()
    written = encode_step(step, types)
    found = decode_step(written, types)

    assert found == step
    assert encode_step(found, types) == written


DATA = (Step, Splice, Point, Entry, checkpoint.Changes, Pending, Failure)


def test_every_field_of_a_step_is_written() -> None:
    """A field that the strategies do not fill would be lost unseen."""
    fields = {
        cls.__name__: [each.name for each in dataclasses.fields(cls)]
        for cls in (*DATA, checkpoint.Start)
    }

    assert fields == {
        "Step": [
            "seq",
            "iteration",
            "splice",
            "point",
            "locals",
            "pending",
            "start",
        ],
        "Splice": ["keep", "messages"],
        "Point": [
            "phase",
            "at",
            "ctx",
            "sent",
            "entries",
            "attempt",
            "shown",
            "told",
            "answer",
            "status",
            "used",
        ],
        "Entry": [
            "hook",
            "owner",
            "done",
            "text",
            "message",
            "chunks",
            "failure",
            "inner",
            "answers",
            "asked",
            "waiting",
            "action",
            "changes",
        ],
        "Changes": ["name", "arguments", "call_id", "taken", "ignored", "action"],
        "Pending": ["address", "payload"],
        "Failure": ["kind", "text", "layer", "base"],
        "Start": ["agent", "profile", "streaming", "given", "has_first"],
    }


def test_onion_of_ten_thousand_entries_is_flat_in_the_record() -> None:
    entry = Entry("model", "")
    for at in range(10_000):
        entry = Entry("wrap_model_call", str(at), inner=(entry,))
    step = Step(0, 0, Splice(), Point("model", entries=(None, entry)))
    written = encode_step(step, TYPES)
    none, found = decode_step(written, TYPES, Limits(max_depth=4)).point.entries

    assert none is None
    for at in range(9_999, -1, -1):
        assert found is not None
        assert found.owner == str(at)
        [found] = found.inner
    assert found == Entry("model", "")


def test_step_costs_what_it_changed_and_not_what_was_before() -> None:
    """Its numbers grow by their digits; the messages before it are not in it."""
    near, far = (
        len(encode_step(dataclasses.replace(STEP, splice=Splice(keep, ())), TYPES))
        for keep in (10, 100_000)
    )

    assert far - near == len("100000") - len("10")


# What cannot be written


@pytest.mark.parametrize(
    ("step", "path"),
    [
        (
            Step(0, 1, Splice(0, (Message("user", None),)), Point()),
            "messages[0].content",
        ),
        (Step(0, 1, Splice(0, (Message("human"),)), Point()), "messages[0].role"),
        (Step(0, 1, Splice(0, (Message("user", id=1),)), Point()), "messages[0].id"),
        (Step(0, 1, Splice(), Point(answer=Message("user", b"x"))), "answer.content"),
        (Step(1.0, 1, Splice(), Point()), "seq"),
        (Step(0, -1, Splice(), Point()), "iteration"),
        (Step(0, 1, Splice(2**63), Point()), "keep"),
        (Step(0, 1, Splice(), Point("nowhere")), "phase"),
        (Step(0, 1, Splice(), Point(shown=("a", 1))), "shown[1]"),
        (Step(0, 1, Splice(), Point(told=(None,))), "told[0]"),
        (Step(0, 1, Splice(), Point(ctx={"k": [object()]})), "ctx['k'][0]"),
        (Step(0, 1, Splice(), Point(), {"k": {1: 2}}), "locals['k'][1]"),
        (Step(0, 1, Splice(), Point(), {1: 2}), "locals[1]"),
        (
            Step(0, 1, Splice(), Point(), {"\ud83d\ude00": 2}),
            "locals['\\ud83d\\ude00']",
        ),
        (
            Step(0, 1, Splice(), Point(entries=(None, Entry("h", "o", 1)))),
            "entries[1].done",
        ),
        (
            Step(0, 1, Splice(), Point(entries=(Entry("h", "o", chunks=(1,)),))),
            "entries[0].chunks[0]",
        ),
        (
            Step(0, 1, Splice(0, (Message("user", extra={"k": 1j}),)), Point()),
            "messages[0].extra['k']",
        ),
        (
            Step(
                0,
                1,
                Splice(0, (Message("assistant", "", (ToolCall("a", "b", {}),)),)),
                Point(),
            ),
            "messages[0].tool_calls[0].arguments",
        ),
        (
            Step(
                0,
                1,
                Splice(),
                Point(
                    entries=(
                        Entry(
                            "h",
                            "o",
                            chunks=(MessageChunk("", (ToolCallChunk(1.0),)),),
                        ),
                    )
                ),
            ),
            "entries[0].chunks[0].tool_calls[0].index",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_could_not_be_read_back_is_not_written(step, path) -> None:
    with pytest.raises(NotKeepableError) as caught:
        encode_step(step, TYPES)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        (Limits(max_bytes=50), OversizedCheckpointError),
        (Limits(max_items=5), OversizedCheckpointError),
        (Limits(max_depth=2), TooDeepError),
    ],
)
def test_what_would_not_be_read_is_not_written(limits, error) -> None:
    written = encode_step(STEP, TYPES)

    with pytest.raises(error):
        encode_step(STEP, TYPES, limits=limits)
    with pytest.raises(error):
        decode_step(written, TYPES, limits)


# The envelope


def test_records_stand_one_after_another_in_a_file() -> None:
    types = sample_types()
    written = [encode_step(each, types) for each in samples().values()]

    assert list(read_records(b"".join(written))) == written


def test_file_that_ends_in_a_record_gives_what_is_whole() -> None:
    one = encode_step(STEP, TYPES)
    found = read_records(one + one[:-1])

    assert next(found) == one
    with pytest.raises(
        TruncatedCheckpointError, match=f"{len(one) - 1} of {len(one)} b"
    ):
        next(found)


def test_empty_file_holds_no_checkpoint() -> None:
    with pytest.raises(TruncatedCheckpointError, match="cut off after 0 bytes"):
        list(read_records(b""))


def test_every_cut_of_a_record_is_seen() -> None:
    written = encode_step(STEP, TYPES)

    for at in range(len(written)):
        with pytest.raises(TruncatedCheckpointError):
            decode_step(written[:at], TYPES)


def test_every_changed_byte_of_a_record_is_seen() -> None:
    written = encode_step(STEP, TYPES)

    for at in range(len(written)):
        changed = bytearray(written)
        changed[at] ^= 1
        with pytest.raises(
            (
                BadCheckpointError,
                DamagedCheckpointError,
                ForeignFileError,
                NewerFormatError,
                TruncatedCheckpointError,
            )
        ):
            decode_step(bytes(changed), TYPES)


def test_newer_format_is_refused_with_both_numbers() -> None:
    written = encode_step(STEP, TYPES).replace(b"checkpoint 1", b"checkpoint 12", 1)

    with pytest.raises(
        NewerFormatError, match=r"has format 12, and .* up to 1:"
    ) as caught:
        decode_step(written, TYPES)
    assert (caught.value.found, caught.value.known) == (12, FORMAT)


@pytest.mark.parametrize(
    "data", [b"SQLite format 3\x00", b"{}", b"\x80\x04]", b"refengine "]
)
def test_foreign_file_is_named_as_such(data) -> None:
    with pytest.raises(ForeignFileError, match="this begins with"):
        decode_step(data, TYPES)


def test_codec_that_is_not_json_is_refused() -> None:
    data = encode_step(STEP, TYPES)
    about = data.replace(b'"json"', b'"pickle"', 1).partition(b',"sha256"')[0]
    body = data.split(b"\n")[1]
    digest = hashlib.sha256(about + b"\n" + body).hexdigest().encode()
    forged = about + b',"sha256":"' + digest + b'"}\n' + body + b"\n"

    with pytest.raises(UnknownCodecError, match="'pickle'"):
        decode_step(forged, TYPES)


def test_two_records_are_not_one() -> None:
    with pytest.raises(BadCheckpointError, match="bytes after its end"):
        decode_step(encode_step(STEP, TYPES) * 2, TYPES)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"writer"', b'"author"'),
        (b'"length":', b'"length":-'),
        (b'"length":', b'"length":0.'),
        (b'"codec":"json"', b'"codec":null'),
        (b'"codec"', b'"writer"'),
        (b"checkpoint 1", b"checkpoint 01"),
        (b"checkpoint 1", b"checkpoint x"),
        (b'"sha256"', b'"sha1"'),
    ],
)
def test_header_that_nobody_writes_is_refused(old, new) -> None:
    with pytest.raises(BadCheckpointError, match="the header"):
        decode_step(encode_step(STEP, TYPES).replace(old, new, 1), TYPES)


def test_header_without_an_end_is_refused() -> None:
    with pytest.raises(BadCheckpointError, match="the header does not end"):
        decode_step(b"refengine-checkpoint 1 " + b"x" * MAX_HEADER, TYPES)


# What stands in the body


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("[]", "is not a step"),
        ("null", "is not a step"),
        (body_of(more=1), "more: Extra inputs"),
        (body_of(**{f"k{n}": 0 for n in range(9)}), "has more keys than there are"),
        (body_of(seq="0"), "seq: Input should be a valid integer"),
        (body_of(seq=True), "seq: Input should be a valid integer"),
        (body_of(seq=2**63), "seq: Input should be less than"),
        (body_of(iteration=1.0), "iteration: Input should be a valid integer"),
        (body_of(gone="ab"), "gone: Value error, is not a list"),
        (body_of(gone=["a", 1]), "gone: Value error, is not a list"),
        (body_of(locals=[]), "locals: Value error, is not an object"),
        (body_of(locals={"a": 1}, gone=["a"]), "locals has 'a', which is gone"),
        (body_of(point={"phase": "x"}), "point.phase: Input should be"),
        (body_of(point={"phase": "end", "status": ["a", "b"]}), "point.status: Value"),
        (body_of(splice={"messages": [{"role": "user", "content": None}]}), "content"),
        (body_of(splice={"messages": [{"role": "x"}]}), "splice.messages.0.role"),
        (
            body_of(splice={"messages": {}}),
            "splice.messages: Input should be a valid l",
        ),
        (
            body_of(splice={"messages": [{"role": "user", "calls": [{"index": 1}]}]}),
            r"messages\[0\] is a message with an index",
        ),
        (
            body_of(
                point={
                    "phase": "end",
                    "entries": [{"hook": "", "owner": "", "chunks": [1]}],
                }
            ),
            r"entries\[0\].chunks\[0\] is not a chunk",
        ),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value,
)
def test_body_that_is_no_step_is_refused_with_the_place(body, why) -> None:
    with pytest.raises(BadCheckpointError, match=why):
        decode_step(record(body), TYPES)


@pytest.mark.parametrize("up", [0, 1, 2, 2**63 - 1])
def test_entry_is_within_one_that_stands_before_it(up) -> None:
    entry = {"hook": "h", "owner": "o"}
    point = {"phase": "model", "entries": [None, {**entry, "up": up}, entry]}

    with pytest.raises(BadCheckpointError, match=r"entries\[1\] is within one that"):
        decode_step(record(body_of(point=point)), TYPES)


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        ('{"seq":0,"seq":0}', BadCheckpointError, "a key stands twice"),
        ('{"seq":NaN}', BadCheckpointError, "NaN stands in it"),
        ('{"seq":-Infinity}', BadCheckpointError, "-Infinity stands in it"),
        ('{"seq":', BadCheckpointError, "the body is not JSON"),
        ('{"seq":"\n"}', BadCheckpointError, "the body is not JSON"),
        ('{"seq":%s}' % ("9" * 32), OversizedCheckpointError, "digits in a number"),
        ("[" * 129 + "]" * 129, TooDeepError, "129 levels deep, and the limit is 128"),
        ('{"":' * 200_000 + "1" + "}" * 200_000, TooDeepError, "200,000 levels"),
        ("[" + "1," * 2_000_000 + "1]", OversizedCheckpointError, "2,000,002 values"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_text_that_readers_would_disagree_about_is_refused(text, error, why) -> None:
    with pytest.raises(error, match=why):
        decode_step(record(text), TYPES)


def test_brackets_in_a_text_are_not_levels() -> None:
    hard = '[{"\\"' * 1000
    step = dataclasses.replace(STEP, locals={hard: hard})

    assert decode_step(encode_step(step, TYPES), TYPES) == step


def test_body_that_is_not_ascii_is_refused() -> None:
    data = sealed(json.dumps(body_of()).encode().replace(b"hi", b"h\xc3"), "", "")

    with pytest.raises(BadCheckpointError, match="the body is not JSON"):
        decode_step(data, TYPES)


def test_length_beyond_the_limit_is_refused_before_anything_is_read() -> None:
    data = b'refengine-checkpoint 1 {"writer":"","codec":"json","types":"","length":%d,'
    data = data % 10**12 + b'"sha256":"' + b"0" * 64 + b'"}\n'

    with pytest.raises(OversizedCheckpointError, match="1,000,000,000,000 bytes"):
        decode_step(data, TYPES)


def test_float_that_becomes_infinite_is_refused() -> None:
    body = json.dumps(body_of(locals={"k": "@"})).replace('"@"', "1e999")

    with pytest.raises(BadTreeError, match=r"locals\['k'\] is inf"):
        decode_step(record(body), TYPES)


def test_unknown_type_tells_that_other_types_were_registered() -> None:
    written = encode_step(samples()["values"], sample_types(), writer=WRITER)

    with pytest.raises(UnknownTypeError) as caught:
        decode_step(written, TYPES)
    error = caught.value
    assert (error.name, error.path) == ("note", "locals['own']")
    assert str(error).endswith(
        "(it was written by 'refengine golden' with other types registered)"
    )


def test_unknown_types_are_written_again_as_they_were_if_asked_for() -> None:
    types = Types(keep_unknown=True)
    written = encode_step(samples()["values"], sample_types(), writer=WRITER)
    again = encode_step(decode_step(written, types), types, writer=WRITER)

    assert opened(again).body == opened(written).body


def test_error_tree_of_the_codec_is_the_real_one() -> None:
    drawn = [
        line.split()[1]
        for line in (state_errors.__doc__ or "").splitlines()
        if "── " in line
    ]
    made = [
        name
        for name, value in vars(state_errors).items()
        if isinstance(value, type) and value.__module__ == state_errors.__name__
    ]
    made.remove("StateError")  # the root of its branch

    assert drawn == made


def test_importing_state_loads_neither_pydantic_nor_sqlite() -> None:
    code = "import sys, refengine.state; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert {"pydantic", "sqlite3"}.isdisjoint(done.stdout.split())
