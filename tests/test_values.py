"""Which values last: each comes back of its own types at each depth, or is refused."""

import enum
import json
from collections import OrderedDict, deque
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator

from refengine.errors import NotKeepableError, Refused
from refengine.messages import NOTHING, FrozenDict, Message
from refengine.state import errors, packing
from refengine.state.errors import BadTreeError, DecodeError, UnknownTypeError
from refengine.state.packing import MAX_DEPTH
from refengine.state.values import Opaque, Types
from tests.state_samples import Money, Mood, Note, sample_types
from tests.state_strategies import EXTRAS, VALUES, searching, strictly_equal


def back(value, types=None) -> Any:
    """Return the value as it comes back, through the JSON text that is kept."""
    types = types or Types()
    text = json.dumps(types.pack(value), allow_nan=False)

    assert text.isascii()
    return types.unpack(json.loads(text))


def unpacked(types, tree) -> Any:
    """Return what a tree is unpacked to."""
    return types.unpack(tree)


def refused(value, types=None, at="value"):
    """Return the path, the type and the advice that a value is refused with."""
    with pytest.raises(Refused) as caught:
        (types or Types()).pack(value, at=at)
    error = caught.value
    assert str(error) == f"{error.path} ({error.got}) cannot be kept: {error.advice}"
    return error.path, error.got, error.advice


class Zone(tzinfo):
    """A time zone that only its class knows."""


class Level(enum.IntEnum):
    LOW = 1


class Name(str):
    __slots__ = ()


class Pair(NamedTuple):
    a: int
    b: int


STRANGE = timezone(timedelta(hours=5, seconds=7), "somewhere")


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        1,
        -(2**63),
        2**63 - 1,
        0.0,
        -0.0,
        1.0,
        5e-324,
        1.7976931348623157e308,
        0.00012345678901234567,
        "",
        "é\N{GRINNING FACE}\x00\u2028",
        "\ud800",
        "\ude00\ud83d",
        "\ud83d\ude00",  # noqa: PT014  # surrogates are one to the linter
        "\ud83d\N{GRINNING FACE}\ude00",
        [],
        {},
        (),
        (1, (2, [3, (4,)])),
        [1, True, 1.0, "1"],
        {"1": 1, "": {}},
        {1, 2},
        set(),
        frozenset({"a", ("b", frozenset())}),
        b"",
        b"\x00\xff",
        datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
        datetime(2026, 10, 25, 2, 30, fold=1),  # noqa: DTZ001  # as users have them
        datetime(2026, 1, 2, tzinfo=STRANGE),
        date(1, 1, 1),
        time(23, 59, 59, 999999, fold=1),
        time(0, 0, tzinfo=UTC),
        timedelta(days=-999999999),
        timedelta(microseconds=1),
        Decimal("0.10"),
        Decimal("-0"),
        Decimal("1E+400000"),
        UUID(int=2**127),
        FrozenDict({"a": (1, FrozenDict({}))}),
    ],
)
def test_value_comes_back_equal_and_of_its_types(value) -> None:
    found = back(value)

    assert strictly_equal(found, value)


@given(VALUES)
@searching(80)
def test_any_value_comes_back_equal_and_of_its_types(value) -> None:
    assert strictly_equal(back(value, sample_types()), value)


@given(EXTRAS)
@searching(60)
def test_any_extra_of_a_message_comes_back_as_it_stands_there(extra) -> None:
    types = sample_types()
    message = Message("user", extra=extra)
    tree = json.loads(json.dumps(types.pack_extra(message.extra)))

    assert strictly_equal(types.unpack_extra(tree), FrozenDict(message.extra))


@pytest.mark.parametrize("zone", [None, UTC, STRANGE, timezone(timedelta(0), "UTC2")])
def test_time_zones_come_back_with_their_names(zone) -> None:
    found = back(datetime(2026, 1, 1, tzinfo=zone)).tzinfo

    assert found == zone
    assert repr(found) == repr(zone)


