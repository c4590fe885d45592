"""Artifacts: files of a session, each in versions; ``user:`` files are the user's."""

from __future__ import annotations

from typing import NamedTuple, Protocol, final

from compat.dialects.flow.content import Part
from compat.dialects.flow.state import USER


class ArtifactPlace(NamedTuple):
    """Whose artifacts: a session's, or a user's where ``session_id`` is empty."""

    app: str
    user_id: str
    session_id: str

    def of(self, name: str) -> ArtifactPlace:
        """Return where a file of that name is kept."""
        return self._replace(session_id="") if name.startswith(USER) else self


class ArtifactService(Protocol):
    """Where artifacts are kept."""

    async def save(self, place: ArtifactPlace, name: str, part: Part) -> int:
        """Keep one more version of the file and return its number, from 0."""
        ...

    async def load(
        self, place: ArtifactPlace, name: str, version: int | None = None
    ) -> Part | None:
        """Return that version, the newest if none is named; None if there is none."""
        ...

    async def names(self, place: ArtifactPlace) -> tuple[str, ...]:
        """Return the names of the session's and the user's files, sorted."""
        ...

    async def delete(self, place: ArtifactPlace, name: str) -> None:
        """Forget all versions of the file; nothing happens if there is none."""
        ...


@final
class InMemoryArtifactService:
    """Keeps artifacts as long as it lives."""

    def __init__(self) -> None:
        self._files: dict[tuple[ArtifactPlace, str], list[Part]] = {}

    async def save(self, place: ArtifactPlace, name: str, part: Part) -> int:
        """Keep one more version; see ArtifactService."""
        versions = self._files.setdefault((place.of(name), name), [])
        versions.append(part)
        return len(versions) - 1

    async def load(
        self, place: ArtifactPlace, name: str, version: int | None = None
    ) -> Part | None:
        """Return a version; see ArtifactService."""
        versions = self._files.get((place.of(name), name), [])
        wanted = len(versions) - 1 if version is None else version
        return versions[wanted] if 0 <= wanted < len(versions) else None

    async def names(self, place: ArtifactPlace) -> tuple[str, ...]:
        """Return the names that the session sees, sorted."""
        seen = {place, place._replace(session_id="")}
        return tuple(sorted(name for at, name in self._files if at in seen))

    async def delete(self, place: ArtifactPlace, name: str) -> None:
        """Forget all versions of the file; nothing happens if there is none."""
        self._files.pop((place.of(name), name), None)
