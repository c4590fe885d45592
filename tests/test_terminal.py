"""Lines of commands reach the terminal as they are."""

import io
import os
import sys

import pytest
from rich.text import Text

from compat.cli.command import refuse
from compat.report.terminal import console


@pytest.mark.parametrize(
    "line",
    ["assistant:[c1:t({})]", "[bold]no markup[/bold]", "[/alone]", ":smile: {x} 100%"],
)
@pytest.mark.parametrize("form", [str, Text])
def test_brackets_and_colons_are_the_callers_data(line, form, capsys) -> None:
    console().print(form(line))

    assert capsys.readouterr().out == f"{line}\n"


@pytest.mark.parametrize("form", [str, Text])
def test_what_moves_a_cursor_or_turns_the_writing_is_an_escape(form, capsys) -> None:
    console().print(form("a\x1b[2J\u202eb\nc\x9b"))

    assert capsys.readouterr().out == "a\\x1b[2J\\u202eb\nc\\x9b\n"


def test_message_of_a_mistake_moves_no_cursor_either(capsys) -> None:
    with pytest.raises(SystemExit):
        refuse("some", "no\x1b[31m.py\nis not there")

    assert capsys.readouterr().err == "refengine some: no\\x1b[31m.py\nis not there\n"


def test_a_reader_that_leaves_does_not_end_the_work(monkeypatch, tmp_path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        shown = console()
        for _ in range(3):
            shown.print("nobody reads it")

        assert shown.quiet


def test_what_the_encoding_has_no_letter_for_is_an_escape(monkeypatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    console().print("é \ud800")
    sys.stdout.flush()

    assert written.getvalue() == b"\\xe9 \\ud800\n"
