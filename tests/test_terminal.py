"""Lines of commands reach the terminal as they are."""

import io
import sys

import pytest
from rich.text import Text

from compat.report.terminal import console


@pytest.mark.parametrize(
    "line",
    ["assistant:[c1:t({})]", "[bold]no markup[/bold]", "[/alone]", ":smile: {x} 100%"],
)
@pytest.mark.parametrize("form", [str, Text])
def test_brackets_and_colons_are_the_callers_data(line, form, capsys) -> None:
    console().print(form(line))

    assert capsys.readouterr().out == f"{line}\n"


def test_what_the_encoding_has_no_letter_for_is_an_escape(monkeypatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    console().print("é \ud800")
    sys.stdout.flush()

    assert written.getvalue() == b"\\xe9 \\ud800\n"
