"""`zonal man`: the manual page of every command, made from the command line itself, in the macros of man(7).

Whatever `--help` says is on the page, so the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version

import click

from ingress.cli.flags import Command, section_of


@click.command("man", cls=Command)
def man() -> None:
    """Print the manual page: zonal man | man -l -"""
    root = click.get_current_context().find_root()
    assert isinstance(root.command, click.Group)
    click.echo("\n".join(manual(root.command, version("zonal-ingress"))))


def manual(root: click.Group, release: str) -> Iterator[str]:
    """The lines of the page of `root` and everything below it. `release` is the version that its foot names."""
    yield f'.TH ZONAL 1 "" "zonal {_plain(release)}" "User Commands"'
    yield from (".SH NAME", r"zonal \- a zone\-aware HTTP ingress for Kubernetes")
    yield from (".SH SYNOPSIS", r".B zonal", r".I COMMAND", r"[\fIOPTIONS\fR]")
    yield from (".SH DESCRIPTION", _plain(root.help or ""))
    yield "Every option has an environment variable, which its paragraph names. What the command line says is stronger."
    for name, command in sorted(root.commands.items()):
        yield from _about(command, click.Context(root, info_name="zonal"), name)
    yield from (".SH EXIT STATUS", "0 for success, 1 if what a command was asked is not so, 2 for bad input.")


def _about(command: click.Command, above: click.Context, name: str) -> Iterator[str]:
    """A section about a command; a group has one for each of its commands."""
    context = click.Context(command, parent=above, info_name=name)
    if isinstance(command, click.Group):
        for each, below in sorted(command.commands.items()):
            yield from _about(below, context, each)
        return
    yield f'.SH "{_plain(context.command_path.upper())}"'
    usage = " ".join(command.collect_usage_pieces(context))
    yield r"\fB" + _plain(context.command_path) + r"\fR " + _plain(usage)
    for paragraph in (command.help or "").split("\n\n"):
        yield from (".PP", _plain(" ".join(paragraph.split())))
    yield from _options(command.get_params(context), context)


def _options(params: Sequence[click.Parameter], context: click.Context) -> Iterator[str]:
    heading = ""
    for param in params:
        record = param.get_help_record(context) if isinstance(param, click.Option) else None
        if record is None:
            continue
        if section_of(param) not in ("", heading):
            heading = section_of(param)
            yield f'.SS "{_plain(heading)}"'
        yield from (".TP", r"\fB" + _plain(record[0]) + r"\fR", _plain(record[1]))


def _plain(text: str) -> str:
    """Text that roff prints as it is: no escapes, no lines that begin with a control character."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq").replace("'", r"\(aq")
    return "\\&" + escaped if escaped.startswith(".") else escaped
