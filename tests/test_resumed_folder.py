"""A check of a folder that was interrupted is gone on with by ``--resume``."""

from collections.abc import Callable
from pathlib import Path

import pytest

from compat.cli import migrate_folder
from compat.cli.init import migration_files
from compat.cli.main import main
from compat.migration import folder as folders
from compat.migration.folder import pieces_in
from compat.migration.kept_pieces import KeptPieces
from compat.migration.subject_runner import CheckOptions

FEW = ("--examples", "1")


@pytest.fixture
def ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[object, list[str]]]:
    """Return a command in a folder of two pieces, with its code and its lines."""
    for piece in ("a", "b"):
        (tmp_path / "pieces" / piece).mkdir(parents=True)
        for name, text in migration_files().items():
            (tmp_path / "pieces" / piece / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REFENGINE_PIECES", str(tmp_path / ".kept"))
    monkeypatch.setattr(folders, "AT_ONCE", 1)

    def asked(*more: str) -> tuple[object, list[str]]:
        with pytest.raises(SystemExit) as left:
            main(["migrate", "check", "--all", "pieces", *FEW, *more])
        return left.value.code, capfd.readouterr().out.splitlines()

    return asked


@pytest.fixture
def interrupted(ask, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines of a check that ends in its second piece."""
    told = migrate_folder._Told.done

    def until_b(self, case) -> None:
        if case.piece == "b":
            raise KeyboardInterrupt
        told(self, case)

    with monkeypatch.context() as patched:
        patched.setattr(migrate_folder._Told, "done", until_b)
        code, lines = ask()
    assert code == 130
    return lines


def test_what_was_judged_is_taken_up_and_the_rest_is_judged(ask, interrupted) -> None:
    assert (
        "INTERRUPTED  after 1 of 2 cases; --resume goes on with the pieces that"
        in (interrupted[1])
    )

    code, lines = ask("--resume")

    assert code == 0
    assert lines[:2] == [
        "resumed: 1 case of 1 of 2 pieces",
        "weakly  b/new.py  identical",
    ]
    assert lines[-1] == "2 cases, 2 met, 2 weakly"


def test_once_all_is_judged_nothing_is_kept(ask, interrupted) -> None:
    ask("--resume")

    assert ask("--resume")[1][0] == "nothing to resume: all is judged anew"


@pytest.mark.parametrize("changed", ["pieces/a/new.py", "shared.py"])
def test_code_that_changed_is_judged_anew(ask, interrupted, changed: str) -> None:
    with Path(changed).open("a", encoding="utf-8") as file:
        file.write("# more\n")

    assert ask("--resume")[1][0] == "nothing to resume: all is judged anew"


def test_other_options_are_another_check(ask, interrupted) -> None:
    assert ask("--resume", "--seed", "1")[1][0].startswith("nothing to resume")


def test_another_pieces_code_does_not_matter(ask, interrupted) -> None:
    with Path("pieces/b/new.py").open("a", encoding="utf-8") as file:
        file.write("# more\n")

    assert ask("--resume")[1][0] == "resumed: 1 case of 1 of 2 pieces"


def test_what_is_kept_and_cannot_be_read_does_not_count(ask, interrupted) -> None:
    [file] = Path(".kept").glob("*/*.json")
    file.write_text("[{]", "utf-8")

    assert ask("--resume")[1][0].startswith("nothing to resume")


def test_pair_is_not_resumed(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["migrate", "check", "old.py", "new.py", "--resume"])

    assert left.value.code == 2
    assert "--resume goes on with the pieces of a folder" in capfd.readouterr().err


def test_where_nothing_can_be_written_nothing_is_kept(
    ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").write_text("", "utf-8")
    monkeypatch.setenv("REFENGINE_PIECES", "file/below")
    kept = KeptPieces.of(Path("pieces"), CheckOptions())

    piece = pieces_in(Path("pieces"))[0]
    kept.keep(piece, [])

    assert kept.cases(piece) is None
