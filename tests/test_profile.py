"""Profiles: complete, or they do not load."""

from dataclasses import asdict, fields, replace
from typing import Any

import pytest

from refengine.errors import IncompleteProfileError, UnknownProfileError
from refengine.profile import (
    EINO_0_7,
    EINO_0_8,
    EINO_0_9,
    PROFILES,
    SEED_001,
    Profile,
    differences,
    options,
    profile,
    read_profiles,
)
from refengine.testing import ReferenceEngine, play, read_scenario, run


@pytest.mark.parametrize("each", PROFILES, ids=lambda each: each.name)
def test_every_profile_has_an_allowed_value_for_every_posture(each):
    assert {
        name: getattr(each, name) in allowed for name, allowed in options().items()
    } == (dict.fromkeys(options(), True))


def test_every_field_but_the_name_is_a_posture_with_options():
    assert set(options()) == {each.name for each in fields(Profile)} - {"name"}
    assert all(options().values())


def test_every_option_is_some_profile_s_choice():
    chosen = {name: {getattr(each, name) for each in PROFILES} for name in options()}

    assert chosen == {name: set(allowed) for name, allowed in options().items()}


def test_names_are_unique_and_find_their_profile():
    assert [profile(each.name) for each in PROFILES] == list(PROFILES)


@pytest.mark.parametrize("posture", options())
def test_a_profile_without_a_value_for_a_posture_does_not_load(posture):
    values = asdict(SEED_001)
    del values[posture]

    with pytest.raises(TypeError, match=posture):
        Profile(**values)


def test_a_table_that_lacks_a_posture_or_has_one_too_many_does_not_load():
    whole = "".join(f'{name} = "{getattr(SEED_001, name)}"\n' for name in options())

    assert list(read_profiles(f"[mine]\n{whole}")) == [replace(SEED_001, name="mine")]
    with pytest.raises(
        IncompleteProfileError, match="no value for posture route: give"
    ):
        list(read_profiles("[mine]\n" + whole.replace('route = "last_left"\n', "")))
    with pytest.raises(IncompleteProfileError, match="there is no posture 'colour'"):
        list(read_profiles(f'[mine]\n{whole}colour = "red"'))
    with pytest.raises(IncompleteProfileError, match="'mine', posture route: 'home'"):
        list(read_profiles("[mine]\n" + whole.replace("last_left", "home")))


@pytest.mark.parametrize("posture", options())
@pytest.mark.parametrize("value", ["", "BUILD", None, True])
def test_an_unknown_value_does_not_load(posture, value):
    with pytest.raises(IncompleteProfileError) as caught:
        Profile(**{**asdict(SEED_001), "name": "mine", posture: value})

    assert (caught.value.profile, caught.value.posture) == ("mine", posture)
    assert all(option in str(caught.value) for option in options()[posture])


def test_differences_name_the_posture_and_both_values():
    found = {posture: values for posture, *values in differences(EINO_0_8, EINO_0_9)}

    assert found == {
        "all_tools_removed": ["none_left", "advertised"],
        "null_tools": ["not_shown", "ignored"],
        "resumed_tools": ["of_this_run", "as_kept"],
        "changed_call_id": ["leaks_into_event", "ignored"],
        "after_agent": ["never", "on_success"],
        "struct_middleware": ["supported", "deprecated"],
    }


def test_a_profile_does_not_differ_from_itself():
    assert list(differences(SEED_001, SEED_001)) == []


def test_differences_read_the_other_way_round_swap_the_values():
    there = list(differences(SEED_001, EINO_0_7))
    back = list(differences(EINO_0_7, SEED_001))

    assert back == [(posture, b, a) for posture, a, b in there]


def test_an_unknown_profile_is_answered_with_the_nearest_name():
    with pytest.raises(UnknownProfileError, match=r"did you mean 'eino-0\.8'"):
        profile("eino-08")


def test_a_name_like_no_other_is_answered_with_all_names():
    with pytest.raises(UnknownProfileError) as caught:
        profile("x")

    assert caught.value.suggestion is None
    assert all(each.name in str(caught.value) for each in PROFILES)


@pytest.mark.parametrize("wrap", [{"new_input": True}, {}], ids=["new", "written"])
@pytest.mark.parametrize("under", ["langchain-1", "langgraph-prebuilt-1"])
def test_a_changed_call_id_that_is_taken_over_was_not_asked_for_in_vain(
    under: str, wrap: dict[str, Any]
) -> None:
    """A handler's input of its own says the old one, which no wrapper wrote there."""
    handler = {"wrap_invokable": {"set_input_call_id": "x1", **wrap}}
    scenario = read_scenario(
        {
            "agent": {"tools": [{"name": "t"}], "handlers": [handler]},
            "model_script": ["assistant:[c-1:t({})]", "assistant:a"],
            "runs": [{"input": ["user:a"]}],
        }
    )

    trace = run(play(scenario, ReferenceEngine(profile(under))))

    assert [each.call_id for each in trace.of("tool_start")] == ["x1"]
    assert not trace.of("ignored_change")
