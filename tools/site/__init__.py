"""The documentation as a site: what ``mkdocs build`` needs besides ``docs/``."""
