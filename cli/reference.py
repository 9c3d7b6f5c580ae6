"""Writes docs/reference/verbs.md and docs/reference/settings.md from the code: ``python -m cli.reference``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from cli.options import LINES_OPTION, OLD_LINES_OPTION, OLD_PREFIX_OPTION, OLD_STEPS_OPTION, PREFIX_OPTION, STEPS_OPTION
from cli.root import SECTIONS, lk
from cli.verb_group import VerbGroup
from infra.project_files import ROOT
from infra.settings import PREFIX, Settings

FOLDER = ROOT / "docs" / "reference"
_GENERATED = "<!-- Generated from the code by `make docs`. -->"
_VERBS = f"""{_GENERATED}
# Verbs

Every verb has `--help` and `--json`. `-c FILE` before the verb names the settings file.

You can repeat every verb safely, except three: `lk produce` sends its records again, a second `lk rollback` without
`--from` undoes the first, and `lk speed start --new` starts one more run
each time, once the one before serves.

| exit code | meaning |
|---|---|
| 0 | done, or nothing was to be done |
| 1 | refused: nothing changed; or a bad result, such as unhealthy, damaged or different: the output says what to do |
| 2 | wrong usage |
| 75 | try again: a server is starting, another process holds a lease |
| 130 | interrupted with Ctrl-C |

With `--json`, an error is one JSON document too: `error`, `where`, `fix`, `exit`.
"""
_SETTINGS = f"""{_GENERATED}
# Settings

Each setting is a key of `lk.toml` (or of `-c FILE`, or of the file that `LK_CONFIG` names). The environment variable of
a setting wins over the file. A relative path counts from the folder in which `lk` is called.

| setting | environment | type | default | description |
|---|---|---|---|---|
"""


def pages() -> Mapping[str, str]:
    """The text of each page, by file name."""
    return {"verbs.md": _verbs(), "settings.md": _SETTINGS + "".join(_setting_rows())}


def write(folder: Path = FOLDER) -> None:
    """Writes every page."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, "utf-8")


def _verbs() -> str:
    root = click.Context(lk, info_name="lk")
    sections = [
        f"\n## {title}\n" + "".join(_verb(command, root) for command in commands)
        for title, commands in SECTIONS.items()
    ]
    renamed = [f"| `{old}` | `{new}` |\n" for old, new in _renamed(lk, "lk")]
    renamed.append(f"| `{OLD_PREFIX_OPTION}` | `{PREFIX_OPTION}` |\n")
    renamed.append(f"| `lk status {OLD_LINES_OPTION}` | `lk status {LINES_OPTION}` |\n")
    renamed.append(f"| `lk speed status {OLD_STEPS_OPTION}` | `lk speed status {STEPS_OPTION}` |\n")
    return "".join([_VERBS, *sections, "\n## Old spellings\n\n| old | now |\n|---|---|\n", *renamed])


def _renamed(group: click.Group, path: str) -> Iterator[tuple[str, str]]:
    """Old and new spelling of each renamed verb of a group, then those of the groups in it."""
    if isinstance(group, VerbGroup):
        yield from ((f"{path} {old}", f"{path} {new}") for old, new in group.renamed.items())
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from _renamed(command, f"{path} {command.name}")


def _verb(command: click.Command, parent: click.Context) -> str:
    """One verb, then the verbs of its group."""
    context = click.Context(command, info_name=command.name, parent=parent)
    usage = " ".join([context.command_path, *(p.make_metavar(context) for p in _arguments(command))])
    text = f"\n### `{usage}`\n\n{inspect.cleandoc(command.help or '')}\n"
    rows = list(_option_rows(command, context))
    if rows:
        text += "\n| option | description |\n|---|---|\n" + "".join(rows)
    nested = command.commands.values() if isinstance(command, click.Group) else ()
    return text + "".join(_verb(each, context) for each in nested)


def _arguments(command: click.Command) -> Iterator[click.Argument]:
    return (parameter for parameter in command.params if isinstance(parameter, click.Argument))


def _option_rows(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.params:
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record and "--json" not in parameter.opts:
            option, description = (text.replace("|", "\\|").replace("  [", " [") for text in record)
            yield f"| `{option}` | {description} |\n"


def _setting_rows() -> Iterator[str]:
    for name, schema in Settings.model_json_schema()["properties"].items():
        default = _default(name, schema)
        yield f"| `{name}` | `{PREFIX}{name.upper()}` | {_type(schema)} | {default} | {schema['description']} |\n"


def _type(schema: Mapping[str, Any]) -> str:
    """The type in words of JSON schema, with its limits."""
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind.get("type") != "null" and kind.get("maxItems") != 0]
    (kind,) = kinds
    if "enum" in kind:
        return " or ".join(f"`{value}`" for value in kind["enum"])
    if "prefixItems" in kind:
        return f"array of {len(kind['prefixItems'])} × {_type(kind['prefixItems'][0])}"
    if kind["type"] == "array":
        return f"array of {_type(kind['items'])}"
    if kind["type"] == "object":
        return f"table of {_type(kind['additionalProperties'])}"
    if kind.get("maximum") == 65535:
        return "port"
    limit = f" ≥ {kind['minimum']:g}" if "minimum" in kind else ""
    return f"{kind.get('format', kind['type'])}{limit}"


def _default(name: str, schema: Mapping[str, Any]) -> str:
    if name == "cache":
        return "`lambda-kappa` in the user's cache folder"
    value = schema.get("default")
    if value in (None, "", []):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    write()
