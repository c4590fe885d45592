"""Two requests match if and only if they mean the same, up to made-up names."""

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.wire.canonical import canonical_request, canonical_response
from compat.wire.exchanges import Request, Response
from compat.wire.json_trees import first_difference
from tests.wire_support import EVENTS, JSON, URL, corpus

CALLS: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "call_a",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"x": 1, "y": [2]}'},
                },
                {
                    "id": "call_b",
                    "type": "function",
                    "function": {"name": "add", "arguments": "{}"},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "call_b", "content": "3"},
        {"role": "tool", "tool_call_id": "call_a", "content": "4"},
    ]
}
RESPONSES = {
    "previous_response_id": "resp_1",
    "input": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "add",
            "arguments": '{"a":1,"b":2}',
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "3"},
        {"type": "item_reference", "id": "msg_1"},
    ],
}
ANTHROPIC = {
    "messages": [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"id": 1}}
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1"}],
        },
    ]
}
BEDROCK = {
    "messages": [
        {"content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]},
        {"content": [{"toolResult": {"toolUseId": "t1", "content": []}}]},
    ]
}
GEMINI = {
    "contents": [
        {"parts": [{"functionCall": {"id": "g1", "name": "f", "args": {"id": "x"}}}]},
        {"parts": [{"functionResponse": {"id": "g1", "name": "f", "response": {}}}]},
    ]
}
TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "type", "name", "arguments", "call_id", "a"]), inner
        )
    ),
    max_leaves=12,
)


def form(content, headers=JSON, url=URL, method="POST"):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return canonical_request(Request(method, url, headers, data))


def difference(one, other):
    found = first_difference(one, other)
    assert found is not None
    return found


def same(one, other, **more):
    return form(one, **more).digest == form(other, **more).digest


def swapped(tree, old, new):
    return json.loads(json.dumps(tree).replace(old, new))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a": 1, "b": 2}', b'{"b":2,\n"a":1}'),
        (b'{"a": "\\u00fc"}', '{"a": "ü"}'.encode()),
        (b'{"a": 1.0}', b'{"a": 1.00}'),
        (b'{"a": 1e2}', b'{"a": 100.0}'),
    ],
)
def test_ways_to_write_one_json_match(one, other):
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (0, False),
        (1.0, True),
        ("1", 1),
        (None, ""),
        (None, False),
        ([], {}),
        ([1, 2], [2, 1]),
        ({"a": None}, {}),
        ("a", "a "),
        ("\u00fc", "u\u0308"),
        (0.0, -0.0),
    ],
)
def test_types_and_values_are_strict(one, other):
    assert not same({"x": one}, {"x": other})
    found = difference(form({"x": one}).tree, form({"x": other}).tree)
    assert found.path.startswith("body.json.x")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a": 1, "a": 2}', b'{"a": 2}'),
        (b'{"a": 1e999}', b'{"a": 2e999}'),
        (b'{"a": NaN}', b'{"a": Infinity}'),
        (b'{"a": 1', b'{"a":1'),
        (b"[" * 101 + b"]" * 101, b"[" * 101 + b" " + b"]" * 101),
    ],
)
def test_json_without_one_meaning_is_compared_byte_by_byte(one, other):
    assert not same(one, other)
    assert same(one, one)


@pytest.mark.parametrize(
    "tree", [CALLS, RESPONSES, ANTHROPIC, BEDROCK, GEMINI], ids=str
)
def test_arguments_and_ids_of_calls_match_up_to_renaming(tree):
    text = json.dumps(tree)
    for name in ["call_a", "call_b", "call_1", "resp_1", "rs_1", "fc_1", "msg_1"]:
        text = text.replace(f'"{name}"', f'"made_up_{name[::-1]}"')
    for name in ["toolu_1", "t1", "g1"]:
        text = text.replace(f'"{name}"', f'"{name}x"')

    assert json.loads(text) != tree
    assert same(tree, json.loads(text))


def test_ids_that_change_places_differ():
    other = copy.deepcopy(CALLS)
    other["messages"][2]["tool_call_id"] = "call_a"
    other["messages"][3]["tool_call_id"] = "call_b"

    assert not same(CALLS, other)


