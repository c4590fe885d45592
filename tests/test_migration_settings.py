"""migration.toml: what it may say, and what is told of everything else."""

import json
import re
from pathlib import Path

import pytest

from compat.cli.init import migration_files
from compat.migration.folder import NoPiecesError, pieces_in
from compat.migration.settings import SCHEMA, SettingsError, load_settings, schema_text
from compat.verdicts.relations import RELATIONS
from tools.site.formats import schemas_made


def written(folder: Path, text: str, *files: str) -> Path:
    for name in files:
        (folder / name).write_text("def subject(world): ...\n", "utf-8")
    path = folder / "migration.toml"
    path.write_text(text, "utf-8")
    return path


def test_empty_file_has_defaults(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, ""))

    assert (settings.old, settings.require) == ("old.py", "same-effects")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("old = ", "is not TOML"),
        ("olt = 'x'", "olt: 'olt' is not a known entry; did you mean 'old'?"),
        ("unlike = 'x'", "not a known entry; there are about, old, old_engine"),
        (
            "[[allow]]\npath = 'x'",
            "it stands in a case: [[cases.'new.py'.allow]]",
        ),
        ("holds = 'x'", "holds: it belongs to [cases.'new.py']"),
        ("[[order]]\nrole = 'x'", "role: it belongs to [[cases.'new.py'.allow]]"),
        ("[cases.'a.py']\nhold = 'x'", "cases.a.py.hold: 'hold' is not a known entry"),
        ("old = ''", "old: String should have at least 1 character"),
        ("old = 3", "old: Input should be a valid string; it is 3"),
        ("require = 'same-effect'", "did you mean 'same-effects'?"),
        ("require = 'x'", "there are same-answer, same-state"),
        ("[samples]", "samples: give 'texts', 'ids' or 'documents', or leave it out"),
        ("[samples]\ntexts = []", "samples.texts: Tuple should have at least 1 item"),
        ("[samples]\nnames = ['a']", "'names' is not a known entry; there are texts"),
        ("outside = ['at least one tol']", "did you mean 'at least one tool'?"),
        (
            "[cases.'a.py']\nholds = 'x'",
            "cases.a.py.holds: 'x' is not a known relation",
        ),
        ("[cases.'a.py']\ndiverges = 'ODER'", "did you mean 'ORDER'?"),
        (
            "[cases.'a.py']\ndiverges = 'ORDER'\nholds = 'identical'",
            "give 'holds' or 'diverges', not both",
        ),
        ("[cases]\n'a.py' = 'x'", "'x' is no table: write entries of [cases.'new.py']"),
        ("samples = 'x'", "'x' is no table: write entries of [samples]"),
        ("[[volatile]]\nchannel = 'effect'\npath = 'x'", "did you mean 'effects'?"),
        ("[[volatile]]\nchannel = 'effects'\npath = 'x'", "reason: is missing"),
        ("[[cases.'a.py'.allow]]\nchannel = ['effect']", "did you mean 'effects'?"),
        ("[[cases.'a.py'.allow]]\nchannel = []", "at least 1 item"),
        (
            "[[cases.'a.py'.allow]]\nchannel = 'state'\npath = 'x'\nreason = 'y'",
            "world: is missing",
        ),
    ],
)
def test_wrong_entry_is_told_by_its_place(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(SettingsError) as raised:
        load_settings(path)

    assert str(raised.value).startswith(f"{path}:")
    assert told in str(raised.value)


def test_folder_without_settings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "piece").mkdir()

    with pytest.raises(NoPiecesError, match=r"no folder in it has a migration\.toml"):
        pieces_in(tmp_path)


def test_file_that_is_no_case_is_told(tmp_path: Path) -> None:
    text = "[cases.'right.py']\nholds = 'identical'"
    written(tmp_path, text, "right.py", "right_other.py", "wrong_a.py", "helpers.py")

    with pytest.raises(SettingsError) as raised:
        pieces_in(tmp_path)

    assert raised.value.problems == (
        'right_other.py is not a case: add [cases."right_other.py"]',
        'wrong_a.py is not a case: add [cases."wrong_a.py"]',
    )


def test_settings_without_a_case_are_told(tmp_path: Path) -> None:
    written(tmp_path, "about = 'x'")

    with pytest.raises(SettingsError, match="there is no case"):
        pieces_in(tmp_path)


def test_world_of_an_allowance_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    text = "channel = 'state'\npath = 'x'\nreason = 'y'\nworld = 'no.json'"
    written(tmp_path, f"[[cases.'a.py'.allow]]\n{text}", "a.py")

    with pytest.raises(SettingsError, match=r"world 'no\.json'"):
        pieces_in(tmp_path)[0].terms("a.py")


def test_pieces_are_folders_with_settings_in_order_of_their_names(
    tmp_path: Path,
) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / name).mkdir()
        if name != "c":
            written(tmp_path / name, "[cases.'x.py']", "x.py")

    assert [piece.name for piece in pieces_in(tmp_path)] == ["a", "b"]


def test_the_first_line_that_init_writes_names_a_schema_that_stands_beside_it() -> None:
    """Taplo and Tombi read a comment of this form: a path from the file's folder."""
    first = migration_files()["migration.toml"].splitlines()[0]

    named = re.fullmatch(r"#:schema \./(\S+\.json)", first)

    assert named is not None
    schema = json.loads(migration_files()[named[1]])
    assert schema["$id"] == f"urn:refengine:{named[1]}"
    assert schema["title"] == "Migration settings"
    assert schema["description"].startswith("One migration: ")


def test_the_schema_that_is_written_is_that_of_the_site() -> None:
    assert dict(schemas_made())[f"reference/{SCHEMA}"] == schema_text()


def test_the_schema_lists_names_and_lets_one_channel_stand_without_brackets() -> None:
    schema = json.loads(schema_text())
    allowance = schema["$defs"]["Allowance"]["properties"]

    one, several = allowance["channel"]["anyOf"]

    assert schema["properties"]["require"]["enum"] == [*RELATIONS]
    assert "effects" in one["enum"]
    assert several == {"type": "array", "items": one, "minItems": 1}
