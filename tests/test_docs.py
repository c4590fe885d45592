"""What the documentation shows is what happens."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from compat.report.migration_json import schema_text as report_schema
from refengine.__main__ import main
from refengine.testing.channels import VOLATILE
from refengine.testing.scenario_files import schema_text
from tests.pages import BLOCK, blocks_of

ROOT = Path(__file__).parent.parent
PAGES = [
    "docs/bench.md",
    "docs/cassettes.md",
    "docs/check-report.md",
    "docs/concurrency.md",
    "docs/engine.md",
    "docs/migrate-check.md",
    "docs/migrating-callbacks-to-v2.md",
    "docs/migrating-from-adk-callbacks.md",
    "docs/migrating-from-langgraph.md",
    "docs/migrating-from-struct.md",
    "docs/migrating-to-the-loop.md",
    "docs/order-and-conflicts.md",
    "docs/own-store.md",
    "docs/protocol.md",
    "docs/scenarios.md",
    "docs/state.md",
]
LINKED = [
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"),
    *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))),
    *(
        f"docs/contract/{path.name}"
        for path in sorted((ROOT / "docs/contract").iterdir())
    ),
]


def blocks(page: str) -> list[tuple[str, str]]:
    """Return language and text of each block that is not a file."""
    return [(each.language, each.body) for each in blocks_of(page) if not each.title]


def output_of(page: str) -> str:
    """Run the Python blocks of a page as one program; return what it printed."""
    code = "\n".join(code for language, code in blocks(page) if language == "python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, f"page of {page}", "exec"), {"__name__": page})  # noqa: S102  # our page
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(page: str) -> None:
    assert any(language == "python" for language, _ in blocks(page))
    output_of(page)


def test_the_engine_in_one_screen_shows_what_it_prints() -> None:
    shown = [code for language, code in blocks("docs/engine.md") if not language]

    assert shown == [output_of("docs/engine.md")]


def test_readme_names_every_command() -> None:
    from compat.cli.main import COMMANDS

    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert all(f"refengine {name}" in readme for name in COMMANDS)


def test_guide_to_graphs_shows_what_it_prints_and_all_that_is_left_out() -> None:
    page = "docs/migrating-from-langgraph.md"
    shown = [code for language, code in blocks(page) if not language]

    assert shown == [output_of(page)]
    for what, why in VOLATILE.items():
        assert f"| {what} | {why} |" in (ROOT / page).read_text("utf-8")


def test_published_schema_is_that_of_scenarios() -> None:
    published = (ROOT / "docs/scenario.schema.json").read_text(encoding="utf-8")

    assert published == schema_text()


def test_published_schema_is_that_of_reports_of_a_migration_check() -> None:
    published = (ROOT / "docs/migrate-check.schema.json").read_text(encoding="utf-8")

    assert published == report_schema()


def headings(page: Path) -> set[str]:
    """Return what a link can lead to inside a page."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    found = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", each.lower()) for each in found)
    return {each.replace(" ", "-") for each in plain}


@pytest.mark.parametrize("page", LINKED)
def test_links_lead_somewhere(page: str) -> None:
    text = BLOCK.sub("", (ROOT / page).read_text(encoding="utf-8"))
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", text)

    for link, place in links:
        if "://" not in link:
            target = (ROOT / page).parent / link if link else ROOT / page
            assert target.exists(), link
            assert not place or place in headings(target), f"{link}#{place}"


def test_migrate_check_shows_the_report_that_the_command_prints() -> None:
    page = blocks("docs/check-report.md")
    command = next(code for language, code in page if language == "sh")
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    shown = next(code for language, code in page if language == "text")
    assert done.stdout == shown


def test_readme_shows_what_its_first_command_reports(capsys) -> None:
    [shown] = [code for language, code in blocks("README.md") if language == "text"]
    [first, _] = [code for language, code in blocks("README.md") if language == "sh"]
    command = first.strip().partition(".venv/bin/refengine ")[2].split()
    command[3] = str(ROOT / command[3])

    with pytest.raises(SystemExit, match="0"):
        main(command)
    assert shown in capsys.readouterr().out


def test_migrate_check_lists_every_code_and_relation() -> None:
    from compat.migration.codes import CODES
    from compat.verdicts.relations import RELATIONS
    from refengine.testing.channels import CHANNELS

    page = (ROOT / "docs/check-report.md").read_text(encoding="utf-8")
    rows = [f"| `{name}` | {code.summary} |" for name, code in CODES.items()]

    assert [each for each in rows if each not in page.splitlines()] == []
    assert [name for name in CHANNELS if f"`{name}`" not in page] == []
    assert [name for name in RELATIONS if f"| `{name}`" not in page] == []


@pytest.mark.parametrize(
    "pack",
    [
        "struct_to_handler",
        "adk_callbacks_to_plugins",
        "linear_to_loop",
        "callbacks_v1_to_v2",
        "eino_struct_to_handlers",
        "adk_go_callbacks_to_plugins",
    ],
)
def test_every_file_of_an_example_is_named_in_its_page(pack: str) -> None:
    folder = ROOT / "examples" / pack
    page = (folder / "README.md").read_text(encoding="utf-8")

    for piece in folder.iterdir():
        if piece.is_dir():
            row = next(
                line for line in page.splitlines() if f"| `{piece.name}`" in line
            )
            assert all(f"`{path.stem}`" in row for path in piece.glob("wrong_*"))
