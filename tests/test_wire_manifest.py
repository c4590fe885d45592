"""Each cassette has an entry that says where it came from, and each entry a file."""

from datetime import date

import pytest

from compat.wire.errors import (
    CassetteError,
    ChangedFileError,
    LeakError,
    ManifestError,
    NoManifestError,
)
from compat.wire.manifest import (
    NAME,
    Manifest,
    ManifestEntry,
    Scrubbing,
    check,
    hash_of,
    manifest_text,
    read_manifest,
)
from compat.wire.scrubbing import RULES_VERSION
from tests.wire_support import ROOT, exchange, three, written


def entry(folder, file, **changes):
    fields = {
        "file": file,
        "sha256": hash_of(folder / file),
        "interactions": 3,
        "source": "scripted server",
        "sdk": "openai",
        "sdk_version": "3.54.0",
        "date": date(2026, 11, 22),
        "command": 'refengine cassette record "x.json"',
    }
    return ManifestEntry(**(fields | changes))


@pytest.fixture
def folder(tmp_path):
    written(tmp_path / "openai/three.yaml", three())
    written(tmp_path / "two.json", three()[:2])
    tell(
        tmp_path,
        entry(tmp_path, "openai/three.yaml", scrubbing=Scrubbing(fields=("a b",))),
        entry(tmp_path, "two.json", interactions=2),
    )
    return tmp_path


def tell(folder, *entries, **other):
    manifest = Manifest(version=1, other=other, cassette=entries)
    (folder / NAME).write_text(manifest_text(manifest), "utf-8")
    return manifest


def test_manifest_is_written_and_read_back_alike(folder):
    told = tell(
        folder, entry(folder, "two.json", interactions=2), derived="no cassette"
    )

    assert read_manifest(folder) == told


def test_folder_that_its_manifest_tells_passes(folder):
    found = check(folder)

    assert [each.file for each in found.cassette] == ["openai/three.yaml", "two.json"]
    assert found.cassette[0].scrubbing.version == RULES_VERSION


def test_pages_and_folders_of_others_are_no_cassettes(folder):
    (folder / "README.md").write_text("about", "utf-8")
    (folder / "scenarios").mkdir()
    (folder / "scenarios/x.json").write_text("{}", "utf-8")
    entries = read_manifest(folder).cassette

    with pytest.raises(ManifestError, match=r"no entry for .*scenarios/x\.json"):
        check(folder)
    tell(folder, *entries, scenarios="what the cassettes are recorded from")
    check(folder)
    tell(folder, *entries, scenarios="as before", derived="not there")
    with pytest.raises(ManifestError, match="names derived, which is not there"):
        check(folder)


def test_file_without_an_entry_is_found(folder):
    written(folder / "deep/er/more.yaml", three())

    with pytest.raises(ManifestError, match=r"no entry for .*deep/er/more\.yaml"):
        check(folder)


@pytest.mark.parametrize("name", [".hidden", "notes.txt", "some.yml", "old.yaml.gz"])
def test_file_of_any_name_needs_an_entry(folder, name):
    (folder / name).write_text("", "utf-8")

    with pytest.raises(ManifestError, match=f"no entry for {name}"):
        check(folder)


def test_entry_without_a_file_is_found(folder):
    (folder / "two.json").unlink()

    with pytest.raises(ManifestError, match=r"names .*two\.json"):
        check(folder)


def test_changed_file_is_found(folder):
    path = folder / "two.json"
    path.write_text(path.read_text("utf-8").replace("TWO", "too"), "utf-8")

    with pytest.raises(ChangedFileError, match=r"two\.json .*hash"):
        check(folder)


def test_wrong_number_of_interactions_is_found(folder):
    tell(folder, entry(folder, "openai/three.yaml"), entry(folder, "two.json"))

    with pytest.raises(ChangedFileError, match="it holds 2 interactions"):
        check(folder)


def test_secret_in_a_file_is_found_though_its_hash_is_right(folder):
    from compat.wire.writing import _interaction, _json

    tree = {"version": 1, "interactions": [_interaction(exchange("sk-" + "a1" * 10))]}
    (folder / "two.json").write_bytes(_json(tree))
    tell(
        folder,
        entry(folder, "openai/three.yaml"),
        entry(folder, "two.json", interactions=1),
    )

    with pytest.raises(LeakError, match=r"two\.json"):
        check(folder)


def test_metadata_is_refused_since_nothing_plays_it(folder):
    path = folder / "openai/three.yaml"
    path.write_text(path.read_text("utf-8") + "metadata: {seed: 1}\n", "utf-8")
    tell(
        folder,
        entry(folder, "openai/three.yaml"),
        entry(folder, "two.json", interactions=2),
    )

    with pytest.raises(ChangedFileError, match="metadata"):
        check(folder)


def test_file_that_is_no_cassette_is_refused(folder):
    (folder / "two.json").write_text("{}", "utf-8")
    tell(folder, entry(folder, "openai/three.yaml"), entry(folder, "two.json"))

    with pytest.raises(CassetteError):
        check(folder)


def test_empty_manifest_is_refused(tmp_path):
    tell(tmp_path)

    with pytest.raises(ManifestError, match="has no entry: record"):
        check(tmp_path)


def test_missing_manifest_is_told(tmp_path):
    with pytest.raises(NoManifestError, match=r"manifest\.toml"):
        check(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("version = 1\n", "version = 2\n"),
        ("version = 1\n", ""),
        ('source = "scripted server"', 'source = ""'),
        ('source = "scripted server"', "source = 3"),
        ('source = "scripted server"', 'origin = "x"'),
        ("date = 2026-11-22", 'date = "2026-11-22"'),
        ("date = 2026-11-22", "date = 2026-11-22T10:00:00"),
        ("interactions = 2", "interactions = 0"),
        ('sha256 = "', 'sha256 = "X'),
        ('file = "two.json"', 'file = "../two.json"'),
        ('file = "two.json"', 'file = "/two.json"'),
        ('file = "two.json"', 'file = "two.txt"'),
        ('file = "two.json"', 'file = "openai/three.yaml"'),
        ('"headers", ', '"header", '),
        (
            f"scrubbing = {{ version = {RULES_VERSION}",
            f"scrubbing = {{ version = {RULES_VERSION + 1}",
        ),
        ("version = 1\n", "version = \n"),
    ],
)
def test_manifest_of_another_shape_is_refused(folder, old, new):
    path = folder / NAME
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")

    with pytest.raises(ManifestError, match=r"^manifest\.toml: .*see docs"):
        read_manifest(folder)


def test_every_error_of_a_manifest_is_one_kind():
    kinds = [
        ChangedFileError,
        NoManifestError,
    ]

    assert all(issubclass(each, ManifestError) for each in kinds)


def test_cassettes_of_this_project_are_told_by_their_manifest():
    found = check(ROOT / "cassettes")

    assert found.cassette
