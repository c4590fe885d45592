"""What ``world.as_langchain()`` gives a subject for its graph, and the person in it.

A person is whom graphs ask: by what a framework has for that, or in their own way. A
question is answered by its form, as the scenario says: yes, no, an edited call, a text,
nothing. That it was asked is an effect: of each tool call that it names, else of the
question as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast, get_args

from langchain_core.language_models import BaseChatModel

from refengine.messages import Json
from refengine.testing.graphs.model import MODEL, WorldChatModel
from refengine.testing.graphs.tools import OWN, WorldTool, world_tool
from refengine.testing.graphs.wire import Line
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.person import APPROVAL, SHOWN, RepliesInTurn
from refengine.testing.recorder import snapshot
from refengine.testing.scenario import ReplySpec, ValueDoor
from refengine.testing.subject_worlds.answers import ARGS
from refengine.testing.tool_runs import calling, written
from refengine.testing.trace import to_json
from refengine.testing.world import World

Answer: TypeAlias = Callable[[Any], object]
Call: TypeAlias = "Mapping[str, Any]"  # of a tool, as LangChain has it

QUESTION: Final = "question"
"""The effect under which a question is put down that is about no call."""
NAMES: Final = ("name", "tool", "tool_name", "action", "function")
"""Keys by which a question of the subject's own says which tool it is about."""
DENIED: Final = "denied"
EDITED: Final = "edited"
DECISIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "yes": "approve",
        "no": "reject",
        "edited": "edit",
        "fewer": "edit",
        "text": "respond",
    }
)
EDITS: Final = frozenset(kind for kind, said in DECISIONS.items() if said == "edit")


DOORS: Final[tuple[ValueDoor, ...]] = get_args(ValueDoor)


class NoDoorError(ValueError):
    """A subject says that a value comes by a door that graphs do not have."""

    def __init__(self, name: str, door: object) -> None:
        self.name: str = name
        self.door: object = door
        super().__init__(f"takes({name}={door!r}): there are {', '.join(DOORS)}")


class LangChainBridge:
    """A world as LangChain and LangGraph see it.

    ``model`` and ``tools`` are the world's own; ``system_prompt`` is the instruction,
    or None where there is none. A graph may be built from other tools too, which are
    observed when they run, but from no other model.
    """

    def __init__(self, world: World, tools: Sequence[WorldTool]) -> None:
        self._world = world
        self._answer: Answer | None = None
        self._person = GraphPerson(world)
        self.moved: Mapping[str, ValueDoor] = {}
        """By which door a caller gives values that OLD's gives by another one."""
        self._line = None if world.wire is None else Line.to(world, world.wire)
        self.model: BaseChatModel = self.model_named(MODEL)
        self.tools: list[WorldTool] = list(tools)
        self.system_prompt: str | None = world.instruction or None

    @classmethod
    def of(cls, world: World) -> LangChainBridge:
        """Return the face of a world."""
        return cls(world, [world_tool(spec, world) for spec in world.tool_specs])

    def model_named(self, name: str) -> BaseChatModel:
        """Return a second model; it plays the same script, and requests name it."""
        if self._line is not None:
            return self._line.model(name)
        return WorldChatModel(world=self._world, model_name=name, metadata={OWN: True})

    def close(self) -> None:
        """Let go of the connection to a server, if the model has one."""
        if self._line is not None:
            self._line.close()

    def begins(self, denied: Collection[str], replies: Sequence[ReplySpec]) -> None:
        """Begin another run, in which a person denies calls and answers like that."""
        self._person.begins(denied, replies)

    @property
    def standing(self) -> dict[str, Any]:
        """Where its person stands, for one in another process that goes on there."""
        return {"asked": self._person.asked, "calls": self._person.pending()}

    def stand(self, there: Mapping[str, Any]) -> None:
        """Go on where a person in another process stood, who saw these calls last."""
        self._person.asked, self._person.earlier = there["asked"], there["calls"]

    def approves(self, call: Mapping[str, Any]) -> bool:
        """Ask the world's person about a tool call, by its ``id`` or name and args.

        The question is an effect, so asking another question, or after the tool ran, is
        another behaviour. Which calls are denied is part of the scenario.
        """
        return self._person.says(call) != "no"

    def answer_interrupts(self, answer: Answer) -> None:
        """Say what resumes an interrupted graph: ``answer`` is given its value.

        Not needed: without it a person answers by the form of the question, as the
        scenario says. ``answer`` asks ``approves`` about each call.
        """
        self._answer = answer

    def takes(self, **doors: ValueDoor) -> None:
        """Say by which door your application gives values, if not by OLD's.

        ``takes(tenant="context")``: what OLD read as ``configurable``, say, comes in
        the runtime's context. Raises NoDoorError.
        """
        for name, door in doors.items():
            if door not in DOORS:
                raise NoDoorError(name, door)
        self.moved = {**self.moved, **doors}

    def resumed_with(self, value: object, call: Call | None = None) -> object:
        """Return what resumes an interrupt, of the node of that call if it is one's."""
        self._world.recorder.add("interrupt", {"value": snapshot(value)})
        if self._answer is not None:
            return self._answer(value)
        return self._person.answers(value, call)

    def goes_on(self, calls: Sequence[Call]) -> bool:
        """Ask the person about a run that only stops, before or after such calls."""
        self._world.recorder.add("interrupt", {"value": None})
        return self._person.lets_go_on(calls)


