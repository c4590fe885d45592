"""A file of nothing but brackets is named as what is wrong, and is no fault of ours."""

import pytest

from compat.cli.main import main
from tests.wire_support import three, written

DEEP = 2000
JSON = "[" * DEEP + "]" * DEEP
TOML = f"a = {JSON}"
SCHEMA = '{"a": ' * 300 + "{}" + "}" * 300
SIDE = "def subject(world): return []\n"
COMMANDS = {
    "settings": (TOML, "migrate check old.py new.py --settings FILE"),
    "worlds": (JSON, "migrate check old.py new.py --worlds FILE"),
    "tools": (JSON, "migrate check old.py new.py --tools FILE"),
    "schema": (
        f'[{{"name": "pay", "parameters": {SCHEMA}}}]',
        "migrate check old.py new.py --tools FILE",
    ),
    "folder": (TOML, "migrate check --all ."),
    "known": (TOML, "conform reference --known FILE"),
    "corpus": (JSON, "corpus import FILE --out made.gz"),
    "rows": (JSON, "observe FILE"),
    "timeline": (JSON, "timeline add kept.db FILE"),
    "bench": (JSON, "bench compare FILE FILE"),
    "cassette": (JSON, "cassette replay FILE"),
    "manifest": (TOML, "cassette replay some.yaml"),
    "scenario": (JSON, "cassette serve FILE"),
}
NAMES = {"folder": "migration.toml", "manifest": "manifest.toml"}


def refused(what, command, content, tmp_path, monkeypatch, capsys) -> str:
    """Return what a command says of a file, which is refused by its name."""
    name = NAMES.get(what, "given.json")
    (tmp_path / name).write_bytes(content)
    for side in ("old.py", "new.py"):
        (tmp_path / side).write_text(SIDE, "utf-8")
    written(tmp_path / "some.yaml", three())
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SystemExit) as left:
        main(command.replace("FILE", name).split())

    told = capsys.readouterr()
    assert (left.value.code, name in told.err + told.out) == (2, True), told
    assert "please report it" not in told.err
    return told.err + told.out


@pytest.mark.parametrize("what", COMMANDS)
def test_nested_file_is_refused_by_its_name(what, tmp_path, monkeypatch, capsys):
    text, command = COMMANDS[what]

    refused(what, command, text.encode(), tmp_path, monkeypatch, capsys)


OTHERS = {"failure": "failure replay FILE reference", "page": "comment FILE"}


@pytest.mark.parametrize("what", [*COMMANDS, *OTHERS])
def test_file_that_is_no_text_is_refused_in_plain_words(
    what, tmp_path, monkeypatch, capsys
):
    command = OTHERS.get(what) or COMMANDS[what][1]

    said = refused(what, command, b"\x89PNG\xff\xfe", tmp_path, monkeypatch, capsys)

    assert "codec" not in said