@pytest.mark.parametrize(
    ("value", "got", "advice"),
    [
        (float("nan"), "float", "JSON has no nan: keep None or a text instead"),
        (float("inf"), "float", "JSON has no inf: keep None or a text instead"),
        (2**63, "int", "an integer has at most 64 bits: keep str(value)"),
        (2**64, "int", "an integer has at most 64 bits: keep str(value)"),
        (-(2**63) - 1, "int", "an integer has at most 64 bits: keep str(value)"),
        (Decimal("NaN"), "Decimal", "it is not a number: keep None or a text instead"),
        (Decimal("-Infinity"), "Decimal", "it is not a number"),
        (Level.LOW, "Level", "types.register_enum('level', Level)"),
        (Mood.CALM, "Mood", "types.register_enum('mood', Mood)"),
        (Note("", frozenset(), Mood.CALM), "Note", "types.register_dataclass('note'"),
        (OrderedDict(), "OrderedDict", "use dict(value), or name its class"),
        (Pair(1, 2), "Pair", "use tuple(value), or name its class"),
        (Name("x"), "Name", "use str(value), or name its class"),
        (deque(), "deque", "use plain values, or name its class: types.register("),
        (object(), "object", "types.register('object', object, encode=..., decode="),
        (print, "builtin_function_or_method", "use plain values"),
        (1j, "complex", "use plain values"),
        (bytearray(b""), "bytearray", "use plain values"),
        (range(3), "range", "use plain values"),
    ],
)
def test_value_that_would_not_come_back_is_refused(value, got, advice) -> None:
    path, found, told = refused([value], at="")

    assert (path, found) == ("[0]", got)
    assert advice in told


@pytest.mark.parametrize(
    "key", [1, None, True, 1.5, (1,), b"k", Name("k"), "\ud83d\ude00"]
)
def test_key_that_is_not_exactly_str_is_refused(key) -> None:
    path, got, _ = refused({"a": {key: 1}})

    assert (path, got) == (f"value['a'][{key!r}]", type(key).__name__)


def test_zone_that_is_no_fixed_offset_is_refused() -> None:
    path, got, advice = refused({"at": datetime(2026, 1, 1, tzinfo=Zone())})

    assert (path, got) == ("value['at'].tzinfo", "Zone")
    assert "value.astimezone(timezone.utc)" in advice


def test_path_goes_through_every_kind_of_container() -> None:
    types = sample_types()
    types.register_dataclass("deep", Deep)
    bad = Deep([{"k": ({(1, object)},)}])

    assert refused([bad], types)[0] == f"value[0].inner[0]['k'][0]{{(1, {object})}}[1]"


@dataclass
class Deep:
    inner: object


def test_what_contains_itself_is_refused_with_its_path() -> None:
    loop = {"a": []}
    loop["a"].append((loop,))

    assert refused(loop)[::2] == (
        "value['a'][0][0]",
        "it contains itself: keep an id",
    )


@pytest.mark.parametrize("levels", [MAX_DEPTH, MAX_DEPTH + 1, 100_000])
def test_depth_is_limited_and_never_overflows(levels) -> None:
    value = None
    for _ in range(levels):
        value = [value]

    if levels <= MAX_DEPTH:
        assert back(value) == value
    else:
        assert "more than 100 levels deep" in refused(value)[2]


def test_what_fans_out_is_refused_before_it_fills_the_memory(monkeypatch) -> None:
    monkeypatch.setattr(packing, "MAX_ITEMS", 10_000)
    value = []
    for _ in range(64):
        value = [value, value]

    assert "more than 10,000 values" in refused(value)[2]


def test_little_call_stack_is_an_error_by_name() -> None:
    value = None
    for _ in range(MAX_DEPTH):
        value = [value]

    def deeper(pack):
        try:
            return deeper(pack)
        except RecursionError:
            return pack()

    with pytest.raises(Refused, match="call stack"):
        deeper(lambda: Types().pack(value))


@pytest.mark.parametrize(
    "value",
    [
        {"$type": "set", "$version": 1, "$data": [1]},
        {"$": 1, "$$": 2, "$$$type": 3},
        {"a": {"$type": {"$type": "tuple"}}},
        ({"$data": ()},),
    ],
)
def test_keys_of_a_user_are_never_a_tag(value) -> None:
    assert strictly_equal(back(value), value)
    assert strictly_equal(back(back(value)), value)


