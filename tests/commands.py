"""Our own commands, run in this process, which has imported what they need.

What they start is started as ever. Each command is also run as a process of its own by
some test, as users run it.
"""

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess

from pydantic import TypeAdapter

from compat.cli.main import main
from compat.verdicts.conformance import AnyEvent


def refengine(*arguments: str, at: Path) -> CompletedProcess[str]:
    """Run a command in a folder; return how it ended and what it printed."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    code: object = None
    with chdir(at), redirect_stdout(out), redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as ended:
            code = ended.code
    assert code is None or isinstance(code, int)
    printed = [_text(each) for each in (out, err)]
    return CompletedProcess(arguments, code or 0, *printed)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def read_stream(text: str) -> list[AnyEvent]:
    """Return the events of a judgement, as ``--events`` writes them."""
    events: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
    return [events.validate_json(line) for line in text.splitlines()]
