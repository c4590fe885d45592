"""What a session service of ADK keeps, taken out of one process and put into another.

A service whose database is a file of the session needs none of this: the file goes
along. What any other one keeps is taken out through the interface that all of them
have, as the JSON that the framework makes of it, and put into the other one event by
event: so it is read as what a server keeps would be.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from google.adk.events import Event
from google.adk.sessions import BaseSessionService, Session

from refengine.messages import Json
from refengine.testing.isolation.folder import NO_FILES


def files_of_service(service: BaseSessionService) -> frozenset[str]:
    """Return the files in which it keeps sessions, if it has a database of SQLite.

    ``SqliteSessionService`` has its path, and ``DatabaseSessionService`` an engine of
    SQLAlchemy, whose address may name a server instead.
    """
    file = getattr(service, "_db_path", None)
    url: Any = getattr(getattr(service, "db_engine", None), "url", None)
    if url is not None and url.get_backend_name() == "sqlite":
        file = url.database
    if not isinstance(file, str) or file in NO_FILES:
        return frozenset()
    return frozenset((os.path.realpath(file),))


async def held_by(
    service: BaseSessionService, places: Sequence[Mapping[str, Any]]
) -> list[Json]:
    """Return what it keeps of these sessions; nothing if that is in a file.

    Without what is not set, as ADK's own services write an event: a release that does
    not have a field yet refuses it even if it is null. Raises what reading it raises,
    and what has no form as JSON.
    """
    if files_of_service(service):
        return []
    found = [await service.get_session(**place) for place in places]
    return [
        each.model_dump_json(exclude_none=True) for each in found if each is not None
    ]


async def put_back(service: BaseSessionService, held: Sequence[Json]) -> None:
    """Have it keep these sessions, unless it does; raises what it refuses."""
    for text in held:
        given = Session.model_validate_json(cast("str", text))
        place: dict[str, Any] = {
            "app_name": given.app_name,
            "user_id": given.user_id,
            "session_id": given.id,
        }
        if await service.get_session(**place) is not None:
            continue
        made = await service.create_session(**place, state=given.state)
        for event in given.events:
            await service.append_event(made, Event.model_validate(event))


async def let_go(service: BaseSessionService) -> None:
    """Have a service close its database: it opens it anew when it needs it.

    No release does so by itself. Threads keep the connections of SQLAlchemy open, and
    the next session would find what this one kept.
    """
    engine: Any = getattr(service, "db_engine", None)
    if engine is not None:
        closed = engine.dispose()
        if inspect.isawaitable(closed):  # of an engine without threads it is not
            await closed