def test_what_comes_back_shares_nothing() -> None:
    inner = [1]
    types = Types()
    tree = types.pack({"a": inner, "b": inner})
    one, other = unpacked(types, tree), unpacked(types, tree)

    inner.append(2)
    one["a"].append(3)
    assert one == {"a": [1, 3], "b": [1]}
    assert other == {"a": [1], "b": [1]}


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        (float("inf"), "value is inf, which is never packed so"),
        (2**63, "value is 9223372036854775808, which is never packed so"),
        ([(1,)], r"value\[0\] is \(1,\), which is never packed so"),
        ({"$x": 1}, r"value has the key '\$x'"),
        ({"$type": "set"}, "value has a tag without name, version or data"),
        (
            {"$type": "set", "$version": 1, "$data": [], "x": 1},
            "value has a tag without name, version or data",
        ),
        ({"a": {"$type": 1, "$version": 1, "$data": []}}, r"value\['a'\] has a tag"),
        ({"$type": "", "$version": 1, "$data": []}, "a name or a version of 1 or more"),
        ({"$type": "set", "$version": 0, "$data": []}, "or a version of 1 or more"),
        ({"$type": "set", "$version": True, "$data": []}, "has a tag without"),
    ],
)
def test_tree_that_was_never_packed_is_refused(tree, why) -> None:
    with pytest.raises(BadTreeError, match=why):
        Types().unpack(tree, at="value")


def test_deep_tree_is_refused() -> None:
    tree = None
    for _ in range(100_000):
        tree = [tree]

    with pytest.raises(BadTreeError, match="more than 100 levels"):
        Types().unpack(tree)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("set", [[]]),
        ("set", [1, True]),
        ("tuple", 1),
        ("frozendict", [["a", 1]]),
        ("bytes", "é"),
        ("bytes", "AA=="[:3]),
        ("bytes", "AB=="),
        ("datetime", "2026-01-01"),
        ("datetime", ["2026-01-01", None, 0]),
        ("datetime", ["2026-01-01T00:00:00", [[0, 0, 0.5]], 0]),
        ("datetime", ["2026-01-01T00:00:00", [[9, 0, 0]], 0]),
        ("datetime", ["2026-01-01T00:00:00", None, 2]),
        ("date", "20260101"),
        ("time", ["24:00:00", None, 0]),
        ("timedelta", [0, 86400, 0]),
        ("timedelta", [True, 0, 0]),
        ("timedelta", [10**10, 0, 0]),
        ("decimal", "NaN"),
        ("decimal", " 1"),
        ("decimal", 1),
        ("uuid", "{00000000-0000-0000-0000-000000000000}"),
        ("str", ["a", "b"]),
        ("str", "a"),
        ("mood", "ANGRY"),
        ("mood", 1),
        ("note", {}),
        ("note", {"text": "", "tags": 1, "mood": 1, "more": 1}),
        ("money", [1]),
    ],
)
def test_data_that_no_value_has_is_an_error_by_name(name, data) -> None:
    tree = {"k": [{"$type": name, "$version": 1, "$data": data}]}

    with pytest.raises(DecodeError) as caught:
        sample_types().unpack(tree, at="locals")
    error = caught.value
    assert (error.name, error.version, error.path) == (name, 1, "locals['k'][0]")


ALIKE = [UUID(int=at * (2**61 - 1)) for at in range(1001)]


def test_members_that_were_made_to_have_one_hash_are_not_compared() -> None:
    data = [Types().pack(each) for each in ALIKE]
    tree = {"$type": "set", "$version": 1, "$data": data}

    assert len({hash(each) for each in ALIKE}) == 1
    with pytest.raises(DecodeError, match="over 1,000 members have one hash"):
        Types().unpack(tree)


@pytest.mark.parametrize("kind", [set, frozenset])
def test_set_that_would_not_be_read_is_refused(kind) -> None:
    assert back(kind(ALIKE[1:])) == kind(ALIKE[1:])
    assert "over 1,000 members have one hash" in refused(kind(ALIKE))[2]


def test_unknown_type_is_an_error_with_name_version_and_path() -> None:
    tree = {"k": [{"$type": "plan", "$version": 3, "$data": None}]}

    with pytest.raises(UnknownTypeError) as caught:
        Types().unpack(tree, at="locals")
    error = caught.value
    assert (error.name, error.version, error.path) == ("plan", 3, "locals['k'][0]")
    assert error.known is None
    assert "no such type" in str(error)


def test_newer_version_of_a_type_is_an_error_with_both() -> None:
    tree = {"$type": "note", "$version": 2, "$data": None}

    with pytest.raises(UnknownTypeError, match="has version 1 of it"):
        sample_types().unpack(tree)


