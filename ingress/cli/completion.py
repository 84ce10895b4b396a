"""`zonal completion SHELL`: the script with which a shell completes commands and options of `zonal`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ingress.cli.flags import Command

SHELLS = ("bash", "fish", "zsh")
_VARIABLE = "_ZONAL_COMPLETE"  # click answers a shell that sets it, before any command runs


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes zonal in SHELL.

    For bash: source <(zonal completion bash)
    """
    made = get_completion_class(shell)
    if made is None:  # a click that knows none of these shells
        raise click.ClickException(f"there is no completion for {shell}")
    root = click.get_current_context().find_root().command
    click.echo(made(root, {}, "zonal", _VARIABLE).source())
