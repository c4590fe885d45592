"""The net: what of two records differs, what may, and what is no record."""

import json
from pathlib import Path

import pytest

from tools.house import lines
from tools.net import NET, NetChange, main, parts, reasons

LANGCHAIN = {
    "exit code": "0",
    "MSG-008": "fail known | messages.extra of model_request | 1a2b3c4d",
    "ORD-001": "pass",
}
EXPLAINED = '[[explained]]\nwhat = "{}"\nwhy = "it is meant"\n'


@pytest.fixture
def compared(tmp_path, capsys):
    """Compare LANGCHAIN as it was with what it is; return the lines and the code."""

    def compare(now: dict[str, str], *options: str, explained: str = ""):
        for side, facts in (("old", LANGCHAIN), ("new", now)):
            (tmp_path / side).mkdir()
            text = json.dumps(facts)
            (tmp_path / side / "door-langchain.json").write_text(text, "utf-8")
        if explained:
            why = EXPLAINED.format(explained)
            (tmp_path / "old/explained.toml").write_text(why, "utf-8")
        sides = ("--net", str(tmp_path / "old"), "--new", str(tmp_path / "new"))
        code: object = 0
        try:
            main(["compare", *sides, *options])
        except SystemExit as ended:
            code = ended.code
        return capsys.readouterr().out.splitlines(), code

    return compare


def test_equal_nets_are_equal(compared) -> None:
    shown, code = compared(LANGCHAIN)

    assert shown == ["3 facts: 0 differ without a reason, 0 unused"]
    assert code == 0


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({"ORD-001": "fail | x | 1"}, "changed  {}ORD-001: was pass, is fail | x | 1"),
        ({"ORD-001": None}, "lost     {}ORD-001: was pass"),
        ({"ORD-002": "pass"}, "gained   {}ORD-002: is pass"),
        ({"exit code": "1"}, "changed  {}exit code: was 0, is 1"),
    ],
)
def test_what_changed_is_gone_or_is_new_differs(compared, now, told) -> None:
    facts = {k: v for k, v in {**LANGCHAIN, **now}.items() if v is not None}
    shown, code = compared(facts)

    assert shown[0] == told.format("door-langchain: ")
    assert shown[1:] == ["3 facts: 1 differ without a reason, 0 unused"]
    assert code == 1


@pytest.mark.parametrize(("options", "ended"), [((), 0), (("--signs",), 1)])
def test_what_another_world_shows_is_told_and_counts_when_asked(
    compared, options, ended
) -> None:
    by = "fail known | messages.extra of model_request | 55667788"
    shown, code = compared({**LANGCHAIN, "MSG-008": by}, *options)

    assert shown[0].startswith("by other door-langchain: MSG-008: was fail known | ")
    assert code == ended


def test_a_failure_that_is_no_longer_known_differs(compared) -> None:
    assert compared({**LANGCHAIN, "MSG-008": "fail | messages | 1"})[1] == 1


def test_a_difference_with_a_reason_is_told_with_it(compared) -> None:
    explained = "door-langchain: ORD-*"
    shown, code = compared({**LANGCHAIN, "ORD-001": "blocked"}, explained=explained)

    assert shown[0].endswith("was pass, is blocked (meant: it is meant)")
    assert code == 0


@pytest.mark.parametrize("what", ["door-langchain: ORD-*", "door-lang: ORD-001"])
def test_a_reason_that_nothing_needs_is_a_mistake(compared, what) -> None:
    shown, code = compared(LANGCHAIN, explained=what)

    assert shown[0].startswith(f"unused   {what!r} in explained.toml")
    assert code == 1


def test_a_part_that_is_not_asked_for_is_not_compared(compared) -> None:
    shown, code = compared({}, "--only", "rows", explained="door-langchain: ORD-001")

    assert (shown, code) == ([], 2)  # of rows nothing is recorded


@pytest.mark.parametrize(
    "text", ['[[explained]]\nwhat = "rows: *"\n', '[[meant]]\nwhat = "x"\nwhy = "y"\n']
)
def test_a_reason_says_what_and_why(tmp_path, capsys, text) -> None:
    (tmp_path / "explained.toml").write_text(text, "utf-8")

    with pytest.raises(SystemExit, match="2"):
        main(["compare", "--net", str(tmp_path), "--new", str(tmp_path)])
    assert "has a 'what' and a 'why'" in capsys.readouterr().err


def test_an_unknown_part_is_a_mistake_that_names_the_known(tmp_path, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["record", "--net", str(tmp_path / "out"), "--only", "row"])
    assert "no part 'row'; there are rows, mutants," in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_is_recorded_is_compared_with_what_is_judged(tmp_path, capsys) -> None:
    asked = ("--net", str(tmp_path), "--only", "store-MemoryStore")
    with pytest.raises(SystemExit, match="0"):
        main(["record", *asked])
    path = tmp_path / "store-MemoryStore.json"
    recorded = path.read_text("utf-8")
    path.write_text(recorded.replace('"STO-001": "pass"', '"STO-001": "fail"'), "utf-8")

    with pytest.raises(SystemExit, match="1"):
        main(["compare", *asked])
    changed = NetChange("store-MemoryStore: STO-001", "fail", "pass")
    assert str(changed) in capsys.readouterr().out


def test_what_is_recorded_in_the_repository_is_of_parts_and_in_their_form() -> None:
    known = parts()

    assert reasons(NET) is not None
    for file in NET.glob("*.json"):
        text = file.read_text("utf-8")
        facts = json.loads(text)
        assert file.stem in known
        assert text == json.dumps(facts, indent=0, sort_keys=True) + "\n"
        assert str(Path.home()) not in text


def test_the_house_is_counted_whole() -> None:
    report = list(lines())

    assert any(line.startswith("refengine ") for line in report)
    assert report[-1].split()[:2] == ["messages.py", "agent.py"]
