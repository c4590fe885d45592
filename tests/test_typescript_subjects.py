"""Subjects in TypeScript: what is wrong with one is told in a line."""

import subprocess
import sys
from pathlib import Path

import pytest

from compat.drivers.node_subjects import script_subject
from compat.drivers.subjects import SubjectMistakeError
from compat.migration.remote.easing import eased
from compat.migration.remote.worlds import playable
from refengine.testing.scenario_files import read_scenario
from tests.node_support import needs_node

RIGHT = "export const subject = () => ({ wrapGenerate: (o: any) => o.doGenerate() });\n"


def checked(folder: Path, new: str, *more: str) -> subprocess.CompletedProcess[str]:
    (folder / "old.ts").write_text(RIGHT, "utf-8")
    (folder / "new.ts").write_text(new, "utf-8")
    check = ["-m", "refengine", "migrate", "check", "old.ts", "new.ts", "--examples=1"]
    return subprocess.run(
        [sys.executable, *check, *more],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@needs_node
@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("export function subject( {", "does not parse"),
        ("export const other = 1, more = 2;", "it exports more, other"),
        ("export const subject = 3;", "subject is a number, no function"),
        ("export const subject = () => 3;", "subject returns a number: return a"),
        ("export const subject = () => ({});", "nothing to look at"),
        ("import 'lodash';\n" + RIGHT, "lodash"),
        ("import './gone.ts';\n" + RIGHT, "which is no file"),
        ("throw new Error('no key');", "no key"),
        ("export const subject = () => { throw new Error('no key'); };", "no key"),
    ],
    ids=[
        *("syntax", "no-subject", "no-function", "wrong-type", "nothing", "package"),
        *("file", "throws-when-loaded", "throws"),
    ],
)
def test_what_is_wrong_with_a_subject_is_one_clear_line(
    tmp_path: Path, new: str, told: str
) -> None:
    done = checked(tmp_path, new)

    assert done.returncode == 2, done.stdout + done.stderr
    assert told in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@needs_node
def test_a_subject_that_hangs_is_told_by_name(tmp_path: Path) -> None:
    hangs = "export const subject = () => { for (;;); };"
    done = checked(tmp_path, hangs, "--timeout", "2")

    assert done.returncode == 3, done.stdout + done.stderr
    assert "new new.ts" in done.stdout + done.stderr


def test_a_subject_is_its_file_and_what_that_imports(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "rules.ts").write_text("export const RULES = 1;\n", "utf-8")
    entry = tmp_path / "sub" / "old.ts"
    entry.write_text("import { RULES } from '../rules.js';\n", "utf-8")

    found = script_subject("old.ts", entry, "")

    assert sorted(found.files) == ["rules.ts", "sub/old.ts"]
    assert found.path == "sub/old.js"


def test_an_import_of_a_file_that_is_not_there_names_one_that_is(
    tmp_path: Path,
) -> None:
    (tmp_path / "rules.ts").write_text("", "utf-8")
    entry = tmp_path / "old.ts"
    entry.write_text("import './rule.ts';\n", "utf-8")

    with pytest.raises(SubjectMistakeError, match=r"did you mean '\./rules\.ts'"):
        script_subject("old.ts", entry, "")


def test_a_world_is_eased_to_what_an_engine_has_and_no_further() -> None:
    tool = {"name": "t", "kind": "streamable", "chunks": ["a", "b"]}
    record = [{"op": "record"}]
    handlers = [{"id": "a", "before_model": record}, {"id": "b", "after_model": record}]
    world = read_scenario(
        {
            "agent": {"tools": [tool], "handlers": handlers, "sequential": True},
            "model_script": ["assistant:a[1:t(no object)]", "assistant:b"],
            "runs": [{"input": ["user:a"], "streaming": True}],
        }
    )
    can = frozenset(("before_model",))

    left = eased(world, can, lambda each: playable(each, can))

    assert playable(left, can)
    assert [each.id for each in left.all_agents[0].handlers] == ["a"]
    assert left.all_agents[0].tools[0].kind == "invokable"
    assert left.model_script == ("assistant:a[1:t({})]", "assistant:b")
    assert not left.runs[0].streaming
