"""Reports as HTML pages, each filled into the template that ships for it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files


def page(template: str, **values: object) -> str:
    """Return the text of a page; what its template names has to be given."""
    return filled("compat.report", f"templates/{template}.html.j2", values, html=True)


def filled(
    package: str, name: str, values: Mapping[str, object], *, html: bool = False
) -> str:
    """Return a template that ships with a package, with values in it."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415  # for pages alone

    environment = Environment(
        autoescape=html,  # noqa: S701  # what is not HTML is a program
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not html,
    )
    source = files(package).joinpath(name).read_text("utf-8")
    return environment.from_string(source).render(values)
