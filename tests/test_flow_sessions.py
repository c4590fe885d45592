"""Sessions and artifacts of the Flow dialect, in memory and in a file alike."""

import asyncio
import sqlite3

import pytest

from compat.dialects.flow import (
    Actions,
    Event,
    InMemoryArtifactService,
    InMemorySessionService,
    LlmAgent,
    Part,
    SqliteArtifactService,
    SqliteSessionService,
    text_content,
)
from compat.dialects.flow.artifacts import ArtifactPlace
from compat.dialects.flow.run_errors import (
    EmptyMessageError,
    NoArtifactServiceError,
    NotJsonError,
    SessionError,
    StaleSessionError,
)
from refengine.state.store_errors import ForeignStoreError
from tests.flow_support import ScriptedModel, calls, run, runner_of

PLACE = ArtifactPlace("app", "u", "s")


@pytest.fixture(params=["memory", "file"])
def service(request, tmp_path):
    """Return each session service, with nothing in it."""
    if request.param == "memory":
        return InMemorySessionService()
    return SqliteSessionService(tmp_path / "flow.db")


@pytest.fixture(params=["memory", "file"])
def artifacts(request, tmp_path):
    """Return each artifact service, with nothing in it."""
    if request.param == "memory":
        return InMemoryArtifactService()
    return SqliteArtifactService(tmp_path / "flow.db")


def writing(**delta):
    """Return an event with that delta; ``__`` in a key stands for its colon."""
    named = {key.replace("__", ":"): each for key, each in delta.items()}
    content = text_content("user", "x")
    return Event(author="a", content=content, actions=Actions(state_delta=named))


def test_state_is_shared_by_app_and_by_user_and_temp_is_kept_nowhere(service):
    async def played():
        one = await service.create("app", "u", "1", {"own": 1, "user:u": 2})
        await service.create("app", "u", "2")
        await service.create("app", "v", "3")
        delta = writing(app__a=[1], user__u=3, temp__t=4, own=5)
        kept = await service.append(one, delta)
        sessions = [
            await service.get("app", user, made)
            for user, made in [("u", "1"), ("u", "2"), ("v", "3")]
        ]
        return one, kept, sessions

    one, kept, sessions = asyncio.run(played())

    assert [dict(each.state) for each in sessions] == [
        {"own": 5, "app:a": (1,), "user:u": 3},
        {"app:a": (1,), "user:u": 3},
        {"app:a": (1,)},
    ]
    assert one.state["temp:t"] == 4
    assert "temp:t" not in kept.actions.state_delta
    assert sessions[0].events == one.events == [kept]


def test_a_session_that_somebody_else_wrote_is_refused_and_nothing_is_kept(service):
    async def played():
        await service.create("app", "u", "s")
        one, two = [await service.get("app", "u", "s") for _ in range(2)]
        await service.append(one, writing(n=1))
        with pytest.raises(StaleSessionError, match="read at revision 0 and is at 1"):
            await service.append(two, writing(n=2, app__n=2))
        return two, await service.get("app", "u", "s")

    two, kept = asyncio.run(played())

    assert kept.state == {"n": 1}
    assert len(kept.events) == 1
    assert two.events == []


def test_a_partial_event_is_kept_nowhere(service):
    async def played():
        session = await service.create("app", "u", "s")
        await service.append(session, Event(author="a", partial=True))
        return await service.get("app", "u", "s")

    assert asyncio.run(played()).events == []


def test_sessions_are_listed_and_forgotten_with_their_state(service):
    async def played():
        await service.create("app", "u", "b", {"n": 1, "user:m": 2})
        await service.create("app", "u", "a")
        listed = await service.list("app", "u")
        await service.delete("app", "u", "b")
        made = await service.create("app", "u", "b")
        return listed, made

    listed, made = asyncio.run(played())

    assert listed == ("a", "b")
    assert made.state == {"user:m": 2}


def test_a_session_that_is_there_is_not_made_again(service):
    async def played():
        await service.create("app", "u", "s")
        await service.create("app", "u", "s", {"n": 1})

    with pytest.raises(SessionError, match="session 's' of app 'app' and user 'u' is"):
        asyncio.run(played())


