"""The recorded sessions that ship: vendors' traffic as worlds, for every judgement.

In a checkout they stand in ``cassettes/derived``, in a wheel beside this file. Their
index names each file that there has to be, so that a copy with some of them left out
is an error, and never fewer worlds than elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from compat.models.derive import INDEX, read_index, script_of
from compat.models.errors import MissingSessionsError
from compat.models.importing import ImportedFile, import_file
from compat.wire.interfaces.chat import CHAT

FOLDERS: Final = (
    Path(__file__).with_name("derived"),
    Path(__file__).parents[2] / "cassettes" / "derived",
)
"""Where a wheel has them, and where a checkout does."""


def shipped_files(folders: tuple[Path, ...] = FOLDERS) -> tuple[ImportedFile, ...]:
    """Return the files of recorded sessions, in the order of their names.

    A file's name is that of its cassette, with its folder. Raises MissingSessionsError
    if the folder, the index or a file that it names is not there, and DerivedError or
    GivenFileError for one that holds something else.
    """
    folder = next((each for each in folders if (each / INDEX).is_file()), None)
    if folder is None:
        raise MissingSessionsError(INDEX)
    index = read_index(folder)
    names = sorted(name for name, apis in index.items() if apis.get(CHAT))
    if not names:
        raise MissingSessionsError(INDEX)
    return tuple(_file(folder, name) for name in names)


def _file(folder: Path, name: str) -> ImportedFile:
    try:
        found = import_file(folder / script_of(name))
    except FileNotFoundError:
        raise MissingSessionsError(script_of(name)) from None
    return ImportedFile(name, found.worlds, found.not_read)