def bridge_of(world: World) -> LangChainBridge:
    """Return the face of a world, as who plays its graph uses it."""
    found = world.as_langchain()
    assert isinstance(found, LangChainBridge)  # noqa: S101  # the only one there is
    return found


class GraphPerson(RepliesInTurn):
    """Answers as the runs of a scenario say."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self.earlier: list[dict[str, Any]] = []
        """The calls of the last answer that the model gave in another process."""

    def says(
        self, call: Call, kind: str = "yes", asked: object = None, shown: object = None
    ) -> str:
        """Return how the person answers about a call; that it was asked is put down.

        So is what the question says otherwise of its arguments than they are: who is
        asked about one sum allows no other. What is ``shown`` is a question of the
        subject's own form: its application looks in its keys.
        """
        call_id = call.get("id") or self._id_of(call)
        kind = "no" if call_id in self.denied else kind
        question: dict[str, Json] = {
            "name": str(call.get("name")),
            "args": snapshot(call.get("args")),
            "approved": kind not in {"no", "nothing"},
        }
        if unlike := dict(_unlike(asked, call.get("args"))):
            question["asked"] = snapshot(unlike)
        if is_mapping(shown):
            question[SHOWN] = snapshot(_form(shown, {**call, "id": call_id}))
        # An interrupt is answered between calls of the graph, in no call's own code.
        with calling(call_id):
            self._world.effect(APPROVAL, question)
        return kind

    def answers(self, value: object, call: Call | None) -> object:
        """Return what resumes an interrupt that has this value."""
        reply = self.next_reply()
        if is_mapping(value) and is_list(value.get("action_requests")):
            allowed = _allowed(value)
            requests = cast("Sequence[Mapping[str, Any]]", value["action_requests"])
            return {
                "decisions": [
                    self._decision(each, reply.kind, allowed.get(str(each.get("name"))))
                    for each in requests
                ]
            }
        if is_mapping(value) and "action_request" in value:
            return self._older(value, reply.kind)
        if is_list(value) and value and all(map(_is_older, value)):
            return [self._older(cast("Call", each), reply.kind) for each in value]
        return self._own(value, reply, call)

    def lets_go_on(self, calls: Sequence[Call]) -> bool:
        """Tell whether the person lets a run go on that stopped before such calls."""
        kind = self.next_reply().kind
        if not calls:
            self._world.effect(QUESTION, {"value": None})
        said = [self.says(call, kind) for call in calls] or [kind]
        return not any(each in {"no", "nothing"} for each in said)

    def _decision(
        self, request: Call, kind: str, allowed: Collection[str] | None
    ) -> dict[str, Any]:
        """Return a decision on one call, among those that are allowed."""
        if allowed is not None and DECISIONS.get(kind, "reject") not in allowed:
            kind = "yes" if kind in EDITS else "no"
        kind = self.says(request, kind)
        if kind == "yes":
            return {"type": "approve"}
        if kind in EDITS:
            args = _edited(request.get("args"), kind)
            action = {"name": request.get("name"), "args": args}
            return {"type": "edit", "edited_action": action}
        return {
            "type": "respond" if kind == "text" else "reject",
            "message": "a" if kind == "text" else DENIED,
        }

    def _older(self, question: Call, kind: str) -> dict[str, Any]:
        request: Mapping[str, Any] = question["action_request"]
        config: Mapping[str, Any] = question.get("config") or {}
        if kind in EDITS and not config.get("allow_edit", True):
            kind = "yes"
        action, args = request.get("action"), request.get("args")
        kind = self.says({"name": action, "args": args}, kind)
        if kind == "yes":
            return {"type": "accept", "args": None}
        if kind in EDITS:
            edited = {"action": action, "args": _edited(args, kind)}
            return {"type": "edit", "args": edited}
        if kind == "nothing":
            return {"type": "ignore", "args": None}
        return {"type": "response", "args": "a" if kind == "text" else DENIED}

    def _own(self, value: object, reply: ReplySpec, call: Call | None) -> object:
        """Return the answer to a question of the subject's own form."""
        calls = self._named_in(value) if call is None else [call]
        if not calls:
            self._world.effect(QUESTION, {"value": snapshot(value)})
        asked = value if len(calls) == 1 else None
        said = [self.says(each, reply.kind, asked, value) for each in calls]
        if "no" in said and reply.kind != "no":
            no = (each for each in self.replies if each.kind == "no")
            reply = next(no, ReplySpec(kind="no", value=False))
        args: object = calls[0].get("args") if calls else None
        return _filled(reply.value, _edited(args, reply.kind))

    def _named_in(self, value: object) -> Sequence[Call]:
        """Return the calls of the last response that a question names, or else shows.

        Of several of that name it is the one whose arguments it shows, if that is one;
        without a name every word of the question has to be an argument.
        """
        pending = self.pending()
        names = dict.fromkeys(_names_in(value))
        named = [e for e in pending if e["id"] in names or e["name"] in names]
        shown = [
            each
            for each in named or pending
            if _is_shown(each["args"], value, whole=not named)
        ]
        return shown if len(shown) == 1 else named

    def pending(self) -> list[dict[str, Any]]:
        """Return the calls of the last answer."""
        last = self._world.recorder.last("model_response")
        if last is None:
            return self.earlier
        message = cast("Mapping[str, Any]", to_json(last.data["message"]))
        return [
            {"id": str(each["id"]), "name": each["name"], "args": _read(each)}
            for each in message.get("tool_calls", ())
        ]

    def _id_of(self, call: Call) -> str | None:
        """Return the id of the call of that name and arguments in the last response."""
        for each in self.pending():
            same = each["name"] == call.get("name")
            if same and written(each["args"]) == written(call.get("args")):
                return str(each["id"])
        return None


