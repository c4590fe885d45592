"""A file that a side's process runs before it imports the side, as production does."""

import json
from pathlib import Path

import pytest

from compat.migration.refs import parse_ref
from compat.migration.replies import SideFault
from compat.migration.subject_process import SubjectProcess
from tests.commands import refengine

AGENT = """\
import logging

import greeting
from refengine import AgentMiddleware

def subject(world):
    logging.getLogger("mine").warning("made")
    return [AgentMiddleware(additional_instruction=greeting.text())]
"""
GREETING = "def text():\n    return 'Hello.'\n"
PATCHES = """\
import greeting

plain = greeting.text
greeting.text = lambda: plain() + " Bye."
"""
WATCHES = """\
import logging
import socket
import threading

import greeting

plain = greeting.text

def watched():
    print("seen")
    logging.getLogger("observer").warning("seen")
    try:
        socket.create_connection(("192.0.2.1", 4318))
    except OSError:
        pass
    return plain()

greeting.text = watched
threading.Thread(target=threading.Event().wait, daemon=True).start()
"""
SPANS = """\
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
import greeting

class Sends(SpanExporter):
    def export(self, spans):
        raise OSError("there is no collector")

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Sends()))
plain = greeting.text

def traced():
    with provider.get_tracer("observer").start_as_current_span("text"):
        return plain()

greeting.text = traced
"""
STARTS = """\
import subprocess, sys
try:
    subprocess.run([sys.executable, "-V"])
except Exception:
    pass
"""
POLICY = """\
import asyncio

class Fast(asyncio.DefaultEventLoopPolicy):
    pass

asyncio.set_event_loop_policy(Fast())
"""
OBSERVER = """\
_provider = None

def set_provider(each):
    global _provider
    _provider = each
"""
OFF = """\
import os
import observer

os.environ["OTEL_SERVICE_NAME"] = "mine"
observer.set_provider("mine")
"""
FAST = ("--examples", "1", "--search-plays", "0", "--sharpness-plays", "0")


ASKS = f"import platform\nplatform.architecture()\n{PATCHES}"


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    (tmp_path / "greeting.py").write_text(GREETING, "utf-8")
    (tmp_path / "agent.py").write_text(AGENT, "utf-8")
    return tmp_path


def checked(folder: Path, setup: str, *more: str):
    (folder / "tracing.py").write_text(setup, "utf-8")
    line = ("migrate", "check", "agent.py", "--new-setup", "tracing.py")
    return refengine(*line, *FAST, *more, at=folder)


def side(folder: Path, setup: str, **how: float) -> SubjectProcess:
    (folder / "tracing.py").write_text(setup, "utf-8")
    ref = parse_ref("agent.py", cwd=folder)
    observed = type(ref)(
        ref.text, ref.name, ref.cwd, ref.file, setup=folder / "tracing.py"
    )
    return SubjectProcess(observed, "new", **how)


def test_what_a_setup_changes_is_a_divergence_under_its_name(agent: Path) -> None:
    done = checked(agent, PATCHES, "--json", "report.json")

    assert (done.returncode, done.stderr) == (1, "")
    assert "INSTRUCTION" in done.stdout
    assert "old  agent.py, plain" in done.stdout
    assert "new  agent.py, with tracing.py" in done.stdout
    assert "tracing.py: 1 patch, 0 spans" in done.stdout
    header = json.loads((agent / "report.json").read_text("utf-8"))["header"]
    assert header["setups"]["new"]["changed"] == 1


def test_what_a_setup_does_itself_is_no_effect_of_the_side(agent: Path) -> None:
    """Neither what it prints and logs, nor the connection that it is refused."""
    done = checked(agent, WATCHES, "--sharpness-plays", "20")

    assert (done.returncode, done.stderr) == (0, "")
    assert "HOLDS  identical" in done.stdout
    assert "small changes of NEW" in done.stdout


def test_spans_are_counted_and_sent_nowhere(agent: Path) -> None:
    pytest.importorskip("opentelemetry.sdk")
    (agent / "tracing.py").write_text(SPANS, "utf-8")

    done = checked(agent, SPANS)

    assert (done.returncode, done.stderr) == (0, "")
    assert "HOLDS WEAKLY  identical" in done.stdout
    assert "tracing.py: brought opentelemetry-sdk " in done.stdout
    assert "none of which was sent" in done.stdout
    assert " 0 spans" not in done.stdout
    assert "there is no collector" not in done.stdout


@pytest.mark.parametrize("setup", ["import greeting\n", OFF])
def test_setup_that_does_nothing_is_no_pass(setup: str, agent: Path) -> None:
    """Neither one without a line that turns it on, nor one that sets up itself."""
    (agent / "observer.py").write_text(OBSERVER, "utf-8")

    done = checked(agent, setup)

    assert done.returncode == 4
    assert "NOT EXERCISED" in done.stdout
    assert "tracing.py: no span, no patch: is it on?" in done.stdout


def test_settings_name_a_setup(agent: Path) -> None:
    (agent / "tracing.py").write_text(PATCHES, "utf-8")
    (agent / "migration.toml").write_text(
        'old = "agent.py"\nnew_setup = "tracing.py"\n'
        '[cases."agent.py"]\ndiverges = "INSTRUCTION"\n',
        "utf-8",
    )

    done = refengine("migrate", "check", "--all", ".", *FAST, at=agent)

    assert (done.returncode, done.stderr) == (0, "")


