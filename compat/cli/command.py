"""The shape of a command: what may stand on its line, its help, and how it ends.

click reads the lines. What differs from it is here: help names each argument with what
it is for, and a mistake is answered in the same words whatever version of click there
is. A command is a function that returns its exit code.
"""

from __future__ import annotations

import difflib
import errno
import os
import shlex
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn, TypeVar

import click
from click.core import ParameterSource

from compat.cli.values import TEXT, Kind, Number
from compat.verdicts.exit_codes import FAULT, INTERNAL, INTERRUPTED, OK, USAGE
from refengine.testing.owned import sweep

Function = TypeVar("Function", bound=Callable[..., Any])

SWEEP: Final = "REFENGINE_SWEEP"
"""The variable that, ``off``, has a command leave what a killed one left behind.

So tests that kill commands on purpose change no other command's output.
"""
SWEEPERS: Final = frozenset(("audit", "bench", "conform", "migrate"))
"""The commands that start processes, and so look for what others have left."""
OPTIONS: Final = "Options"
"""The part of the help where an option stands that names no other."""
SIDES_PART: Final = "What each side is"
PROGRAMS_PART: Final = "Sides that are programs"
WORLDS_PART: Final = "Which worlds"
CLAUSES_PART: Final = "Which clauses"
SHARP_PART: Final = "How sharp the answer is"
REPORTS_PART: Final = "Files to write"
REACH_PART: Final = "What the sides may use of this machine"
"""Parts of a long help."""
_SENTENCE: Final = 300
"""A sentence of so many characters is not cut."""
BROKEN_PIPE: Final = 141
TERMINATED: Final = 143
"""As a shell has it for programs that SIGPIPE and SIGTERM ended."""


class LineArgument(click.Argument):
    """A value that stands on the line without a name, with a line of help."""

    def __init__(self, *names: Any, about: str = "", **given: Any) -> None:  # noqa: ANN401  # click's
        super().__init__(*names, **given)
        self.about = about
        self.shown_default = given.get("default")

    @property
    def _named(self) -> str:
        return self.metavar or self.name or ""

    def make_metavar(self, ctx: Any = None) -> str:  # noqa: ANN401, ARG002  # click's
        """Return how the line of usage shows it."""
        named = self._named if self.required else f"[{self._named}]"
        return named.upper() if self.nargs == 1 else f"{named.upper()}..."

    def get_error_hint(self, ctx: Any) -> str:  # noqa: ANN401, ARG002  # click's
        """Return how an error names it."""
        return f"'{self._named}'"

    def help_row(self) -> tuple[str, str]:
        """Return its row of the help."""
        dots = "..." if self.nargs != 1 and self.metavar is None else ""
        return f"{self._named}{dots}", _described(self, self.about)


