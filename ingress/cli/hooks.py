"""The commands about hooks of the operator: `zonal hooks test`. Runs a hook here, without a proxy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ingress.cli.flags import BadInput, Command, option

if TYPE_CHECKING:
    from zonal_hooks.testing import Tried


@click.group()
def hooks() -> None:
    """Try hooks before the proxy runs them."""


@hooks.command("test", cls=Command)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@option("--request", "line", default="GET https://example.test/", help="The request.", metavar="'METHOD URL'")
@option("--header", "-H", multiple=True, help="A header field of the request (repeatable).", metavar="NAME:VALUE")
@option("--body", default="", help="Body of the request, for a hook that asks for bodies.", metavar="TEXT")
@option("--client", default="192.0.2.1", help="Address of the client.", metavar="ADDRESS")
@option("--settings", default="", help="The settings of the hook, as in its annotation.", metavar="JSON")
@option("--status", type=click.IntRange(200, 599), default=200, help="Status of the endpoint's response.")
@option("--response-header", multiple=True, help="A header field of the response (repeatable).", metavar="NAME:VALUE")
def try_hook(file: Path, **given: Any) -> None:
    """Ask the hook in FILE about one request, and about the response to it.

    Exit 1 if the hook refuses or answers the request, 2 if it cannot be used.
    """
    from zonal_hooks.loading import NotAHook

    try:
        told, answered = _tried(file, given)
    except (NotAHook, OSError, ValueError) as problem:
        raise BadInput(_told(file, problem)) from None
    if told is not None:
        _say("request", told)
    if answered is not None and (told is None or told.passed):
        _say("response", answered)
    if told is not None and not told.passed:
        raise SystemExit(1)


def _tried(file: Path, given: Mapping[str, Any]) -> tuple[Tried | None, Tried | None]:
    """What the hook says of the request and of the response; None where it has no function for them."""
    from zonal_hooks.testing import try_file

    line, client, body = given["line"], given["client"], given["body"]
    fields = [_field("--header", each) for each in given["header"]]
    answer = [_field("--response-header", each) for each in given["response_header"]]
    told = answered = None
    hook = try_file(file, given["settings"])
    if body and not hook.hook.takes_body:
        raise BadInput(f"{file} does not ask for bodies: give @hook body=True, or leave --body out")
    if hook.hook.functions.keys() & {"request", "pick"}:
        told = hook.request(line, fields, client=client, body=body.encode() or None)
    if "response" in hook.hook.functions:
        answered = hook.response(given["status"], answer, line=line, request_headers=fields, client=client)
    return told, answered


def _say(what: str, found: Tried) -> None:
    click.echo(f"{what}: {'goes on' if found.passed else f'answered with {found.status}'}")
    for name, value in found.headers:
        click.echo(f"  {name}: {value}")
    if found.body:
        click.echo(found.body.decode("utf-8", "replace"))
    for name, chosen in found.choice._asdict().items():
        if chosen is not None:
            click.echo(f"  {name.replace('_', ' ')}: {chosen}")
    if found.problem:
        click.echo(f"  problem: {found.problem}")


def _told(file: Path, problem: Exception) -> str:
    """Why the hook in a file cannot be used, on one line."""
    if isinstance(problem, OSError):
        return f"cannot read {file}: {problem.strerror}"
    return f"{file} is no Python source in UTF-8" if isinstance(problem, UnicodeDecodeError) else str(problem)


def _field(option_name: str, text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise BadInput(f"{option_name} {text!r} is not NAME:VALUE")
    return name.strip(), value.strip()