def test_setup_that_is_missing_is_named(agent: Path) -> None:
    line = ("migrate", "check", "agent.py", "--new-setup", "trace.py", *FAST)

    done = refengine(*line, at=agent)

    assert done.returncode == 2
    assert "there is no setup trace.py in" in done.stderr


@pytest.mark.parametrize(
    ("setup", "told"),
    [
        ("import nowhere", "fails: ModuleNotFoundError: No module named 'nowhere'"),
        ("def", "fails: SyntaxError"),
        ("\n1 / 0", "fails: ZeroDivisionError: division by zero (tracing.py, line 2)"),
        ("raise SystemExit(3)", "ends the process (SystemExit: 3)"),
        ("import os\nos._exit(3)", "ends the process (status 3)"),
        ("import os\nos.fork()", "starts a process"),
        (STARTS, "starts a process"),
        ("import time\ntime.sleep = print", "replaces time.sleep"),
        ("import time\ntime.perf_counter = print", "replaces time.perf_counter"),
        ("import json\njson.dumps = print", "replaces json.dumps, by which the side"),
        (POLICY, "replaces the policy of asyncio's event loops"),
        ("import io, sys\nsys.stdout = io.StringIO()", "replaces sys.stdout"),
        ("import os\nos.closerange(3, 64)", "or takes the pipes by which"),
    ],
)
def test_setup_that_cannot_be_used_is_told_in_one_line(
    setup: str, told: str, agent: Path
) -> None:
    done = checked(agent, f"{setup}\n")

    assert done.returncode == 2
    assert "  new (agent.py, with tracing.py): its setup tracing.py" in done.stdout
    assert told in done.stdout


def test_what_python_asks_of_the_system_is_no_process_of_a_setup(agent: Path) -> None:
    """As some packages do when they are imported: it ends before it is answered."""
    with side(agent, ASKS).waited() as new:
        assert new.loaded.changed == 1


def test_setup_that_hangs_is_named_with_its_line(agent: Path) -> None:
    with pytest.raises(SideFault) as caught:
        side(agent, "while True:\n    pass\n", import_timeout=3.0).waited()

    told = str(caught.value)
    assert "its setup tracing.py did not end within 3 s (tracing.py, line " in told


def test_setup_beside_the_subject_is_none_of_its_files(agent: Path) -> None:
    with side(agent, PATCHES).waited() as new:
        assert new.loaded.files == ("agent.py", "greeting.py")
        assert (new.loaded.changed, new.loaded.spans) == (1, 0)


ONCE_MORE = {"change": None, "steps": 10_000}
WATCHED_LIBRARY = """\
import click

plain = click.echo
click.echo = lambda *given: plain(*given)
"""


def test_small_changes_share_a_process_in_which_a_setup_ran(agent: Path) -> None:
    with side(agent, WATCHED_LIBRARY).waited() as new:
        new.load_anew(ONCE_MORE)

        assert (new.loaded.changed, new.alive) == (1, True)


def test_setup_that_holds_what_is_the_sides_own_runs_in_each_process(
    agent: Path,
) -> None:
    """The module that it patched would be another one, plain."""
    with side(agent, PATCHES).waited() as new, pytest.raises(SideFault) as caught:
        new.load_anew(ONCE_MORE)

    assert caught.value.kind == "spoiled"


PROVIDER_BEFORE = """from opentelemetry.sdk.trace import TracerProvider
provider = TracerProvider()
"""
KINDS = {
    "an attribute": "import click\nclick.echo = print\n",
    "a method": "import click\nclick.Command.main = print\n",
    "a collection": "import observer\nobserver.callbacks.append(print)\n",
    "a module": "import sys, click\nsys.modules['click'] = type(sys)('click')\n"
    "sys.modules['click'].echo = print\n",
}


@pytest.mark.parametrize("how", KINDS)
def test_each_kind_of_patch_is_counted(how: str, agent: Path) -> None:
    (agent / "observer.py").write_text("callbacks = []\n", "utf-8")
    with side(agent, KINDS[how]).waited() as new:
        assert new.loaded.changed == 1


CUTS = """\
import langchain_core.tools as tools

plain = tools.BaseTool.ainvoke

async def ainvoke(self, *given, **named):
    found = await plain(self, *given, **named)
    found.content = found.content[:4096]
    return found

tools.BaseTool.ainvoke = ainvoke
"""


def test_observer_that_cuts_long_texts_is_found(agent: Path) -> None:
    (agent / "agent.py").write_text(GRAPH, "utf-8")

    done = checked(agent, CUTS)

    assert done.returncode == 1
    assert "MESSAGE_CHANGED" in done.stdout


GRAPH = """\
from langchain.agents import create_agent

def subject(world):
    lc = world.as_langchain()
    return create_agent(lc.model, lc.tools)
"""
ADDS = """\
import langchain.agents
from langchain.agents.middleware import before_agent

plain = langchain.agents.create_agent

@before_agent
def watch(state, runtime):
    return None

langchain.agents.create_agent = lambda *given, **more: plain(
    *given, middleware=[watch], **more
)
"""


def test_node_that_an_observer_adds_is_told_with_the_limit_it_costs(
    agent: Path,
) -> None:
    (agent / "agent.py").write_text(GRAPH, "utf-8")

    done = checked(agent, ADDS)

    assert (done.returncode, done.stderr) == (1, "")
    assert "NODES  A run goes through other nodes of its graph" in done.stdout
    assert "(nodes [0].smallest_recursion_limit)\n" in done.stdout
    assert "\n  old    2\n  new    3\n" in done.stdout
    assert "+ watch.before_agent\n      model" in done.stdout
    assert "ERROR_NEW in errors: " in done.stdout
