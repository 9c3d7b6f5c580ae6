"""Options and parsers that several verbs share: --json, the settings, the definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import candidates
from cli.principals import with_principal
from core.identifiers import Name
from core.safe_text import several_lines
from core.unix_time import in_utc
from infra import progress_bar

if TYPE_CHECKING:
    from core.catalog import Catalog
    from infra.settings import Settings

OLD_PREFIX_OPTION, PREFIX_OPTION = "--head-from-archive", "--prefix-from-archive"
OLD_STEPS_OPTION, STEPS_OPTION = "--phases", "--steps"  # of `lk speed status`
OLD_LINES_OPTION, LINES_OPTION = "--lines", "--json-lines"  # of `lk status`; --lines of `lk logs` is a number
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _choose_json(ctx: click.Context, _option: click.Parameter, value: bool) -> bool:
    if value:
        ctx.find_root().meta["json"] = True
        progress_bar.silence()
    return value


def json_option(function: Any) -> Any:
    """Adds --json to a verb."""
    return click.option(
        "--json", "as_json", is_flag=True, expose_value=False, callback=_choose_json, help="Print one JSON document."
    )(function)


def archive_option(function: Any) -> Any:
    """Adds --prefix-from-archive to a verb that reads the log from its start."""
    return click.option(
        PREFIX_OPTION,
        "from_archive",
        is_flag=True,
        help="Read from the archive the first records, which Kafka has deleted.",
    )(renamed_flag(OLD_PREFIX_OPTION, PREFIX_OPTION)(function))


def renamed_flag(old: str, new: str) -> Decorator:
    """Adds the old spelling of a flag, which answers with the new one."""

    def refuse(_ctx: click.Context, _option: click.Parameter, value: bool) -> None:
        if value:
            raise click.UsageError(f"`{old}` is now `{new}`")

    return click.option(old, is_flag=True, expose_value=False, hidden=True, callback=refuse)


def study_option(default: str) -> Decorator:
    """Adds --study to a verb that reads the rows of a study; ``default`` says which ones without it."""
    text = f"Folder or file of a study (default: {default})."
    return click.option("--study", type=click.Path(path_type=Path), help=text)


def run_option(text: str = "The run (default: the replay in progress).") -> Decorator:
    """Adds --run, completed with the runs of the lake."""
    return click.option("--run", type=Name, help=text, shell_complete=candidates.runs)


def topic_option(text: str) -> Decorator:
    """Adds --topic, completed with the declared topics."""
    return click.option("--topic", type=Name, help=text, shell_complete=candidates.topics)


def views_option(text: str) -> Decorator:
    """Adds --views, completed with the declared views."""
    return click.option("--views", type=names, help=text, shell_complete=candidates.view_list)


RATE = click.option("--rate", type=click.IntRange(min=1), help="Maximum records per second.")


def names(text: str) -> tuple[Name, ...]:
    """Names between commas, each once."""
    return tuple(dict.fromkeys(Name(name.strip()) for name in text.split(",")))


def moment(text: str) -> datetime:
    """An ISO date or time; without a zone it is UTC."""
    return in_utc(datetime.fromisoformat(text)).astimezone(UTC)


def load_settings() -> Settings:
    """The settings of this call: file, environment, defaults; with the verb's login in Kafka, where each has one."""
    from infra import faults
    from infra.settings.sources import read_settings

    context = click.get_current_context()
    settings = read_settings(context.find_root().params["config"])
    faults.arm(settings)
    return with_principal(settings, context.command_path.partition(" ")[2])


def load_catalog(settings: Settings) -> Catalog:
    """Every topic, view and route that the definition files declare. Raises Refused when a file has a mistake."""
    from infra.definitions import definition_files

    return definition_files.load(settings)


def load_needed_or_all(settings: Settings, needed: Sequence[tuple[str, str]]) -> Catalog:
    """``load_usable`` for what continues, which has ``needed`` definitions; ``load_catalog`` for what begins."""
    return load_usable(settings, *needed) if needed else load_catalog(settings)


def load_usable(settings: Settings, *needed: tuple[str, str]) -> Catalog:
    """What the files without mistakes declare; mistakes in others are printed on stderr.

    Raises Refused when a ``needed`` definition, such as ``("topic", "trades")``, is missing and a file has mistakes.
    """
    from infra.definitions import definition_files

    catalog, problems = definition_files.load_usable(settings)
    if problems and not set(needed) <= catalog.files.keys():
        raise definition_files.mistakes_refused(problems)
    for problem in problems:
        click.echo(several_lines(f"lk: {problem.not_used}"), err=True)
    return catalog
