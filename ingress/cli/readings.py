"""Reads values of options that are more than a word or a number. click calls these functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from ingress.cli.flags import BadInput

if TYPE_CHECKING:
    from ingress.objects.kinds import PublishedAddress


def addresses(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[PublishedAddress, ...]:
    """The addresses in the value of `--publish-status-address`. Raises `BadInput`."""
    if not value:
        return ()
    from ingress.writing.addresses import AddressError, parse_addresses

    try:
        return parse_addresses(value)
    except AddressError as error:
        raise BadInput(f"--publish-status-address: {error}") from None


def expected_status(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """A status such as 503, or `endpoint`; None if nothing was said. Raises `BadInput`."""
    if not value or value == "endpoint" or re.fullmatch("[1-5][0-9]{2}", value):
        return value or None
    raise BadInput("--expect-status takes a status such as 503, or endpoint")


def peers(_context: click.Context, _option: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """The places of other replicas, each HOST:PORT. Raises `BadInput`."""
    for place in value:
        host, colon, port = place.rpartition(":")
        if not (host and colon and port.isdigit() and 0 < int(port) < 65536):
            raise BadInput(f"--peer {place!r} is not HOST:PORT")
    return value
