"""A group of verbs. Its help shows each verb's whole first sentence; an old spelling answers with the new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

WIDTH = 80


class VerbGroup(click.Group):
    """Lists verbs in the order of their definition, under headings where ``sections`` gives some.

    ``renamed`` maps an old spelling to what is typed instead of it.
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Sequence[click.Command]] | None = None,
        renamed: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections or {}
        self.renamed = renamed or {}
        for command in (command for commands in self.sections.values() for command in commands):
            self.add_command(command)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in self.renamed:
            ctx.fail(f"`{ctx.command_path} {args[0]}` is now `{ctx.command_path} {self.renamed[args[0]]}`")
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        indent = max(len(name) for name in self.commands)
        for title, commands in (self.sections or {"Commands": list(self.commands.values())}).items():
            with formatter.section(title):
                # Without this each section would have a column width of its own.
                rows = [(f"{command.name:{indent}}", first_sentence(command)) for command in commands]
                formatter.write_dl(rows)


def first_sentence(command: click.Command) -> str:
    """The first line of a verb's help."""
    return (command.help or "").partition("\n")[0]