def test_one_id_for_two_calls_differs_from_two_ids():
    assert not same(CALLS, swapped(CALLS, "call_b", "call_a"))
    assert not same(swapped(CALLS, "call_b", "call_a"), CALLS)


@pytest.mark.parametrize(
    "arguments", ['{"y": [2], "x": 1}', ' {"x":1,\n"y":[2]} ', '{"x":1,"y":[2]}']
)
def test_arguments_match_by_their_meaning(arguments):
    other = copy.deepcopy(CALLS)
    other["messages"][1]["tool_calls"][0]["function"]["arguments"] = arguments

    assert same(CALLS, other)


@pytest.mark.parametrize(
    "arguments",
    ['{"x": 1.0, "y": [2]}', '{"x": true, "y": [2]}', '{"x": 1}', "", "{", {"x": 1}],
)
def test_arguments_that_mean_something_else_differ(arguments):
    other = copy.deepcopy(CALLS)
    other["messages"][1]["tool_calls"][0]["function"]["arguments"] = arguments

    assert not same(CALLS, other)
    found = difference(form(CALLS).tree, form(other).tree)
    assert ".messages[1].tool_calls[0].function.arguments" in found.path


def test_arguments_given_as_an_object_differ_from_their_text():
    text = {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
    tree = {"tool_calls": [{"function": {"name": "f", "arguments": {}}}]}

    assert not same(text, tree)


@pytest.mark.parametrize(
    "tree",
    [
        {"messages": [{"role": "tool", "content": '{"a": 1, "b": 2}'}]},
        {"tools": [{"function": {"name": "f", "parameters": {"call_id": "{}"}}}]},
        {"prompt": {"id": "pmpt_1"}},
        {"metadata": {"call_id": "x"}},
        {
            "messages": [
                {
                    "content": [
                        {"type": "tool_use", "name": "f", "input": {"call_id": "x"}}
                    ]
                }
            ]
        },
        {"function": {"name": "f", "arguments": '{"call_id": "x"}'}},
    ],
    ids=str,
)
def test_what_a_tool_or_user_means_is_not_renamed(tree):
    found = form(tree).tree["body"]["json"]

    assert "id-1" not in json.dumps(found)


@pytest.mark.parametrize("kind", ["application/json", "application/vnd.api+json"])
@pytest.mark.parametrize("option", ["", "; charset=utf-8"])
def test_every_kind_of_json_is_read(kind, option):
    headers = {"content-type": (kind.upper() + option,)}

    assert same(b'{"a":1}', b'{"a": 1}', headers=headers)


def test_json_without_a_type_is_read():
    assert same(b'{"a":1}', b'{"a": 1}', headers={})


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "x/json"])
def test_other_bodies_are_compared_byte_by_byte(kind):
    headers = {"content-type": (kind,)}

    assert not same(b'{"a":1}', b'{"a": 1}', headers=headers)
    assert not same(b"\xff", b"\xfe", headers=headers)
    assert not same(b"\xff", b"ff", headers=headers)


def test_bytes_differ_from_the_text_of_their_digits():
    one = form(b"\xff", headers={"content-type": ("text/plain",)})
    other = form(b'{"hex": "ff"}', headers={"content-type": ("text/plain",)})

    assert one.digest != other.digest


def test_forms_match_by_key_with_the_order_of_their_values():
    headers = {"content-type": ("application/x-www-form-urlencoded",)}

    assert same(b"a=1&b=2&a=3", b"b=2&a=1&a=3", headers=headers)
    assert not same(b"a=1&a=3", b"a=3&a=1", headers=headers)
    assert not same(b"a=1", b"a=1&b=", headers=headers)


def test_multipart_bodies_match_whatever_their_boundary():
    one, other = (
        Request(
            "POST",
            URL,
            {"content-type": (f"multipart/form-data; boundary={name}",)},
            f"--{name}\r\n\r\n{{}}\r\n--{name}--".encode(),
        )
        for name in ("abc", "defg")
    )

    assert canonical_request(one).digest == canonical_request(other).digest


