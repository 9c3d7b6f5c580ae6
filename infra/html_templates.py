"""The Jinja2 environment of every HTML page: it escapes all values, and an unknown name is an error."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from core.unix_time import utc_text


def html_templates(folder: Path) -> Environment:
    """The templates of a folder, with the filter ``utc``."""
    templates = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["utc"] = utc_text
    return templates
