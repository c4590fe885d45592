"""The world's model over HTTP: a vendor's own client, and what it really sends.

    client → a scripted server on loopback, which plays the world's script

Needs ``langchain-openai``. Requests are put down as they leave the client, in the shape
that the model in process gives them, so that both are compared, shrunk and told alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Self, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatGeneration, LLMResult

from refengine.errors import RefengineError, error
from refengine.messages import Json
from refengine.testing.graphs.messages import said
from refengine.testing.graphs.model import MODEL, shown_tool
from refengine.testing.graphs.tools import OWN
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.world import World, WorldExtraError

LOOPBACK: Final = "http://127.0.0.1:"
COMPLETIONS: Final = "/chat/completions"
APART: Final = frozenset(("messages", "tools", "stream", "stream_options"))
"""Keys of a body that are told apart, or that say only how its answer is to come."""
KEY: Final = "scripted"
"""The key that is sent, so that none of the user's own ever is."""


@error
class NotLoopbackError(RefengineError, ValueError):
    """A model is to ask a server that is not on this machine."""

    address: str
    says = (
        "{address!r} is not on loopback: give the base URL of a scripted server,"
        f" which begins with {LOOPBACK}"
    )


class Line:
    """The connections of one world to its server, and the models that use them."""

    def __init__(
        self,
        world: World,
        address: str,
        chat: Callable[..., BaseChatModel],
        clients: tuple[Any, Any],
    ) -> None:
        self._world = world
        self._address = address
        self._chat = chat
        self._client, self._async_client = clients

    @classmethod
    def to(cls, world: World, address: str) -> Self:
        """Return a line to this base URL.

        Raises NotLoopbackError, and MissingExtraError without the extra.
        """
        if not address.startswith(LOOPBACK):
            raise NotLoopbackError(address)
        try:
            import langchain_openai  # noqa: PLC0415  # an extra
            import openai  # noqa: PLC0415  # as above
        except ImportError as error:
            what = "a model over the wire"
            raise WorldExtraError(what, "langchain", error) from error
        clients = _clients(openai, Sent(world))
        return cls(world, address, langchain_openai.ChatOpenAI, clients)

    def model(self, name: str) -> BaseChatModel:
        """Return the client of that name; requests of another one than usual say so.

        What it could take from the environment is given, so that nothing is: a proxy,
        the other of OpenAI's interfaces. It does not try again by itself.
        """
        return self._chat(
            model=name,
            base_url=self._address,
            api_key=KEY,
            max_retries=0,
            http_client=self._client,
            http_async_client=self._async_client,
            http_socket_options=(),
            openai_proxy=None,
            output_version=None,
            use_responses_api=False,
            callbacks=[Answers(self._world)],
            metadata={OWN: True},
        )

    def close(self) -> None:
        """Close the connections; those of the async client never outlive a request."""
        self._client.close()


class Sent:
    """Puts down each request as it leaves the client."""

    def __init__(self, world: World) -> None:
        self._world = world

    def take(self, request: Any) -> None:  # noqa: ANN401  # of the client's own httpx
        """Take a request; of another path there is nothing to compare."""
        if not request.url.path.endswith(COMPLETIONS):
            return
        model = self._world.model
        model.begin_call({**shown(json.loads(request.read())), "ctx": "-"})
        self._world.clock.sleep(model.seconds)

    async def take_later(self, request: Any) -> None:  # noqa: ANN401  # as above
        """Take a request of a loop that a plain hook runs by itself."""
        self.take(request)


class Answers(BaseCallbackHandler):
    """Puts down what came of each request, as the client read it."""

    run_inline = True

    def __init__(self, world: World) -> None:
        self._recorder = world.recorder

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:  # noqa: ANN401  # as BaseCallbackHandler
        """Put down an answer."""
        generation = cast("ChatGeneration", response.generations[0][0])
        message = cast("dict[str, Json]", said([generation.message])[0])
        self._recorder.add("model_response", {"message": message})

    def on_llm_error(self, error: BaseException, **_: Any) -> None:  # noqa: ANN401  # as BaseCallbackHandler
        """Put down a failure, by what the server says of it if it does."""
        body: object = getattr(error, "body", None)
        entry = body.get("message") if is_mapping(body) else None
        self._recorder.add("model_error", {"error": str(entry or error)})


def shown(body: Mapping[str, Any]) -> dict[str, Json]:
    """Return a body of chat completions as observations have requests."""
    options = {key: each for key, each in body.items() if key not in APART}
    if options["model"] == MODEL:
        del options["model"]
    return {
        "messages": [_message(each) for each in body["messages"]],
        "tools": [shown_tool(each) for each in body.get("tools", ())],
        "options": options,
    }


def _message(message: Mapping[str, Any]) -> dict[str, Json]:
    """Return a message; null beside calls is not text, and one block of text is it."""
    entry: dict[str, Json] = dict(message)
    content = message.get("content")
    if content is None:
        entry["content"] = ""
    elif is_list(content) and len(content) == 1 and _is_text(content[0]):
        entry["content"] = content[0]["text"]
    if "tool_calls" in message:
        entry["tool_calls"] = [_call(each) for each in message["tool_calls"]]
    return entry


def _is_text(block: Mapping[str, Any]) -> bool:
    return set(block) == {"type", "text"} and block["type"] == "text"


def _call(call: Mapping[str, Any]) -> Json:
    """Return a call of a function; any other one stays as it is."""
    function: object = call.get("function")
    return {"id": call["id"], **function} if is_mapping(function) else dict(call)


def _clients(openai: Any, sent: Sent) -> tuple[Any, Any]:  # noqa: ANN401  # the module
    """Return a plain and an async client that have ``sent`` look at each request.

    Neither looks at the environment, and neither has certificates: to load them takes
    longer than all that a world sends, and what is sent goes to this machine.
    """
    plain = openai.DefaultHttpxClient(
        event_hooks={"request": [sent.take]}, trust_env=False, verify=False
    )
    # Each loop that a hook runs is another one, and no connection may outlive its own.
    other = openai.DefaultAsyncHttpxClient(
        event_hooks={"request": [sent.take_later]},
        headers={"connection": "close"},
        trust_env=False,
        verify=False,
    )
    return plain, other