class LineOption(click.Option):
    """A value or a flag that is given by its name.

    ``part`` is the part of the help that lists it, where there is more than one.
    ``formerly`` are names that it had: they still work, are listed nowhere, and a line
    on standard error tells what each is called now.
    """

    def __init__(
        self,
        *names: Any,  # noqa: ANN401  # click's
        part: str = OPTIONS,
        formerly: Sequence[str] = (),
        **given: Any,  # noqa: ANN401  # click's
    ) -> None:
        super().__init__(*names, **given)
        self.part = part
        self.formerly = tuple(formerly)
        self.shown_default = given.get("default")

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:  # noqa: ANN401  # click's, of two names
        """Have a line read by all its names, the former ones apart."""
        super().add_to_parser(parser, ctx)
        action = "append" if self.multiple else "store"
        action = "store_const" if self.is_flag else action
        for each in self.formerly:
            given = {"opts": [each], "dest": each, "action": action, "const": True}
            parser.add_option(obj=self, **given)

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """Return what the line gives it by any of its names."""
        name, given = str(self.name), dict(opts)
        for each in self.formerly:
            if each in given:
                now = max(self.opts, key=len)
                click.echo(f"{ctx.command_path}: {each} is called {now} now", err=True)
                value = given[each]
                more = [*given.get(name, ()), *value] if self.multiple else value
                given[name] = more
        return super().consume_value(ctx, given)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return its row of the help, with default and bounds."""
        row = super().get_help_record(ctx)
        return None if row is None else (row[0], _described(self, row[1]))


def _described(of: LineArgument | LineOption, about: str) -> str:
    """Return what help says of it: what it is for, and what holds without it."""
    notes: list[str] = []
    default = of.shown_default
    if of.secondary_opts:
        default = (of.opts if default else of.secondary_opts)[0].lstrip("-")
    if default is not None and default is not False:
        notes.append(f"default: {default}")
    if isinstance(of.type, Number) and of.type.range:
        notes.append(of.type.range)
    if of.required and isinstance(of, LineArgument):  # click says so of an option
        notes.append("required")
    if isinstance(of, LineOption) and of.multiple:
        notes.append("may be repeated")
    return f"{about}  [{'; '.join(notes)}]".lstrip() if notes else about


class LineCommand(click.Command):
    """A command whose help lists its arguments before its options."""

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write both lists."""
        arguments = [each for each in self.params if isinstance(each, LineArgument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([each.help_row() for each in arguments])
        parts: dict[str, list[tuple[str, str]]] = {OPTIONS: []}
        for each in self.get_params(ctx):
            row = each.get_help_record(ctx)
            if row is not None and isinstance(each, click.Option):
                parts.setdefault(getattr(each, "part", OPTIONS), []).append(row)
        for part, rows in parts.items():
            with formatter.section(part):
                formatter.write_dl(rows)


class CommandGroup(click.Group):
    """Commands below a command, in the order in which they are declared."""

    command_class = LineCommand

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's
        """Return their names."""
        return list(self.commands)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002  # click's
        formatter: click.HelpFormatter,
    ) -> None:
        """List them, each with the whole first sentence of its help."""
        rows = [
            (name, each.get_short_help_str(limit=_SENTENCE))
            for name, each in self.commands.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read a line; one that names no command is answered with the help."""
        if not args and not ctx.resilient_parsing:  # as a shell completes
            click.echo(ctx.get_help(), err=True)
            ctx.exit(USAGE)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named, or refuse it with the nearest name."""
        name = args[0]
        if name not in self.commands and not name.startswith("-"):
            near = difflib.get_close_matches(name, self.commands)
            hint = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)


def group(about: str) -> CommandGroup:
    """Return a command that has commands below it."""
    return CommandGroup(help=about)


def command() -> Callable[[Callable[..., int]], click.Command]:
    """Make a command of a function; its docstring is the help."""
    return click.command(cls=LineCommand)


def argument(
    name: str,
    about: str = "",
    kind: Kind = TEXT,
    **given: Any,  # noqa: ANN401  # click's
) -> Callable[[Function], Function]:
    """Declare an argument; ``nargs=-1`` takes as many as there are."""
    return click.argument(name, cls=LineArgument, type=kind, about=about, **given)


def option(
    *names: str,
    about: str,
    kind: Kind = TEXT,
    **given: Any,  # noqa: ANN401  # click's
) -> Callable[[Function], Function]:
    """Declare an option; ``multiple=True`` takes it several times.

    ``part`` names the part of a long help that lists it, ``formerly`` what it was
    called before.
    """
    return click.option(*names, cls=LineOption, type=kind, help=about, **given)


def flag(
    *names: str,
    about: str,
    default: bool = False,
    **given: Any,  # noqa: ANN401  # click's
) -> Callable[[Function], Function]:
    """Declare an option without a value; ``--a/--no-a`` names its two sides."""
    given |= {"is_flag": True, "default": default, "help": about}
    return click.option(*names, cls=LineOption, **given)


def is_given(name: str) -> bool:
    """Say whether an option of the command that runs stands on its line.

    Only so a default is told from the same value, given where it does nothing.
    """
    context = click.get_current_context(silent=True)
    source = context and context.get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does: keeping what it found.

    It is no SystemExit, since Hypothesis takes one for a failure of what it draws for,
    and plays on.
    """


@contextmanager
def _ended_by_sigterm() -> Generator[list[int], None, None]:
    """Let SIGTERM end a command as Ctrl-C does; yield the signals that came."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came  # only the main thread hears of signals
        return

    def end(number: int, frame: object) -> NoReturn:  # noqa: ARG001  # signal's
        came.append(number)
        raise TerminatedError

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)


def line_again() -> str:
    """Return the line of the command that runs, to be given to a shell once more."""
    root = click.get_current_context().find_root()
    return f"{root.info_name} {shlex.join(root.obj)}"


def run(app: click.Command, name: str, line: Sequence[str]) -> int:
    """Do what a line asks of a command; return the exit code.

    An error that is refengine's own is told as one: Python would end with 1, which is
    a verdict.
    """
    try:
        return _told(name, lambda: _run(app, name, line))
    except Exception as error:  # noqa: BLE001  # whatever it is
        end = _interrupt_in(error)
        return _internal(name) if end is None else _ended(name, end)