@pytest.mark.parametrize(
    ("one", "other", "match"),
    [
        ("https://a.example/x", "https://A.EXAMPLE:443/x", True),
        ("https://a.example", "https://a.example/", True),
        ("https://a.example/x?b=1&a=2", "https://a.example/x?a=2&b=1", True),
        ("https://a.example/x%3A0", "https://a.example/x:0", True),
        ("https://u:p@a.example/x", "https://a.example/x#part", True),
        ("https://a.example/x?a=1&a=2", "https://a.example/x?a=2&a=1", False),
        ("https://a.example/x?a=1", "https://a.example/x?a=01", False),
        ("https://a.example/x?a=", "https://a.example/x", False),
        ("https://a.example/x%2Fy", "https://a.example/x/y", False),
        ("https://a.example/x", "https://a.example/x/", False),
        ("https://a.example/x", "https://a.example/X", False),
        ("https://a.example/x", "http://a.example/x", False),
        ("https://a.example/x", "https://a.example:444/x", False),
        ("https://a.example/x", "https://b.example/x", False),
    ],
)
def test_addresses_match_by_what_they_mean(one, other, match):
    assert (form({}, url=one).digest == form({}, url=other).digest) is match


def test_method_counts_and_headers_do_not():
    agent = {**JSON, "user-agent": ("x",), "authorization": ("Bearer x",)}

    assert form({}).digest != form({}, method="PUT").digest
    assert form({}).digest == form({}, method="post", headers=agent).digest


def test_streams_match_up_to_the_ids_of_all_their_events():
    def stream(name):
        events = [
            {"id": name, "object": "chat.completion.chunk", "choices": []},
            {"id": name, "object": "chat.completion.chunk", "choices": [1]},
        ]
        lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        return Response(200, "OK", EVENTS, f"{lines}data: [DONE]\n\n".encode())

    one, other = stream("chatcmpl-1"), stream("chatcmpl-2")
    mixed = Response(200, "OK", EVENTS, one.body.replace(b"cmpl-1", b"cmpl-3", 1))

    assert canonical_response(one).digest == canonical_response(other).digest
    assert canonical_response(one).digest != canonical_response(mixed).digest


def test_difference_is_told_around_the_place_where_sides_part():
    found = difference({"a": "x" * 99 + "1"}, {"a": "x" * 99 + "2"})

    assert found.path == "a"
    assert found.recorded.endswith('xxx1"')
    assert len(found.recorded) < 120


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "a[1].b"),
        ({"a": 1}, {"b": 1}, "a"),
        ({"a": [1]}, {"a": [1, 2]}, "a[1]"),
        ({"a": [None]}, {"a": []}, "a[0]"),
        ({"a": []}, {"a": {}}, "a"),
    ],
)
def test_first_difference_has_a_path(one, other, path):
    assert difference(one, other).path == path
    assert first_difference(one, one) is None


@given(TREES, TREES)
def test_forms_match_exactly_if_no_difference_is_found(one, other):
    forms = form({"x": one}), form({"x": other})

    assert (first_difference(forms[0].tree, forms[1].tree) is None) == (
        forms[0].digest == forms[1].digest
    )


@given(TREES)
def test_form_does_not_depend_on_the_order_of_keys(tree):
    def turned(each):
        if isinstance(each, dict):
            return {key: turned(each[key]) for key in reversed(each)}
        return [turned(part) for part in each] if isinstance(each, list) else each

    assert same({"x": tree, "y": 1}, {"y": 1, "x": turned(tree)})


def without_ids(tree):
    """Take out what the vendors of these files give calls for a name."""
    return re.sub(r"'(call_|toolu_|fc_|rs_|msg_)?[A-Za-z0-9]{9,}'", "''", repr(tree))


def test_no_two_requests_of_a_recorded_session_match_by_chance():
    from compat.wire.cassette_files import read_cassette

    for path in corpus():
        exchanges = read_cassette(path)
        digests = {canonical_request(each.request).digest for each in exchanges}
        raw = {
            (each.request.url, without_ids(json.loads(each.request.body)))
            for each in exchanges
        }
        assert len(digests) == len(raw)