@pytest.mark.parametrize("name", ["plan", "set"])
def test_unknown_value_is_kept_as_it_was_if_asked_for(name) -> None:
    types = Types(keep_unknown=True)
    tag = {
        "$type": name,
        "$version": 2,
        "$data": {"$x": [{"$type": "y"}, 1.0, "\ud800"]},
    }
    found = unpacked(types, [tag, {"$type": "tuple", "$version": 1, "$data": [tag]}])

    assert found[0] == found[1][0] == Opaque(name, 2, json.dumps(tag["$data"]))
    assert json.dumps(types.pack(found[0])) == json.dumps(tag)


def test_unknown_value_can_stand_in_a_set() -> None:
    types = Types(keep_unknown=True)
    tag = {"$type": "plan", "$version": 1, "$data": {"a": 1}}
    tree = {"$type": "set", "$version": 1, "$data": [tag]}

    assert types.pack(types.unpack(tree)) == tree


@pytest.mark.parametrize(
    ("opaque", "keep", "why"),
    [
        (Opaque("set", 1, "[]"), True, "this registry knows that type"),
        (Opaque("plan", 1, "[]"), False, r"Types\(keep_unknown=True\)"),
        (Opaque("plan", 1, "["), True, "its text is not JSON"),
    ],
)
def test_opaque_value_that_would_not_come_back_is_refused(opaque, keep, why) -> None:
    with pytest.raises(Refused, match=why):
        Types(keep_unknown=keep).pack(opaque)


# Registering


def money_types(**more):
    types = Types()
    types.register(
        "money",
        Money,
        encode=lambda money: money.cents,
        decode=lambda cents: Money(cents, "EUR"),
        **more,
    )
    return types


@pytest.mark.parametrize("name", ["", "$x", "a$b", None, 1])
def test_name_of_a_type_is_a_text_without_dollar(name) -> None:
    with pytest.raises(errors.TypeNameError, match="type name"):
        Types().register(name, Money, encode=repr, decode=repr)


def test_name_stands_for_one_class() -> None:
    with pytest.raises(errors.TypeTakenError, match="Money has that name"):
        money_types().register_dataclass("money", Note)


def test_class_has_one_name() -> None:
    with pytest.raises(errors.TypeTakenError, match="it is 'money' already"):
        money_types().register_dataclass("cash", Money)


@pytest.mark.parametrize("name", ["set", "str"])
def test_built_in_names_are_taken(name) -> None:
    with pytest.raises(errors.TypeTakenError):
        Types().register(name, Money, encode=repr, decode=repr)


@pytest.mark.parametrize("cls", [int, dict, list, Opaque, list[int], "Money", None])
def test_plain_types_and_no_classes_are_not_registered(cls) -> None:
    with pytest.raises(errors.UnfitTypeError):
        Types().register("x", cls, encode=repr, decode=repr)


@pytest.mark.parametrize(
    "use",
    [
        lambda types: types.pack(1),
        lambda types: types.unpack(1),
        lambda types: types.check_extra({"a": 1}),
        lambda types: types.fingerprint,
    ],
)
def test_registry_is_frozen_by_its_first_use(use) -> None:
    types = Types()
    use(types)

    with pytest.raises(errors.TypesFrozenError, match="'money' is registered after"):
        types.register("money", Money, encode=repr, decode=repr)


@pytest.mark.parametrize(
    ("version", "upgrades"),
    [(0, ()), (2, ()), (3, (1,)), (3, (2,)), (2, (1, 2)), (1, (1,)), (True, ())],
)
def test_each_earlier_version_has_one_upgrade(version, upgrades) -> None:
    with pytest.raises(errors.UpgradesError, match="one upgrade from each version"):
        money_types(version=version, upgrades=dict.fromkeys(upgrades, repr))


def test_fingerprint_is_of_names_and_versions() -> None:
    assert Types().fingerprint == "b4028cf29d9a1d0b"
    assert money_types().fingerprint == money_types().fingerprint
    assert money_types(version=2, upgrades={1: repr}).fingerprint not in {
        Types().fingerprint,
        money_types().fingerprint,
    }


