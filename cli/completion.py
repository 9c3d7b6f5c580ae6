"""The verb of shell completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from cli.options import json_option
from cli.output import emit

VARIABLE = "_LK_COMPLETE"  # click's name for the program `lk`


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh"]))
@json_option
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes verbs in bash or zsh.

    For bash add `eval "$(lk completion bash)"` to ~/.bashrc, for zsh `eval "$(lk completion zsh)"` to ~/.zshrc. It
    completes verbs, options, and the views, topics, routes and runs of the instance.
    """
    shell_class = get_completion_class(shell)
    assert shell_class
    script = shell_class(ctx.find_root().command, {}, "lk", VARIABLE).source()
    emit({"shell": shell, "script": script}, lambda result: click.echo(result["script"], nl=False))


COMMANDS = [completion]
