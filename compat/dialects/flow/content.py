"""What is said: contents, and the parts that they are made of.

A part holds one thing; a part that holds nothing is possible, since a stream brings
such. Arguments and results of calls are JSON objects, as in the seed, and not the text
of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compat.dialects.flow.values import freeze
from refengine.messages import NOTHING, Json


@dataclass(frozen=True, slots=True)
class PartialArg:
    """A piece of a call's arguments, in a stream that tells them one by one.

    ``path`` says where it stands, such as ``$.to.city`` or ``$.stops[0]``; text is put
    behind text that stands there, and any other value takes the place.
    """

    path: str
    value: Json = field(default=None, hash=False)

    def __post_init__(self) -> None:
        freeze(self, "value")


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """What the model asks a tool to do; ``id`` is empty until the flow fills it.

    A chunk may hold a call that is not whole: ``partial_args`` are then what it adds,
    and ``will_continue`` says that more comes. A whole call has neither.
    """

    name: str
    args: Mapping[str, Json] = field(default=NOTHING, hash=False)
    id: str = ""
    partial_args: tuple[PartialArg, ...] = ()
    will_continue: bool | None = None

    def __post_init__(self) -> None:
        freeze(self, "args")


@dataclass(frozen=True, slots=True)
class FunctionResponse:
    """What a tool gave back; ``response`` None is a tool that gave nothing."""

    name: str
    response: Mapping[str, Json] | None = field(default=NOTHING, hash=False)
    id: str = ""

    def __post_init__(self) -> None:
        freeze(self, "response")


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes that stand in the content itself."""

    data: bytes
    mime_type: str = ""
    display_name: str = ""


@dataclass(frozen=True, slots=True)
class FileData:
    """A file that stands elsewhere, named by its URI."""

    uri: str
    mime_type: str = ""
    display_name: str = ""


@dataclass(frozen=True, slots=True)
class CodeResult:
    """What code that the model wrote gave when it was run."""

    output: str = ""
    outcome: str = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One piece of a content: text, a call, a response, bytes, a file or code.

    ``thought`` marks text as the model's thinking. ``metadata`` is what a vendor adds
    to a piece, of which the flow reads nothing; a part of nothing else is not empty.
    """

    text: str = ""
    thought: bool = False
    call: FunctionCall | None = None
    response: FunctionResponse | None = None
    blob: Blob | None = None
    file: FileData | None = None
    code: str | None = None
    code_result: CodeResult | None = None
    metadata: Mapping[str, Json] = field(default=NOTHING, hash=False)

    def __post_init__(self) -> None:
        freeze(self, "metadata")

    @property
    def empty(self) -> bool:
        """Tell whether it holds nothing at all."""
        return self == _EMPTY


_EMPTY = Part()


@dataclass(frozen=True, slots=True)
class Content:
    """Parts that one side said; the role is ``user`` or ``model``, or is not known."""

    role: str = ""
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple):
            object.__setattr__(self, "parts", tuple(self.parts))

    @property
    def calls(self) -> tuple[FunctionCall, ...]:
        """The calls among its parts, in order."""
        return tuple(each.call for each in self.parts if each.call is not None)

    @property
    def responses(self) -> tuple[FunctionResponse, ...]:
        """The function responses among its parts, in order."""
        return tuple(each.response for each in self.parts if each.response is not None)

    @property
    def text(self) -> str:
        """The text of its parts, joined; thoughts are not part of it."""
        return "".join(each.text for each in self.parts if not each.thought)


def text_content(role: str, *texts: str) -> Content:
    """Return a content of that role with a text part for each text."""
    return Content(role, tuple(Part(text=each) for each in texts))
