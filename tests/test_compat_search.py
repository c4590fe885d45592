"""The long search for COMPAT: what it says and how it ends."""

import pytest

from refengine.profile import PROFILES
from refengine.testing import Divergence
from tools import adapted


def test_a_search_tells_how_many_worlds_it_compared(capsys) -> None:
    code = adapted.main(["--examples", "5", "--profile", "eino-0.7"])

    assert code == 0
    assert capsys.readouterr().out.startswith(
        "eino-0.7, without handlers: 5 worlds, no divergence, "
    )


def test_a_search_covers_every_profile_and_handlers_where_compat_promises_them() -> (
    None
):
    assert {name for name, _ in adapted.SEARCHES} == {p.name for p in PROFILES}
    assert {name for name, handlers in adapted.SEARCHES if handlers} == {
        "seed-001",
        "ai-sdk-4",
        "ai-sdk-5",
        "eino-draft",
        "langgraph-prebuilt-1",
    }


def test_a_found_world_is_told_shrunk(capsys, monkeypatch) -> None:
    def differs(scenario, under):
        return Divergence(0, ".x", 1, 2)

    monkeypatch.setattr(adapted, "adapting_divergence", differs)
    code = adapted.main(["--examples", "5", "--profile", "eino-0.8"])
    told = capsys.readouterr().out

    assert code == 1
    assert "eino-0.8, without handlers: DIFFERS" in told
    assert "observation 0 .x: 1 ≠ 2" in told
    assert '"runs":[{"input":["user:a"]}]' in told


@pytest.mark.parametrize("wrong", [["--examples", "0"], ["--profile", "eino-1"]])
def test_an_empty_search_is_refused(wrong, capsys) -> None:
    with pytest.raises(SystemExit) as left:
        adapted.main(wrong)

    assert left.value.code == 2
    assert wrong[0] in capsys.readouterr().err
