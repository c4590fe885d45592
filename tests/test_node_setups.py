"""A module that Node runs before it loads a side in TypeScript, as production does."""

from pathlib import Path

import pytest

from tests.commands import refengine
from tests.node_support import needs_node

pytestmark = [needs_node, pytest.mark.usefixtures("driver_traffic")]

AGENT = """\
export const subject = () => ({
  system: String((globalThis as any).said ?? "Hello."),
  onStepFinish: () => undefined,
  experimental_telemetry: { isEnabled: true },
});
"""
SPANS = """\
import { trace } from "@opentelemetry/api";

const answers = { get: (_, name) => name === "isRecording" ? () => true : () => {} };
class Tracer {
  startSpan() { return new Proxy({}, answers); }
  startActiveSpan(_name, _options, work) { return work(this.startSpan()); }
}
const tracer = new Tracer();
trace.setGlobalTracerProvider({ getTracer: () => tracer });
console.log("on");
"""
SENDS = """\
import { connect } from "node:net";

const refused = (done) => connect(4318, "127.0.0.1").on("error", done);
globalThis.said = (await new Promise(refused)).code;
"""
STARTS = """\
import { spawnSync } from "node:child_process";
try { spawnSync("true"); } catch {}
"""
ON = ("--old-engine", "ai-sdk@6", "--new-engine", "ai-sdk@6")


def checked(folder: Path, setup: str, *more: str, name: str = "tracing.mjs"):
    (folder / "agent.ts").write_text(AGENT, "utf-8")
    (folder / name).write_text(setup, "utf-8")
    line = ("migrate", "check", "agent.ts", "--new-setup", name, "--examples", "1")
    return refengine(*line, "--search-plays", "0", *ON, *more, at=folder)


def test_spans_of_a_setup_are_counted_by_the_api_that_the_side_has(
    tmp_path: Path,
) -> None:
    """It has no packages itself; what it prints is no word of the side's."""
    done = checked(tmp_path, SPANS)

    assert done.returncode == 0
    assert "HOLDS WEAKLY  identical" in done.stdout
    assert "old  agent.ts, plain" in done.stdout
    assert "tracing.mjs: brought @opentelemetry/api 1." in done.stdout
    assert "; 0 patches, " in done.stdout
    assert " 0 spans" not in done.stdout


def test_what_a_setup_changes_is_a_divergence_under_its_name(tmp_path: Path) -> None:
    done = checked(tmp_path, 'globalThis.said = "Bye.";\n')

    assert done.returncode == 1
    assert "DIVERGES" in done.stdout
    assert "new  agent.ts, with tracing.mjs" in done.stdout
    assert "Bye." in done.stdout


def test_what_a_setup_sends_is_refused(tmp_path: Path) -> None:
    done = checked(tmp_path, SENDS)

    assert done.returncode == 1
    assert "ECONNREFUSED" in done.stdout


def test_function_of_everybodys_that_a_setup_replaces_is_a_patch(
    tmp_path: Path,
) -> None:
    setup = "const plain = fetch;\nglobalThis.fetch = (...given) => plain(...given);\n"

    done = checked(tmp_path, setup)

    assert "tracing.mjs: 1 patch, 0 spans, none of which was sent" in done.stdout


def test_setup_that_does_nothing_is_no_pass(tmp_path: Path) -> None:
    done = checked(tmp_path, "export {};\n")

    assert done.returncode == 4
    assert "tracing.mjs: no span, no patch: is it on?" in done.stdout


@pytest.mark.parametrize(
    ("setup", "told"),
    [
        ('import "nowhere";', "fails: Error: Cannot find package 'nowhere'"),
        ('\nthrow new TypeError("no key");', "fails: TypeError: no key (line 2)"),
        ("process.exit(3);", "ends the process (status 3)"),
        (STARTS, "starts a process, which no session could end"),
        ("globalThis.setTimeout = () => {};", "replaces setTimeout, by which"),
    ],
)
def test_setup_that_cannot_be_used_is_told_in_one_line(
    setup: str, told: str, tmp_path: Path
) -> None:
    done = checked(tmp_path, f"{setup}\n")

    assert done.returncode == 2
    assert "new agent.ts, with tracing.mjs: its setup tracing.mjs" in done.stdout
    assert told in done.stdout


@pytest.mark.parametrize(
    ("name", "more", "told"),
    [
        ("tracing.ts", (), "Node runs no setup tracing.ts: give one of .cjs, .js, .mj"),
        ("tracing.mjs", ("--new-with", "ai==7"), "packages are for sides in Python"),
    ],
)
def test_what_a_side_in_typescript_has_no_place_for_is_refused(
    name: str, more: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    done = checked(tmp_path, "export {};\n", *more, name=name)

    assert done.returncode == 2
    assert told in done.stderr
