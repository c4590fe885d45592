"""Reports as HTML pages, each filled into the template that ships for it."""

from __future__ import annotations

from importlib.resources import files


def page(template: str, **values: object) -> str:
    """Return the text of a page; what its template names has to be given."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415  # for pages alone

    source = files("compat.report").joinpath("templates", f"{template}.html.j2")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(source.read_text("utf-8")).render(values)