def test_older_versions_are_upgraded_step_by_step() -> None:
    upgrades = {1: lambda cents: [cents], 2: lambda data: [*data, "EUR"]}
    types = Types()
    types.register(
        "money",
        Money,
        version=3,
        encode=lambda money: [money.cents, money.currency],
        decode=lambda data: Money(*data),
        upgrades=upgrades,
    )
    trees = [
        {"$type": "money", "$version": 1, "$data": 5},
        {"$type": "money", "$version": 2, "$data": [5]},
        {"$type": "money", "$version": 3, "$data": [5, "EUR"]},
    ]

    assert types.unpack(trees) == [Money(5, "EUR")] * 3
    assert types.pack(Money(5, "EUR")) == trees[2]


def test_upgrade_that_raises_is_an_error_by_name() -> None:
    types = money_types(version=2, upgrades={1: lambda data: data["cents"]})
    tree = {"$type": "money", "$version": 1, "$data": 5}

    with pytest.raises(
        DecodeError, match="'money' of version 1: reading it raised Type"
    ):
        types.unpack(tree)


def test_decode_that_gives_another_class_is_an_error_by_name() -> None:
    types = Types()
    types.register("money", Money, encode=lambda _: 1, decode=lambda _: None)

    with pytest.raises(DecodeError, match="decode gave NoneType, not Money"):
        types.unpack({"$type": "money", "$version": 1, "$data": 1})


@pytest.mark.parametrize(
    ("encode", "decode", "why"),
    [
        (lambda _: 1 / 0, repr, "encode of 'money' raised ZeroDivisionError"),
        (lambda _: 1, lambda _: 1 / 0, "reading it raised ZeroDivisionError"),
        (lambda money: money, repr, "100 levels|contains itself"),
        (lambda _: {1: 2}, repr, "keys are exactly str"),
        (
            lambda money: money.cents,
            lambda cents: Money(cents + 1, ""),
            "comes back changed at .* 1 became 2",
        ),
    ],
)
def test_value_whose_code_does_not_give_it_back_is_refused(encode, decode, why) -> None:
    types = Types()
    types.register("money", Money, encode=encode, decode=decode)

    with pytest.raises(Refused, match=why):
        types.pack({"k": Money(1, "EUR")})


# Dataclasses, enums and models


class Tint(enum.Flag):
    RED = 1
    BLUE = 2


@pytest.mark.parametrize("value", [Tint.RED, Tint.RED | Tint.BLUE, Tint(0)])
def test_flags_come_back_in_any_combination(value) -> None:
    types = Types()
    types.register_enum("tint", Tint)

    assert back(value, types) is value


def test_int_enum_comes_back_as_itself() -> None:
    types = Types()
    types.register_enum("level", Level)

    assert strictly_equal(back([Level.LOW, 1], types), [Level.LOW, 1])


@dataclass
class Counted:
    n: int
    made: int = field(init=False, default=0)


@dataclass
class Wanting:
    n: int
    seed: InitVar[int]


@dataclass
class Changing:
    n: int

    def __post_init__(self):
        self.n += 1


@pytest.mark.parametrize("cls", [Counted, Wanting, Mood, object])
def test_dataclass_that_is_not_made_of_its_fields_is_not_registered(cls) -> None:
    with pytest.raises(errors.UnfitTypeError):
        Types().register_dataclass("x", cls)


def test_dataclass_that_changes_when_it_is_made_is_refused() -> None:
    types = Types()
    types.register_dataclass("changing", Changing)

    with pytest.raises(Refused, match="comes back changed"):
        types.pack(Changing(1))


@dataclass
class Grown:
    n: int
    new: int = 0


@pytest.mark.parametrize("data", [{"n": 1}, {"n": 1, "new": 2, "old": 3}])
def test_field_that_came_or_went_is_an_error_and_no_default(data) -> None:
    types = Types()
    types.register_dataclass("grown", Grown)

    with pytest.raises(DecodeError, match=r"its fields are .* give an upgrade"):
        types.unpack({"$type": "grown", "$version": 1, "$data": data})


def test_order_of_fields_in_data_does_not_matter() -> None:
    types = Types()
    types.register_dataclass("grown", Grown)
    tree = {"$type": "grown", "$version": 1, "$data": {"new": 2, "n": 1}}

    assert types.unpack(tree) == Grown(1, 2)


class Part(BaseModel):
    n: float
    tags: tuple[str, ...] = ()


class Special(Part):
    more: int = 1


class Whole(BaseModel):
    model_config = ConfigDict(extra="allow")

    part: Part
    maybe: int | None = None
    named: list[str] = Field(default_factory=list, alias="Named")
    note: Note | None = None


