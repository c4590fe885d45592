"""A user's own Go in the worlds of a check: what it is taken for, and its mistakes.

Without Go the checks are skipped, and how a package is found is tested all the same.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from compat.drivers.go_subjects import GoSubjectError, GoSubjects, go_subject
from compat.drivers.installed import go_driver
from compat.migration.check import Checked, check_all
from compat.migration.judge import Terms
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from tests.commands import refengine
from tests.go_support import HI, assert_told, corpus, mistaken, needs_go

pytestmark = pytest.mark.usefixtures("driver_traffic")
ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
FLAGS = re.MULTILINE | re.DOTALL
EMPTY = "package p\n\nfunc "


def subject(folder: Path, text: str, name: str = "") -> str:
    file = folder / "a.go"
    file.write_text(text, "utf-8")
    return go_subject("a.go", file, name).name


@pytest.mark.parametrize(
    ("source", "name", "found"),
    [
        (EMPTY + "Subject() {}\nfunc Other() {}", "", "Subject"),
        (EMPTY + "NewAudit() {}\nfunc helper() {}", "", "NewAudit"),
        (EMPTY + "A() {}\nfunc B() {}", "B", "B"),
        (
            "// func No() {}\npackage p\n\nconst x = `\nfunc No() {}`\nfunc A() {}",
            "",
            "A",
        ),
    ],
    ids=["the-usual-name", "the-only-one", "the-named-one", "none-of-texts"],
)
def test_the_function_of_a_file_is_the_named_one_or_the_only_one(
    tmp_path: Path, source: str, name: str, found: str
) -> None:
    assert subject(tmp_path, source, name) == found


@pytest.mark.parametrize(
    ("source", "name", "said"),
    [
        ("", "", "a.go has no package of Go"),
        (
            "package main\n\nfunc Subject() {}",
            "",
            "a.go is a package main, which nobody",
        ),
        (EMPTY + "helper() {}", "", "no function Subject; it exports no function"),
        (EMPTY + "A() {}\nfunc B() {}", "", "it exports A, B: say which, as in a.go:A"),
        (EMPTY + "NewAudit() {}", "NewAudits", "did you mean NewAudit? it exports"),
    ],
    ids=["empty", "main", "nothing-exported", "several", "misspelt"],
)
def test_a_file_without_a_function_to_call_is_told_with_what_it_has(
    tmp_path: Path, source: str, name: str, said: str
) -> None:
    with pytest.raises(GoSubjectError, match=r"^a\.go") as error:
        subject(tmp_path, source, name)

    assert said in str(error.value)


def test_a_package_changes_its_own_files_and_the_few_lines_that_call_it(
    tmp_path: Path,
) -> None:
    made: list[Mapping[str, bytes]] = []
    for name in ("A", "B"):
        file = tmp_path / f"{name}.go"
        file.write_text(f"{EMPTY}{name}() {{}}", "utf-8")
        package = GoSubjects((go_subject(file.name, file, ""),))
        made.append(replace(go_driver("eino@0.9.13"), subject=package).files())
    one, other = made
    changed = {each for each in {*one, *other} if one.get(each) != other.get(each)}

    # All else is what Go has built before.
    assert {name.partition("/")[0] for name in changed} == {"main", "subject"}


# With Go

EINO = """package p

import (
	"context"

	"github.com/cloudwego/eino/adk"
)

var (
	_ context.Context
	_ adk.AgentMiddleware
)

func Subject() adk.AgentMiddleware {
	return adk.AgentMiddleware{AdditionalInstruction: "Be kind."}
}
"""
HOOKED = """package p

import (
	"context"
	"os"

	"github.com/cloudwego/eino/adk"
)

var _ = os.Exit

type state = *adk.ChatModelAgentState

func Subject() adk.AgentMiddleware {
	return adk.AgentMiddleware{
		BeforeChatModel: func(context.Context, state) error { %s },
	}
}
"""


INSTEAD = 'adk.AgentMiddleware{AdditionalInstruction: "Be kind."}'
MISTAKES = {
    "another-type": (
        EINO.replace("adk.AgentMiddleware {", "int {").replace(INSTEAD, "1"),
        2,
        "new new.go: Subject returns a int: return adk.AgentMiddleware",
    ),
    "a-parameter": (
        EINO.replace("Subject()", "Subject(number int)"),
        2,
        "new new.go: Subject is a func(int) adk.AgentMiddleware: write one that takes",
    ),
    "nothing": (
        EINO.replace("adk.AgentMiddleware {", "*adk.AgentMiddleware {").replace(
            INSTEAD, "nil"
        ),
        2,
        "new new.go: Subject returns nil",
    ),
    "panics": (
        EINO.replace("return adk", 'panic("not today")\n\treturn adk'),
        2,
        "new new.go: panic: not today",
    ),
    "not-there": (
        EINO.replace("Subject", "subject"),
        2,
        "new new.go has no function Subject; it exports no function",
    ),
    "ends": (
        HOOKED % "os.Exit(3)\n\treturn nil",
        3,
        "new new.go: ended with exit status 3",
    ),
    "hangs": (HOOKED % "select {}", 3, "new new.go: gave no answer within 2 s"),
}


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Checked]:
    """Return what is said of each mistake; one driver is built of them all."""
    return mistaken(tmp_path_factory.mktemp("mistakes"), EINO, MISTAKES)


@needs_go
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_go_is_one_clear_line_and_a_code_of_its_own(
    faults: Mapping[str, Checked], mistake: str
) -> None:
    assert_told(faults[mistake], MISTAKES[mistake])


@needs_go
def test_what_does_not_compile_is_told_by_the_lines_of_its_own_file(
    tmp_path: Path,
) -> None:
    (tmp_path / "new.go").write_text(EINO.replace('"Be kind."', "undefined"), "utf-8")
    package = go_subject("my/new.go", tmp_path / "new.go", "")
    driver = replace(go_driver("eino@0.9.13"), subject=GoSubjects((package,)))

    with pytest.raises(GoSubjectError) as error:
        driver.built()

    assert str(error.value) == (
        "my/new.go does not compile:\n  new.go:15:52: undefined: undefined"
    )


REGISTERED = EINO.replace('"context"', '"context"\n\t"encoding/gob"\n\t"slices"') + (
    """