def test_state_that_is_no_json_is_refused_whole(service):
    async def played():
        state = {"good": 1, "bad": {"deep": [1, float("nan")]}}
        with pytest.raises(NotJsonError, match=r"state\['bad'\]\['deep'\]\[1\] is nan"):
            await service.create("app", "u", "s", state)
        return await service.get("app", "u", "s")

    assert asyncio.run(played()) is None


def test_a_hook_that_writes_no_json_leaves_the_state_as_it_was(service):
    def write(ctx, _):
        with pytest.raises(NotJsonError):
            ctx.state.update({"good": 1, "bad": object()})
        ctx.state["seen"] = list(ctx.state)

    agent = LlmAgent(name="a", model=ScriptedModel("ok"), before_model=write)
    runner = runner_of(agent, session_service=service)

    asyncio.run(run(runner))

    kept = asyncio.run(service.get("app", "u", "s"))
    assert kept.state == {"seen": ()}


def test_a_conversation_goes_on_with_what_a_service_kept(service):
    def count(tool_context):
        tool_context.state["n"] = tool_context.state.get("n", 0) + 1
        return {"n": tool_context.state["n"]}

    model = ScriptedModel(calls("count"), "one", calls("count"), "two")
    agent = LlmAgent(name="a", model=model, tools=[count])
    for message in ("first", "second"):
        asyncio.run(run(runner_of(agent, session_service=service), message))

    kept = asyncio.run(service.get("app", "u", "s"))
    assert kept.state == {"n": 2}
    assert [len(each) for each in model.contents] == [1, 3, 5, 7]


def test_artifacts_have_versions_and_those_of_the_user_are_in_every_session(artifacts):
    async def played():
        for text in ("a", "b"):
            await artifacts.save(PLACE, "f", Part(text=text))
        number = await artifacts.save(PLACE, "user:g", Part(text="c"))
        other = PLACE._replace(session_id="t")
        return (
            number,
            await artifacts.load(PLACE, "f"),
            await artifacts.load(PLACE, "f", 0),
            await artifacts.load(PLACE, "f", 9),
            await artifacts.load(other, "user:g"),
            await artifacts.load(other, "f"),
            await artifacts.names(PLACE),
            await artifacts.names(other),
        )

    assert asyncio.run(played()) == (
        0,
        Part(text="b"),
        Part(text="a"),
        None,
        Part(text="c"),
        None,
        ("f", "user:g"),
        ("user:g",),
    )


def test_an_artifact_is_forgotten_with_all_its_versions(artifacts):
    async def played():
        await artifacts.save(PLACE, "f", Part(text="a"))
        await artifacts.delete(PLACE, "f")
        return await artifacts.names(PLACE)

    assert asyncio.run(played()) == ()


def test_an_artifact_without_a_service_is_refused_by_name():
    async def save(ctx, _):
        await ctx.save_artifact("f.txt", Part(text="x"))

    agent = LlmAgent(name="a", model=ScriptedModel("ok"), before_model=save)

    with pytest.raises(NoArtifactServiceError, match=r"artifact 'f\.txt'"):
        asyncio.run(run(runner_of(agent, artifact_service=None)))


def test_a_message_without_parts_and_a_session_that_is_not_there_are_refused():
    runner = runner_of(LlmAgent(name="a", model=ScriptedModel("ok")))

    async def first(content):
        return [each async for each in runner.run("u", "ghost", content)]

    with pytest.raises(EmptyMessageError, match="session 'ghost'"):
        asyncio.run(first(text_content("user")))
    with pytest.raises(SessionError, match="is not there"):
        asyncio.run(first("hi"))


def test_a_file_of_something_else_is_not_touched(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()

    with pytest.raises(ForeignStoreError):
        asyncio.run(SqliteSessionService(path).create("app", "u", "s"))

    assert path.read_bytes() == before


def test_two_services_on_one_file_see_the_same(tmp_path):
    path = tmp_path / "flow.db"

    async def played():
        await SqliteSessionService(path).create("app", "u", "s", {"n": 1})
        await SqliteArtifactService(path).save(PLACE, "f", Part(text="x"))
        return await SqliteSessionService(path).get("app", "u", "s")

    found = asyncio.run(played())
    assert found is not None
    assert found.state == {"n": 1}
