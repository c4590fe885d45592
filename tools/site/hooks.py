"""Hooks of mkdocs: pages that are made, and files of the repository that pages lead to.

``docs/`` reads well in the repository, where a page leads to files beside it. The site
has these files, too, so that no link leaves it: other pages and data as they are,
sources as pages that show them. A folder is not a page; its name stays, without a link.
"""

from __future__ import annotations

import os.path
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from mkdocs.structure.files import File

from tools.site.pages import made_pages

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parent.parent.parent
FRONT: Final = "README.md"
"""The page that a visitor sees first."""
TAKEN: Final = (FRONT, "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
"""Pages beside ``docs/`` that the site has in any case."""
AS_IT_IS: Final = frozenset((".md", ".svg", ".html", ".json"))
"""Files that a browser shows; of others a page is made."""
NOT_KEPT: Final = "docs/seeds/board_IWkCwWLHdhi3nIbKQPecH4xZnjb.drawio"
"""A drawing that seed 000 leads to and that nobody here has seen."""
LINK: Final = re.compile(r"(?<!\\)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
FOLDER: Final = "\0"
"""Stands behind what led to a folder, whose brackets go."""
OF_FOLDER: Final = re.compile(rf"\[([^\[\]]*)\]{FOLDER}")
CODE: Final = re.compile(r"(^```.*?^```|`[^`\n]+`\])", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let titles become anchors as they do where the repository is read.

    And leave the page for what is not there out: it leads to the top of a host, which a
    site that is read from a folder does not have.
    """
    config.theme.static_templates.discard("404.html")
    configs = cast("dict[str, dict[str, object]]", config.mdx_configs)  # pyright: ignore[reportUnknownMemberType]  # mkdocs' own types
    configs.setdefault("toc", {})["slugify"] = _anchor
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made, and what pages lead to outside ``docs/``."""
    for name, text in made_pages():
        files.append(File.generated(config, name, content=text))
    for name in ("iframe-worker.js", "site.css"):
        here = str(Path(__file__).with_name(name))
        files.append(File.generated(config, f"assets/{name}", abs_src_path=here))
    for path in _taken():
        files.append(_file(path, config))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Lead to files of the repository where the site has them."""
    at = page.file.src_uri
    if not (ROOT / _in_repository(at)).is_file():
        return markdown
    text = "".join(_led(part, at) for part in CODE.split(markdown))
    return OF_FOLDER.sub(r"\1 ", text)


def _anchor(title: str, separator: str) -> str:
    """Return the anchor of a title."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", separator)


def _taken() -> Iterator[str]:
    """Yield the files outside ``docs/`` that pages lead to, each once."""
    pages = [f"docs/{each.name}" for each in sorted((ROOT / "docs").glob("*.md"))]
    waiting, seen = [*TAKEN, *pages], set(pages)
    while waiting:
        path = waiting.pop(0)
        if path not in pages:
            if path in seen:
                continue
            seen.add(path)
            yield path
        if path.endswith(".md"):
            waiting.extend(each for each in _links(path) if each not in seen)


def _links(path: str) -> Iterator[str]:
    """Yield the files outside ``docs/`` that a page leads to."""
    text = (ROOT / path).read_text("utf-8")
    for found in LINK.finditer(text):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[1]))
        if (ROOT / target).is_file() and not target.startswith("docs/"):
            yield target


def _file(path: str, config: MkDocsConfig) -> File:
    if Path(path).suffix in AS_IT_IS:
        return File.generated(config, _on_site(path), abs_src_path=str(ROOT / path))
    text = (ROOT / path).read_text("utf-8")
    page = f"# `{path}`\n\n````{Path(path).suffix[1:]}\n{text}\n````\n"
    return File.generated(config, _on_site(path), content=page)


def _on_site(path: str) -> str:
    """Return where the site has a file of the repository."""
    if path == FRONT:
        return "index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return path if Path(path).suffix in AS_IT_IS else f"{path}.md"


def _in_repository(at: str) -> str:
    """Return which file of the repository a page of the site is."""
    if at == "index.md":
        return FRONT
    return f"docs/{at}" if (ROOT / "docs" / at).is_file() else at


def _led(text: str, at: str) -> str:
    """Return text of a page, outside code, with its links as the site has them."""
    if text.startswith("`"):
        return text
    folder = posixpath.dirname(_in_repository(at))

    def led(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[1]))
        if target == NOT_KEPT or (ROOT / target).is_dir():
            return f"]{FOLDER}(`{found[1]}`)"
        there = os.path.relpath(_on_site(target), posixpath.dirname(at) or ".")
        return f"]({Path(there).as_posix()}{found[2] or ''})"

    return LINK.sub(led, text)