def model_types():
    types = sample_types()
    for cls in (Part, Special, Whole):
        types.register_model(cls.__name__.lower(), cls)
    return types


def test_nested_models_come_back_of_their_classes() -> None:
    note = Note("x", frozenset(), Mood.CALM)
    value = Whole(
        part=Special(n=1.0, tags=("a",)), Named=["x"], note=note, own={"a": 1}
    )
    found = back({"m": value}, model_types())["m"]

    assert found == value
    assert type(found.part) is Special
    assert found.model_fields_set == value.model_fields_set
    assert found.model_extra == {"own": {"a": 1}}
    assert type(found.part.tags) is tuple


def test_field_of_a_model_that_cannot_be_kept_is_refused_with_its_path() -> None:
    bad = Whole(part=Part(n=1.0), own=[{object}])

    path, got, _ = refused([bad], model_types())
    assert (path, got) == (f"value[0].own[0]{{{object}}}", "type")


def test_model_is_validated_when_it_comes_back() -> None:
    data = {"fields": {"n": "many", "tags": []}, "set": ["n"]}

    with pytest.raises(
        DecodeError, match="'part' of version 1: reading it raised Valid"
    ):
        model_types().unpack({"$type": "part", "$version": 1, "$data": data})


def test_model_that_is_not_valid_is_refused() -> None:
    with pytest.raises(Refused, match="does not come back"):
        model_types().pack(Part.model_construct(n="many"))


class Trimming(BaseModel):
    text: str

    @field_validator("text")
    @classmethod
    def trimmed(cls, text: str) -> str:
        return text.strip()


def test_values_in_a_model_stay_as_they_were_kept() -> None:
    types = Types()
    types.register_model("trimming", Trimming)
    value = Trimming.model_construct(text=" x ")

    assert back(value, types).text == " x "


class Private(BaseModel):
    _own: int = 1


class Aliased(BaseModel):
    n: int = Field(validation_alias="m")


@pytest.mark.parametrize("cls", [Private, RootModel[int], Note, object])
def test_model_with_more_than_fields_is_not_registered(cls) -> None:
    with pytest.raises(errors.UnfitTypeError):
        Types().register_model("x", cls)


def test_model_with_an_alias_comes_back() -> None:
    types = Types()
    types.register_model("aliased", Aliased)

    assert back(Aliased(m=1), types) == Aliased(m=1)


# The extra of a message


def test_extra_is_refused_with_its_path() -> None:
    extra = Message("user", extra={"a": [{"b": object()}]}).extra

    with pytest.raises(Refused) as caught:
        Types().check_extra(extra, at="messages[3].extra")
    assert caught.value.path == "messages[3].extra['a'][0]['b']"


def test_extra_that_is_nothing_costs_nothing() -> None:
    assert Types().pack_extra(NOTHING) == {}
    assert Types().unpack_extra({}) == {}


@pytest.mark.parametrize(
    "tree", [[], None, {"$type": "set", "$version": 1, "$data": []}]
)
def test_extra_that_is_no_object_is_refused(tree) -> None:
    with pytest.raises(BadTreeError, match="extra is not an object"):
        Types().unpack_extra(tree)


def test_extra_that_contains_itself_is_refused() -> None:
    loop = []
    loop.append(loop)

    with pytest.raises(Refused, match="contains itself"):
        Types().check_extra({"a": loop})


# At the border


def test_border_says_whose_hook_put_it_in() -> None:
    with pytest.raises(Refused) as caught:
        Types().pack({"a": [object()]}, at="locals['plan']")
    error = caught.value.at("planner", "before_model_rewrite_history")

    assert isinstance(error, NotKeepableError)
    assert str(error).startswith(
        "before_model_rewrite_history of 'planner': locals['plan']['a'][0] (object)"
        " cannot be kept: use plain values, or name its class"
    )
    assert (error.handler, error.hook) == ("planner", "before_model_rewrite_history")


@pytest.mark.parametrize(
    ("handler", "hook", "begins"),
    [
        (None, None, "x (int)"),
        (None, "run", "run: x (int)"),
        ("h", None, "the caller of"),
    ],
)
def test_border_says_as_much_as_it_knows(handler, hook, begins) -> None:
    assert str(Refused("x", "int", "keep less").at(handler, hook)).startswith(begins)
