"""The commands about hooks of the operator: `zonal hooks test`. Runs a hook here, without a proxy."""

from __future__ import annotations

from pathlib import Path

import click

from ingress.cli.flags import BadInput, Command, option


@click.group()
def hooks() -> None:
    """Try hooks before the proxy runs them."""


@hooks.command("test", cls=Command)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@option("--request", "line", default="GET https://example.test/", help="The request.", metavar="'METHOD URL'")
@option("--header", "-H", multiple=True, help="A header field of the request (repeatable).", metavar="NAME:VALUE")
@option("--client", default="192.0.2.1", help="Address of the client.", metavar="ADDRESS")
@option("--settings", default="", help="The settings of the hook, as in its annotation.", metavar="JSON")
@option("--status", type=click.IntRange(200, 599), default=200, help="Status of the endpoint's response.")
def try_hook(file: Path, *, line: str, header: tuple[str, ...], client: str, settings: str, status: int) -> None:
    """Ask the hook in FILE about one request, and about the response to it.

    Exit 1 if the hook refuses or answers the request, 2 if it cannot be used.
    """
    from zonal_hooks.loading import NotAHook
    from zonal_hooks.testing import Tried, try_file

    fields = dict(_field(each) for each in header)
    try:
        tried = try_file(file, settings)
        asks = tried.hook.functions.keys() & {"request", "pick"}
        told = tried.request(line, fields, client=client) if asks else None
        answered = tried.response(status, {}, line=line) if "response" in tried.hook.functions else None
    except (NotAHook, OSError, ValueError) as problem:
        raise BadInput(_told(file, problem)) from None

    def say(what: str, found: Tried) -> None:
        click.echo(f"{what}: {'goes on' if found.passed else f'answered with {found.status}'}")
        for name, value in found.headers:
            click.echo(f"  {name}: {value}")
        if found.body:
            click.echo(found.body.decode("utf-8", "replace"))
        if found.choice.canary is not None:
            click.echo(f"  canary: {found.choice.canary}")
        if found.problem:
            click.echo(f"  problem: {found.problem}")

    if told is not None:
        say("request", told)
    if answered is not None and (told is None or told.passed):
        say("response", answered)
    if told is not None and not told.passed:
        raise SystemExit(1)


def _told(file: Path, problem: Exception) -> str:
    """Why the hook in a file cannot be used, on one line."""
    if isinstance(problem, OSError):
        return f"cannot read {file}: {problem.strerror}"
    return f"{file} is no Python source in UTF-8" if isinstance(problem, UnicodeDecodeError) else str(problem)


def _field(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise BadInput(f"--header {text!r} is not NAME:VALUE")
    return name.strip(), value.strip()