def _read(call: Mapping[str, Any]) -> object:
    return json.loads(call["arguments"])


def _allowed(request: Mapping[str, Any]) -> dict[str, Collection[str]]:
    """Return the decisions that are allowed about each tool, by name."""
    configs: Sequence[Any] = request.get("review_configs") or ()
    return {
        str(each.get("action_name")): each["allowed_decisions"]
        for each in configs
        if is_mapping(each) and is_list(each.get("allowed_decisions"))
    }


def _is_older(value: object) -> bool:
    return is_mapping(value) and is_mapping(value.get("action_request"))


def _form(shown: object, call: Call) -> object:
    """Return where a question shows which part of a call, in whatever words.

    Its keys are read by programs and have to be the same; what a person alone reads, a
    sentence or a sum with its sign, may be written anew.
    """
    if is_mapping(shown):
        return {key: _form(each, call) for key, each in shown.items()}
    if is_list(shown):
        return [_form(each, call) for each in shown]
    args = call.get("args")
    parts = {"name": call.get("name"), "id": call.get("id")}
    parts |= args if is_mapping(args) else {}
    for key, part in parts.items():
        if part == shown or (str(part or "") and _is_told(part, shown)):
            return f"<{key}>"
    return "<text>" if isinstance(shown, str) and " " in shown else shown


def _unlike(asked: object, args: object) -> Iterator[tuple[str, object]]:
    """Yield what a question says of arguments, by their names, that they are not."""
    if not (is_mapping(asked) and is_mapping(args)):
        return
    for key, each in asked.items():
        if key in args and not _is_told(args[key], each):
            yield key, each
        yield from _unlike(each, args)


def _is_told(arg: object, said: object) -> bool:
    """Tell whether a question says a value, in whatever words: 5, or "$5.00"."""
    numbers = isinstance(arg, int | float) and isinstance(said, int | float)
    return arg == said or (not numbers and str(arg) in str(said))


def _is_shown(args: object, value: object, *, whole: bool) -> bool:
    """Tell whether a question has arguments of a call, by name; as a ``whole`` only."""
    if not (is_mapping(value) and is_mapping(args)):
        return False
    keys = value.keys() if whole else value.keys() & args.keys()
    return bool(keys) and all(key in args and args[key] == value[key] for key in keys)


def _names_in(value: object) -> Iterator[str]:
    """Yield the tools and ids of calls that a question names, however deep."""
    if is_list(value):
        for each in value:
            yield from _names_in(each)
    elif is_mapping(value):
        for key, each in value.items():
            if isinstance(each, str) and (key in NAMES or key.endswith("id")):
                yield each
            else:
                yield from _names_in(each)


def _edited(args: object, kind: str) -> dict[str, Any]:
    """Return the arguments of a call with the first of them edited, or left out.

    Only where one is left out it shows whether an answer takes the place of the
    arguments, or is put into them.
    """
    found: dict[str, Any] = dict(args) if is_mapping(args) else {}
    first = next(iter(found), "q")
    if kind == "fewer":
        return {key: each for key, each in found.items() if key != first}
    return {**found, first: EDITED}


def _filled(value: Json, args: Mapping[str, Any]) -> object:
    """Return an answer with the edited arguments where it stands for them."""
    if value == ARGS:
        return dict(args)
    if is_mapping(value):
        return {key: _filled(each, args) for key, each in value.items()}
    if is_list(value):
        return [_filled(each, args) for each in value]
    return value
