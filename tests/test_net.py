"""Records of what the code does: when two are equal, and what is not a record."""

import json
import sys
from pathlib import Path

import pytest

from tools.house import lines
from tools.net import Checkout, _stable, main, public_names


def recorded(folder: Path, **texts: str) -> Path:
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, "utf-8")
    return folder


def test_equal_records_are_equal(tmp_path, capsys) -> None:
    old, new = (recorded(tmp_path / each, help="a\n") for each in ("old", "new"))

    main(["compare", str(old), str(new)])
    assert capsys.readouterr().out == "equal   help.txt\n"


def test_a_line_that_differs_is_shown_and_leaves_with_1(tmp_path, capsys) -> None:
    old = recorded(tmp_path / "old", help="a\nb\n", names="x\n")
    new = recorded(tmp_path / "new", help="a\nc\n", names="x\n")

    with pytest.raises(SystemExit, match="1"):
        main(["compare", str(old), str(new)])
    shown = capsys.readouterr().out.splitlines()
    assert [shown[0], shown[-1]] == ["DIFFERS help.txt", "equal   names.txt"]
    assert {"    -b", "    +c"} <= set(shown)


@pytest.mark.parametrize(
    ("new", "told"), [({}, "is missing: record it"), (None, "no records in")]
)
def test_what_is_not_recorded_is_a_mistake(tmp_path, capsys, new, told) -> None:
    old = recorded(tmp_path / "old", **({} if new is None else {"help": "a\n"}))
    other = recorded(tmp_path / "new")

    with pytest.raises(SystemExit, match="2"):
        main(["compare", str(old), str(other)])
    assert told in capsys.readouterr().err


def test_an_unknown_probe_is_a_mistake_that_names_the_known(tmp_path, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["record", str(tmp_path / "out"), "--only", "helps"])
    assert "no probe 'helps'; there are names, help" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_record_of_public_names_has_their_signatures(tmp_path) -> None:
    here = Checkout(Path(__file__).parents[1], Path(sys.executable))

    text = public_names(here, tmp_path)
    assert "refengine.Agent.resume (self, checkpoint: str," in text
    assert text.endswith("exit code 0\n")


def test_what_differs_from_run_to_run_is_left_out(tmp_path) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"took": 1.5, "each": [{"started": "now", "got": 1}]}))

    assert json.loads(_stable(report)) == {"each": [{"got": 1}]}


def test_the_house_is_counted_whole() -> None:
    report = list(lines())

    assert any(line.startswith("refengine ") for line in report)
    assert report[-1].split()[:2] == ["messages.py", "agent.py"]
