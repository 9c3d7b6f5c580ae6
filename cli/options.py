"""What every verb shares: --json, the settings, the definitions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from core.catalog import Catalog
from core.identifiers import Name
from infra import progress_bar
from infra.settings import Settings
from infra.settings.sources import load


def _note(ctx: click.Context, _option: click.Parameter, value: bool) -> bool:
    if value:
        ctx.find_root().meta["json"] = True
        progress_bar.silence()
    return value


def json_option(function: Any) -> Any:
    """Adds --json to a verb."""
    return click.option(
        "--json", "as_json", is_flag=True, expose_value=False, callback=_note, help="Print one JSON document."
    )(function)


def archive_option(function: Any) -> Any:
    """Adds --head-from-archive to a verb that reads the log from its start."""
    return click.option(
        "--head-from-archive", "from_archive", is_flag=True, help="Read from the archive what the log has lost."
    )(function)


def names(text: str) -> tuple[Name, ...]:
    """Names between commas, each once."""
    return tuple(dict.fromkeys(Name(name.strip()) for name in text.split(",")))


def moment(text: str) -> datetime:
    """An ISO date or time; without a zone it is UTC."""
    found = datetime.fromisoformat(text)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def settings() -> Settings:
    """The settings of this call: file, environment, defaults."""
    from infra import faults

    found = load(click.get_current_context().find_root().obj)
    faults.arm(found)
    return found


def catalog(found: Settings) -> Catalog:
    """Every topic and view that these settings name."""
    from infra.definitions import definition_files

    return definition_files.load(found)