type state struct{}

// The language of the Go that compiles it: that of our own module has no such loops.
func init() {
	for _, name := range slices.Backward([]string{"state"}) {
		gob.RegisterName(name, state{})
	}
}
"""
)


@needs_go
def test_sides_that_cannot_be_in_one_program_are_each_in_one_of_its_own(
    tmp_path: Path,
) -> None:
    panics = EINO + '\nfunc init() { panic("not today") }\n'
    sources = {"right": REGISTERED, "panics": panics}
    (tmp_path / "old.go").write_text(REGISTERED + "\n// as it was\n", "utf-8")
    for name, source in sources.items():
        (tmp_path / f"{name}.go").write_text(source, "utf-8")
    old, *news = (parse_ref(f"{x}.go", cwd=tmp_path) for x in ("old", *sources))
    asked = {name: (ref, Terms()) for name, ref in zip(sources, news, strict=True)}
    found = check_all(old, asked, corpus(HI), CheckOptions(), explain=False)
    right, panicking = (found[name].verdict for name in sources)

    assert right.fault is None
    assert right.holds == "identical"
    assert panicking.fault is not None
    assert panicking.fault.text == "new panics.go: ended with exit status 2"


def test_an_engine_that_there_is_not_is_told_with_those_that_there_are(
    tmp_path: Path,
) -> None:
    for name in ("old.go", "new.go"):
        (tmp_path / name).write_text(EINO, "utf-8")
    told = refengine(
        *("migrate", "check", "old.go", "new.go", "--new-engine", "eino@0.9"),
        at=tmp_path,
    )

    assert told.returncode == 2
    assert "'eino@0.9' is not an engine in Go; there are eino@0.7.17" in told.stderr


def test_without_go_a_check_names_the_extra_that_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("old.go", "new.go"):
        (tmp_path / name).write_text(EINO, "utf-8")
    monkeypatch.setattr(shutil, "which", lambda *_args, **_more: None)
    told = refengine("migrate", "check", "old.go", "new.go", at=tmp_path)

    assert told.returncode == 2
    assert "needs a Go toolchain, which is not installed: pip install" in told.stderr


WORLDS = {
    "eino_struct_to_handlers/audit_log": (
        {
            "agent": {
                "tools": [
                    {"name": "s", "kind": "streamable", "chunks": ["a", "b"]},
                    {"name": "bad", "error": "boom"},
                ]
            },
            "model_script": ["assistant:[1:s({})]", "assistant:[2:bad({})]"],
            "runs": [{"input": ["user:hi"]}],
        },
    ),
    "adk_go_callbacks_to_plugins/tenant_header": (
        {
            "agent": {"tools": [{"name": "look", "result": "ok"}]},
            "model_script": [
                "assistant:[c1:look({})]",
                'assistant:[h1:transfer_to_agent({"agent_name": "clerk"})]',
                "assistant:here",
                "assistant:again",
            ],
            "runs": [
                {"input": ["user:hi"], "options": {"user:a": 1}},
                {"input": ["user:a", "assistant:b", "user:more"], "streaming": True},
            ],
        },
    ),
}
"""A few worlds by hand; .ci/engines judges these folders in all that there are."""
DECIDED = {
    "eino_struct_to_handlers/audit_log": {
        "right.go": None,
        "wrong_no_streams.go": "EFFECT_LOST",
        "wrong_late.go": "EFFECT_LOST",
    },
    "adk_go_callbacks_to_plugins/tenant_header": {
        "right.go": None,
        "wrong_every_agent.go": "INSTRUCTION",
        "wrong_user_message.go": "INSTRUCTION",
    },
}


@needs_go
@pytest.mark.parametrize("piece", DECIDED)
def test_a_piece_in_go_is_judged_on_the_real_engine(
    piece: str, driver_traffic: set[tuple[str, str]]
) -> None:
    folder = EXAMPLES / piece
    news = {name: (parse_ref(name, cwd=folder), Terms()) for name in DECIDED[piece]}

    found = check_all(
        parse_ref("old.go", cwd=folder),
        news,
        corpus(*WORLDS[piece]),
        CheckOptions(),
        explain=False,
    )

    verdicts = {name: each.verdict for name, each in found.items()}
    codes = {
        name: None if each.divergence is None else each.divergence.code
        for name, each in verdicts.items()
    }
    assert {name: each.fault for name, each in verdicts.items() if each.fault} == {}
    assert codes == DECIDED[piece]
    entered = verdicts["right.go"].exercise["new"].hooks
    assert min(entered.values()) > 0
    assert {"subject", "entered"} <= {name for _, name in driver_traffic}


@needs_go
def test_the_page_shows_what_a_check_in_go_reports() -> None:
    page = (ROOT / "docs" / "check-subjects.md").read_text("utf-8")
    section = page.partition("## Extensions and agents in Go")[2]
    section = section.partition("\n## ")[0]
    blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```", section, FLAGS))
    _, *words = blocks["sh"].split()

    told = refengine(*words, at=ROOT)

    assert told.returncode == 1
    assert told.stdout == blocks["text"]
