"""Why a text names no subject.

RefError (ValueError)
├── NotAReferenceError           none of the three forms
├── MissingFileError             there is no such file
├── RevisionNotAllowedError      REV: where only today's files are meant
├── GitMissingError              git is not installed
├── NotARepositoryError          the file is in no checkout
├── UnknownRevisionError         the repository has no such revision
├── NotInRevisionError           the file was not there at that commit
└── GitFailedError               git could not write the tree out
"""

from __future__ import annotations


class RefError(ValueError):
    """A reference that names no subject."""


class NotAReferenceError(RefError):
    """It has none of the forms."""

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        super().__init__(f"{text!r} names no subject: {why}")


class MissingFileError(RefError):
    """There is no file of that name."""

    def __init__(self, text: str, file: str, close: str | None) -> None:
        self.text = text
        self.file = file
        hint = f"did you mean {close}?" if close else "give its path from here"
        super().__init__(f"{text!r}: there is no file {file}; {hint}")


class RevisionNotAllowedError(RefError):
    """Only OLD is taken from an earlier commit."""

    def __init__(self, text: str, rest: str) -> None:
        self.text = text
        super().__init__(f"{text!r}: only OLD may have a revision; give {rest}")


class GitMissingError(RefError):
    """An earlier commit is asked for, and there is no git."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(
            f"{text!r} is of an earlier commit, but git is not installed:"
            " install it, or give a copy of the file"
        )


class NotARepositoryError(RefError):
    """The file is in no checkout of git."""

    def __init__(self, text: str, folder: str, said: str) -> None:
        self.text = text
        self.folder = folder
        self.said = said
        super().__init__(
            f"{text!r}: {folder} is in no git repository ({said});"
            " go to the checkout, or give a file without a revision"
        )


class UnknownRevisionError(RefError):
    """No commit has that name."""

    def __init__(self, text: str, revision: str, close: str | None) -> None:
        self.text = text
        self.revision = revision
        hint = f"did you mean {close!r}?" if close else "give a commit, branch or tag"
        super().__init__(f"{text!r}: there is no revision {revision!r}; {hint}")


class NotInRevisionError(RefError):
    """The commit is there, the file is not in it."""

    def __init__(self, text: str, file: str, revision: str, close: str | None) -> None:
        self.text = text
        self.file = file
        self.revision = revision
        hint = f"did you mean {close}?" if close else "give one in which it is"
        super().__init__(f"{text!r}: {file} is not in revision {revision!r}; {hint}")


class GitFailedError(RefError):
    """git could not do what it was asked."""

    def __init__(self, doing: str, said: str) -> None:
        self.doing = doing
        self.said = said
        super().__init__(f"git {doing} failed: {said}; try it by hand")