def _run(app: click.Command, name: str, line: Sequence[str]) -> int:
    if name in SWEEPERS and os.environ.get(SWEEP) != "off" and (left := sweep()):
        what = "a process" if left == 1 else f"{left} processes"
        sys.stderr.write(
            f"refengine: ended {what} left by a run that was killed"
            f" ({SWEEP}=off leaves them alone)\n"
        )
    try:
        with (
            _ended_by_sigterm() as came,
            app.make_context(f"refengine {name}", list(line), obj=[*line]) as context,
        ):
            code: int | None = app.invoke(context)
            return TERMINATED if came else code or OK
    except click.exceptions.Exit as end:  # of --help
        return end.exit_code
    except click.UsageError as error:
        if isinstance(error, click.NoSuchOption):
            error = click.UsageError(_unknown_option(error), error.ctx)
        error.show()
        return USAGE


def _told(name: str, command: Callable[[], int]) -> int:
    """Do what writes to standard output, and return its code, or why it ended."""
    try:
        code = command()
        sys.stdout.flush()  # here, since at the end Python only grumbles
    except KeyboardInterrupt as end:
        return _ended(name, end)
    except SystemExit as end:  # rich ends so, with 1, where the reader went away
        if isinstance(end.__context__, BrokenPipeError):
            return BROKEN_PIPE
        raise
    except OSError as error:
        if error.errno not in _OF_OUTPUT or error.filename is not None:
            raise
        return untold(name, error)
    return code


def _ended(name: str, end: KeyboardInterrupt) -> int:
    """Say by what a command was ended, and where if that is told; return its code."""
    terminated = isinstance(end, TerminatedError)
    how = "terminated" if terminated else "interrupted"
    said = " ".join([how, *map(str, end.args)])
    sys.stderr.write(f"refengine {name}: {said}\n")
    return TERMINATED if terminated else INTERRUPTED


def _interrupt_in(error: BaseException | None) -> KeyboardInterrupt | None:
    """Return the interruption of which an error came: Python wraps one, as in a class.

    That which ``__set_name__`` raises is the cause of a RuntimeError up to 3.11.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


def untold(name: str, error: OSError) -> int:
    """Say that standard output takes no more, if that is no reader's wish."""
    # Python flushes once more at its end, and would tell of it then.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return BROKEN_PIPE
    sys.stderr.write(f"refengine {name}: standard output: {error.strerror}\n")
    return USAGE


_OF_OUTPUT: Final = frozenset((errno.EPIPE, errno.ENOSPC, errno.EIO))
"""What comes of writing to standard output."""


def _internal(name: str) -> int:
    """Tell of an error that is refengine's own; return its code."""
    from compat.wire.scrubbing.scrubber import output_scrubber

    what = f"refengine {name}: an error of refengine itself, please report it\n"
    sys.stderr.write(output_scrubber().text(traceback.format_exc() + what))
    return INTERNAL


def _unknown_option(error: click.NoSuchOption) -> str:
    of = error.ctx.command.params if error.ctx is not None else ()
    known = ["--help", *(name for each in of for name in each.opts if "-" in name[:1])]
    near = sorted(difflib.get_close_matches(error.option_name, known))
    hint = f" (Possible options: {', '.join(near)})" if near else ""
    return f"No such option: {error.option_name}{hint}"


def refuse(name: str, message: object, code: int = USAGE) -> NoReturn:
    """Report a user's mistake, or what else is in the way, in its words, and leave."""
    from compat.report.plain_text import visible
    from compat.wire.scrubbing.scrubber import output_scrubber

    said = output_scrubber().text(f"refengine {name}: {message}\n")
    sys.stderr.write(visible(said))
    raise SystemExit(code)


@contextmanager
def refusing(
    name: str, *mistakes: type[Exception], code: int = USAGE
) -> Generator[None, None, None]:
    """Turn these exceptions into a message and the exit code, without a traceback."""
    try:
        yield
    except mistakes as error:
        refuse(name, _text(error), code)


@contextmanager
def refusing_to_judge(
    name: str, *mistakes: type[Exception]
) -> Generator[None, None, None]:
    """Report what is wrong with what was given, and with what was installed."""
    from compat.models.errors import MissingSessionsError

    with refusing(name, *mistakes), refusing(name, MissingSessionsError, code=FAULT):
        yield


def _text(error: Any) -> str:  # noqa: ANN401  # any of the mistakes
    if isinstance(error, OSError) and error.strerror is not None:
        named = "" if error.filename is None else f"{error.filename}: "
        if isinstance(error, IsADirectoryError):
            return f"{named}this is a folder: name a file"
        return f"{named}{error.strerror}"
    return str(error)
