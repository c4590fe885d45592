"""Pages show what their commands print, in order, in one folder.

Commands after which nothing is shown are not run here, where nobody would look at what
they print; ``UNSHOWN`` says who runs them.

    python -m tests.test_pages

writes these pages anew with what they print now.
"""

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat.cli.init import engine_files
from compat.environments.cache import MOVED_BY
from tests.few_worlds import judging_in
from tests.pages import BLOCK, ROOT, played, shows, steady
from tests.test_docs import PAGES as RUN

PAGES = [
    "docs/agent-skill.md",
    "docs/checked-checks.md",
    "docs/ci.md",
    "docs/conform.md",
    "docs/first-migration.md",
    "docs/migrating-to-pydantic-ai.md",
    "docs/new-door.md",
    "docs/new-driver.md",
    "docs/observers.md",
    "docs/order-and-conflicts.md",
    "docs/own-store.md",
    "docs/own-worlds.md",
    "docs/upgrading.md",
    "docs/why-order.md",
]

FRAMES = ("docs/protocol.md", "docs/protocol-dialects.md")
"""Pages whose frames are all held to the schema, by test_protocol.py."""
UNSHOWN = {
    "README.md": "2 sh, 1 text",  # CI runs both; test_docs.py
    "docs/bench.md": "1 python, 3 sh, 1 text",  # takes minutes; a measured file
    "docs/cassettes.md": "5 sh, 1 text, 1 toml",  # test_wire_docs.py
    "docs/check-recordings.md": "1 sh",  # test_recorded_old.py
    # Its example in test_docs.py; settings are what test_migration_settings.py reads.
    "docs/check-report.md": "1 sh, 3 text, 2 toml",
    "docs/check-subjects.md": "3 py, 3 sh, 1 text, 1 ts",  # the packs of CI
    "docs/check-worlds.md": "1 text, 2 toml",  # test_migration_settings.py
    "docs/ci.md": "1 markdown",  # a picture's address
    "docs/concurrency.md": "1 text",  # test_interleaving.py
    "docs/engine.md": "1 text",  # test_docs.py
    "docs/judging-engines.md": "4 sh",  # CI judges the doors that they name
    "docs/known-failures.md": "3 sh, 1 toml",  # test_known_failures.py
    "docs/migrate-check.md": "1 py, 1 toml",  # as above
    "docs/migrating-callbacks-to-v2.md": "1 py, 1 text",  # test_dialect_guides.py
    "docs/migrating-from-adk-callbacks.md": "2 text",  # test_flow_guide.py
    "docs/migrating-from-langgraph.md": "1 py, 2 sh, 1 text",  # a pack of CI
    "docs/migrating-from-struct.md": "1 sh",  # a pack of CI
    "docs/migrating-to-pydantic-ai.md": "1 sh",  # its pack, which .ci/long judges
    "docs/migrating-to-the-loop.md": "1 py, 1 text",  # test_dialect_guides.py
    # Ways to call the command that other pages show with what it prints.
    "docs/migrations.md": "9 sh",
    "docs/observing-adk.md": "1 json",  # test_observe_flow.py
    "docs/programs.md": "1 sh",  # test_chat_to_responses.py has such programs
    "docs/questions.md": "17 json",  # test_engines_page.py
    "docs/scale.md": "2 sh",  # .ci/long
    "docs/seed-findings.md": "13 json",  # test_registry.py
    "docs/sketches.md": "1 sh",  # test_typescript_dialects.py
    "docs/state.md": "2 sh, 4 text",  # test_approval_example.py
    "docs/timeline.md": "2 sh, 4 text",  # test_timeline.py
    # The first is one of those that follow; test_environments.py has small releases,
    # and test_commit_bisect.py a repository.
    "docs/upgrading.md": "3 sh",
    "docs/vendor-traffic.md": "2 sh",  # test_models_derived.py
}
"""How many blocks of a kind are not run here, and who runs them, or why nobody does."""


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_commands_print(
    page: str, tmp_path, tmp_path_factory, monkeypatch
) -> None:
    monkeypatch.setenv(MOVED_BY, str(tmp_path_factory.getbasetemp() / "environments"))
    text = (ROOT / page).read_text("utf-8")

    with judging_in("ORD", "WRAP"):  # how many worlds there are is not compared
        now = played(text, tmp_path)

    assert steady(now) == steady(text)


def test_each_block_of_a_page_is_run_or_it_is_said_who_runs_it() -> None:
    pages = ["README.md", *(f"docs/{each.name}" for each in ROOT.glob("docs/*.md"))]
    kinds = {each: sorted(Counter(not_run(each)).items()) for each in sorted(pages)}
    found = {
        page: ", ".join(f"{count} {kind}" for kind, count in left)
        for page, left in kinds.items()
        if left
    }

    assert {page: found[page] for page in found if page not in FRAMES} == UNSHOWN


def not_run(page: str) -> Iterator[str]:
    """Yield the language of each block that neither runs here nor in test_docs.py."""
    text = (ROOT / page).read_text("utf-8")
    for found in BLOCK.finditer(text):
        language, is_file = found[1], bool(found[2])
        if language == "python" and not is_file and page in RUN:
            continue
        shown = language != "sh" or shows(text[found.end() :])
        told = is_file or language in {"", "text", "python", "sh"}
        if not (page in PAGES and told and shown):
            yield language or "text"


def test_the_door_of_the_tutorial_has_about_two_dozen_lines() -> None:
    door = engine_files("async")["door.py"]
    code = re.sub(r'""".*?"""', "", door, flags=re.DOTALL).splitlines()
    lines = [line for line in code if line.strip() and "import " not in line]

    assert len(lines) <= 28


if __name__ == "__main__":
    os.environ["REFENGINE_CHANGES"] = "off"  # as conftest.py has it
    for each in sys.argv[1:] or PAGES:
        with tempfile.TemporaryDirectory() as top:
            made = played((ROOT / each).read_text("utf-8"), Path(top))
        (ROOT / each).write_text(made, "utf-8")
