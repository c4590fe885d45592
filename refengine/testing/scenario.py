"""The scenario: a session as data (JSON, versioned).

It says what an agent is made of, what its model answers and what is run; a World turns
it into real objects. The JSON schema is published as ``scenario.schema.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from types import UnionType
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    JsonValue,
    PositiveInt,
    Tag,
    model_validator,
)

from refengine.testing.notation import parse_chunk
from refengine.testing.ops import (
    AppendTools,
    AskSpec,
    Block,
    CallerOp,
    ConfigOp,
    GiveBack,
    InterruptSpec,
    MessageOp,
    MessageText,
    Op,
    Spec,
    ToolSpec,
)

VERSION: Final = 1


class CtxText(Spec):
    """A key of the context and the text that is appended to its value."""

    key: str
    text: str


class ToolWrapSpec(Spec):
    """A wrapper around tool calls; its keys act in the order of these fields.

    The first three act when the wrapper is made, the rest when it is called. With
    ``error`` it raises a ScriptedError of that text when it is called, before ``next``;
    its own ``catch_error`` does not catch that, and neither an ``interrupt`` or what
    it asks; those that come out of ``next`` it does, or with ``error_instead`` it
    raises one of that text in their place. ``<answer>`` in a text of it
    stands for what it was answered. ``set_options`` joins the options of this call,
    with ``clear_options`` it stands in their place. With ``new_input`` it hands on an
    input of its own making in place of the one it got, with ``new_ctx`` such a context;
    with ``in_place`` it edits the
    result that it got, and makes no new one. What it streams fails with
    ``stream_error`` after its last chunk.
    """

    id: str = ""
    record_factory: bool = False
    count_factory: bool = False
    factory_error: str | None = None
    record: str | None = None
    record_enter: str | None = None
    closure_counter: str | None = None
    by_tool: dict[str, ToolWrapSpec] = Field(default_factory=dict)
    runlocal_get: str | None = None
    new_ctx: bool = False
    ctx_append: CtxText | None = None
    error: str | None = None
    interrupt: InterruptSpec | None = None
    ask: AskSpec | None = None
    short_circuit: str | None = None
    rewrite_args: str | None = None
    set_input_name: str | None = None
    set_input_call_id: str | None = None
    clear_options: bool = False
    set_options: dict[str, JsonValue] | None = None
    new_input: bool = False
    call_next: PositiveInt = 1
    in_place: bool = False
    catch_error: str | None = None
    error_instead: str | None = None
    prefix_result: str | None = None
    map_result: str | None = None
    set_result: str | None = None
    set_stream: tuple[str, ...] | None = None
    stream_error: str | None = None

    def with_own(self) -> Iterator[ToolWrapSpec]:
        """Yield it, and what it does for single tools by name."""
        yield self
        for own in self.by_tool.values():
            yield from own.with_own()


class ModelWrapSpec(Spec):
    """A wrapper around model calls; ``{}`` passes through.

    With ``error`` it raises a ScriptedError of that text when it is called, before
    ``next``; so it does with ``interrupt``. ``<answer>`` in a text of it stands for
    what it was answered. ``hide_tools`` takes tools out of this request only, with
    ``hide_on_call`` only out of the nth that it wraps. ``set_options`` joins the
    options of this request, with ``clear_options`` it stands in their place, and with
    ``options_on_call`` both are done to those of the nth alone.
    """

    record_factory: bool = False
    record: str | None = None
    error: str | None = None
    interrupt: InterruptSpec | None = None
    ask: AskSpec | None = None
    map_output: str | None = None
    set_content: str | None = None
    concat_stream: bool = False
    prefix_user_input: str | None = None
    append_input: MessageText | None = None
    hide_tools: tuple[str, ...] = ()
    hide_on_call: PositiveInt | None = None
    clear_options: bool = False
    set_options: dict[str, JsonValue] | None = None
    options_on_call: PositiveInt | None = None


class WrapToolCallSpec(Spec):
    """The tool wrappers of a struct middleware; a kind left out is not wrapped."""

    invokable: ToolWrapSpec | None = None
    streamable: ToolWrapSpec | None = None


class MiddlewareSpec(Spec):
    """A struct middleware; ``id`` only labels what it puts down.

    Its callbacks are plain functions, or coroutine functions with ``waits``; those
    that block are that in any case. They put a new list into the state that they are
    given, or with ``in_place`` edit the one that is there.
    """

    id: str = ""
    waits: bool = False
    in_place: bool = False
    additional_instruction: str = ""
    additional_tools: tuple[ToolSpec, ...] = ()
    before_chat_model: tuple[MessageOp, ...] = ()
    after_chat_model: tuple[MessageOp, ...] = ()
    wrap_tool_call: WrapToolCallSpec = WrapToolCallSpec()

    @property
    def awaits(self) -> bool:
        """Whether its callbacks are coroutine functions."""
        return self.waits or _has(Block, self.before_chat_model, self.after_chat_model)


class HandlerSpec(Spec):
    """A handler; a hook left out is not overridden.

    Its hooks are coroutine functions, or with ``plain`` plain ones where they may be.
    ``same_as`` is the very object of an earlier position once more, and stands alone.
    ``before_agent`` puts a new list of tools, and a new map of flags, into the
    configuration, or with ``in_place`` edits those that are there.
    """

    id: str = ""
    plain: bool = False
    in_place: bool = False
    same_as: int | None = Field(default=None, ge=0)
    before_agent: tuple[ConfigOp, ...] | None = None
    before_model: tuple[MessageOp, ...] | None = None
    after_model: tuple[MessageOp, ...] | None = None
    after_agent: tuple[MessageOp, ...] | None = None
    wrap_model: ModelWrapSpec | None = None
    wrap_invokable: ToolWrapSpec | None = None
    wrap_streamable: ToolWrapSpec | None = None

    @model_validator(mode="after")
    def _same_as_alone(self) -> HandlerSpec:
        if self.same_as is not None and self.model_fields_set != {"same_as"}:
            raise ValueError("'same_as' stands alone")
        return self

    @model_validator(mode="after")
    def _plain_does_not_block(self) -> HandlerSpec:
        hooks = self.before_agent, self.before_model, self.after_model, self.after_agent
        if self.plain and _has(Block | GiveBack, *hooks):
            raise ValueError(
                "'block_until_cancel' and 'give_back' need hooks that are not 'plain'"
            )
        return self


def _has(kinds: type[Op] | UnionType, *hooks: Sequence[Op] | None) -> bool:
    return any(isinstance(op, kinds) for todo in hooks for op in todo or ())


class RetrySpec(Spec):
    """How often a model that failed is asked again, and which models after it.

    The agent's model, and then each of those named in ``fall_back``, has one attempt
    and ``max_retries`` more; whichever is asked gives the next answer of the script.
    ``retry_on`` is the name of the one error that is worth it; without it all are.
    Before the nth retry of a model n times ``wait_ms`` pass; with ``backoff`` it is put
    down that the policy was asked for it.
    """

    max_retries: int = Field(default=0, ge=0)
    retry_on: str | None = None
    backoff: Literal["record"] | None = None
    wait_ms: int = Field(default=0, ge=0)
    fall_back: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _names_tell_models_apart(self) -> RetrySpec:
        if not all(self.fall_back) or len({*self.fall_back}) < len(self.fall_back):
            raise ValueError("'fall_back' names each model once")
        return self

    @property
    def attempts(self) -> int:
        """How often models are asked in one iteration at most."""
        return (1 + self.max_retries) * (1 + len(self.fall_back))

    def model_at(self, attempt: int) -> str:
        """Return who is asked at an attempt, from 1 on: "" is the agent's model."""
        return ("", *self.fall_back)[(attempt - 1) // (1 + self.max_retries)]

    def retry_at(self, attempt: int) -> int:
        """Return which retry of its model follows an attempt; 0 if no retry does."""
        return attempt % (1 + self.max_retries)


class AgentSpec(Spec):
    """An agent; every key may be left out.

    ``output_key`` is the name under which the caller keeps the answer of a run.
    ``<name>`` and ``<args>`` in ``unknown_tools_handler`` stand for those of the call,
    ``<asked>`` for how often it was asked.
    """

    name: str = ""
    instruction: str = ""
    tools: tuple[ToolSpec, ...] = ()
    return_directly: dict[str, bool] = Field(default_factory=dict)
    tool_call_middlewares: tuple[ToolWrapSpec, ...] = ()
    middlewares: tuple[MiddlewareSpec, ...] = ()
    handlers: tuple[HandlerSpec, ...] = ()
    max_iterations: int = 20
    unknown_tools_handler: str | None = None
    sequential: bool = False
    output_key: str | None = None
    retry: RetrySpec | None = None

    @property
    def every_tool(self) -> Iterator[ToolSpec]:
        """The tools that it has, and those that its extensions bring."""
        yield from self.tools
        for struct in self.middlewares:
            yield from struct.additional_tools
        for handler in self.handlers:
            for op in handler.before_agent or ():
                if isinstance(op, AppendTools):
                    yield from op.tools

    def answer_for(self, name: str, arguments: str, asked: int) -> str:
        """Return what ``unknown_tools_handler`` answers a call, asked so often."""
        text = (self.unknown_tools_handler or "").replace("<asked>", str(asked))
        return text.replace("<args>", arguments).replace("<name>", name)

    @model_validator(mode="after")
    def _refer_back(self) -> AgentSpec:
        for at, handler in enumerate(self.handlers):
            if handler.same_as is not None and handler.same_as >= at:
                raise ValueError(
                    f"handlers[{at}].same_as={handler.same_as}:"
                    " name an earlier position"
                )
        return self


class ModelFailure(Spec):
    """The model call fails with an error of that name."""

    error: str


def _readable_chunk(text: str) -> str:
    parse_chunk(text)
    return text


ChunkText: TypeAlias = Annotated[str, AfterValidator(_readable_chunk)]
"""A chunk of an answer; one that brings pieces of calls has the JSON form."""


class ModelChunks(Spec):
    """The answer in these chunks; then, if named, the stream fails.

    Between two of them ``chunk_ms`` pass where it is streamed.
    """

    chunks: tuple[ChunkText, ...]
    stream_error: str | None = None
    chunk_ms: int = Field(default=0, ge=0)


def _kind_of_entry(value: object) -> str:
    if isinstance(value, str):
        return "message"
    has_error = isinstance(value, ModelFailure) or (
        isinstance(value, dict) and "error" in value
    )
    return "failure" if has_error else "chunks"


ScriptEntry: TypeAlias = Annotated[
    Annotated[MessageText, Tag("message")]
    | Annotated[ModelFailure, Tag("failure")]
    | Annotated[ModelChunks, Tag("chunks")],
    Discriminator(_kind_of_entry),
]


class CancelSpec(Spec):
    """Cancels the task that plays a run the ``nth`` time that ``when`` is put down.

    ``when`` is an entry of the trace by what it is ``at``, ``model_call`` or
    ``tool_run``, or a kind of observation. What happens next at that point is that
    CancelledError is raised, wherever the run waits. Engines that cancel only between
    two parts of an iteration, and tell it as an event, do so in other modes: ours has
    none of them.
    """

    mode: Literal["immediate"] = "immediate"
    when: str
    nth: PositiveInt = 1


class TargetSpec(Spec):
    """An interrupt that a resumed run answers with ``data``: by tool, or by address.

    An address is that of ``record_interrupts``. One that fits several answers all.
    """

    tool: str | None = None
    address: tuple[tuple[str, ...], ...] | None = None
    data: JsonValue = None

    @model_validator(mode="after")
    def _one_way_to_name_it(self) -> TargetSpec:
        if (self.tool is None) == (self.address is None):
            raise ValueError("give either 'tool' or 'address'")
        return self


class ReplySpec(Spec):
    """How a person answers a graph that waits for one.

    ``value`` answers a question of the subject's own, whose form nothing else knows;
    what a framework asks, and a run that only stops, is answered by ``kind``.
    ``<args>`` in it stands for the arguments that were asked about, one of them edited,
    or left out where the answer is ``fewer``.
    """

    kind: Literal["yes", "no", "edited", "fewer", "text", "nothing"] = "yes"
    value: JsonValue = True


ValueDoor: TypeAlias = Literal["configurable", "context", "metadata", "state"]
"""How a caller of a graph gives it a value by name; its state is its input."""


HandOverPoint: TypeAlias = Literal["interrupted", "between turns", "failed"]
"""Where a session is handed over: in a run that asks, after one, after one that failed
in a tool."""


class RunSpec(Spec):
    """One run of an agent.

    One that ``continues`` is a turn: it starts from the messages of the agent's last
    run, without the one that the engine itself put first, and then its own input. By
    its ``thread`` alone it does so where a graph keeps one, since its caller hands
    nothing on; our own engine has no threads, and knows no difference.
    ``options`` reach the model and the tools, and a graph by each way in that it has
    for them; ``doors`` are what its caller gives by one of these alone, and ``context``
    also what one of our own agents is given. It lets the graph run for ``steps``.
    ``denies`` are ids of tool calls that a person who is asked for approval denies; all
    others are approved. ``replies`` answer what a graph waits for in turn, and the
    first again after the last.

    An ``early`` run is there before its consumer reads the one before it, and it is
    read after that: two runs at one time.

    Of each stream its consumer reads so many chunks as ``reads`` says, all of them by
    default, and closes it.

    ``checkpoint`` is the key under which the run is kept. With ``resume`` the run of
    that key goes on instead: it has no input, and is streamed if that one was. What
    waits is answered null, all of it; or only what ``targets`` or ``answers`` name. The
    keys of ``answers`` are addresses, in full or their ends, or ``*`` for all others,
    each of which ``<address>`` answers with its own address.
    With ``rebuild`` the agent is built anew before, from objects that know nothing of
    what was, as in another process.
    """

    input: tuple[MessageText, ...] = ()
    continues: bool | Literal["thread"] = False
    early: bool = False
    options: dict[str, JsonValue] = Field(default_factory=dict)
    doors: dict[ValueDoor, dict[str, JsonValue]] = Field(
        default_factory=dict[ValueDoor, dict[str, JsonValue]]
    )
    steps: PositiveInt | None = None
    replies: tuple[ReplySpec, ...] = ()
    denies: tuple[str, ...] = ()
    streaming: bool = False
    reads: PositiveInt | None = None
    via: Literal["agent", "runner"] = "agent"
    agent: int = Field(default=0, ge=0)
    checkpoint: str | None = None
    resume: str | None = None
    targets: tuple[TargetSpec, ...] = ()
    answers: dict[str, JsonValue] | Literal["all"] = "all"
    rebuild: bool = False
    cancel: CancelSpec | None = None
    after: tuple[CallerOp, ...] = ()

    @model_validator(mode="after")
    def _resume_takes_no_input(self) -> RunSpec:
        begins = self._given("input", "continues", "early", "streaming", "checkpoint")
        goes_on = self._given("targets", "answers", "rebuild")
        if self.resume is not None and begins:
            raise ValueError(f"a run that resumes has no {begins[0]!r}")
        if self.resume is None and goes_on:
            raise ValueError(f"{goes_on[0]!r} needs 'resume'")
        if self.early and self.continues:
            raise ValueError("a run that is 'early' cannot go on from the one before")
        if self.targets and self.answers != "all":
            raise ValueError("give either 'targets' or 'answers'")
        return self

    def _given(self, *names: str) -> list[str]:
        """Return which of these fields are not as they are when left out."""
        known = type(self).model_fields
        return [name for name in names if getattr(self, name) != known[name].default]


class Scenario(Spec):
    """A session: agents, what their model answers, and the runs.

    Every agent plays the whole ``model_script`` from its start. Past its end the model
    answers ``assistant:EXHAUSTED``, repeats its last entry, or fails (``script_end``).
    ``way`` is how a graph of another framework is run, where it can be; our own engine
    has one way. A session with a ``hand_over`` is played in two halves, the other one
    from what was kept at that point; only a check of a migration plays it so.
    """

    version: Literal[1] = VERSION
    subject: Literal["agent"] = "agent"
    agent: AgentSpec | None = None
    agents: tuple[AgentSpec, ...] = ()
    model_script: tuple[ScriptEntry, ...] = ()
    script_end: Literal["exhausted", "repeat_last", "fail"] = "exhausted"
    runs: tuple[RunSpec, ...] = ()
    way: Literal["async", "sync"] = "async"
    hand_over: HandOverPoint | None = None
    after_build: tuple[CallerOp, ...] = ()

    @model_validator(mode="after")
    def _one_way_to_name_agents(self) -> Scenario:
        if (self.agent is None) == (not self.agents):
            raise ValueError("give either 'agent' or a non-empty list 'agents'")
        for at, run in enumerate(self.runs):
            if run.agent >= len(self.all_agents):
                raise ValueError(
                    f"runs[{at}].agent={run.agent}: there is no such agent"
                )
        for tool in chain.from_iterable(each.every_tool for each in self.all_agents):
            if (tool.agent or 0) >= len(self.all_agents):
                raise ValueError(
                    f"tool {tool.name!r}, agent={tool.agent}: there is no such agent"
                )
        return self

    @property
    def keeps(self) -> bool:
        """Whether some run is kept or resumed."""
        return any(run.checkpoint or run.resume for run in self.runs)

    @property
    def is_read_whole(self) -> bool:
        """Whether the consumer reads each stream to its end."""
        return all(run.reads is None for run in self.runs)

    @property
    def all_agents(self) -> tuple[AgentSpec, ...]:
        """The agents, one or several."""
        return self.agents if self.agent is None else (self.agent,)


ToolWrapSpec.model_rebuild()
