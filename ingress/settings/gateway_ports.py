"""The grammar of `--gateway-ports`: on which bound ports entry points of Gateways may stand."""

from __future__ import annotations

from typing import Final

import msgspec

_PORT_MOST: Final = 65535
_PORTS_MOST: Final = 1024  # each is a descriptor of every worker


class GatewayPorts(msgspec.Struct, frozen=True):
    """Bound ports for entry points of Gateways, none if they are off.

    `targets` are the bound ports; the name of a bound socket is its number as text. `by_client_port` has, for shared
    addresses, pairs of the port of a Gateway and the bound port that it stands on; empty: any port on any target.
    """

    targets: tuple[int, ...] = ()
    by_client_port: tuple[tuple[int, int], ...] = ()


def read_gateway_ports(text: str) -> GatewayPorts:
    """Reads `A-B` or `A` (a range of bound ports), `P=Q,...` (port of a Gateway = bound port) or nothing.

    Raises ValueError with one line that says what to write.
    """
    if not text:
        return GatewayPorts()
    if "=" in text:
        return _mapped([part.strip() for part in text.split(",")])
    first, dash, last = text.partition("-")
    begin = _port(first)
    end = _port(last) if dash else begin
    if end < begin or end - begin >= _PORTS_MOST:
        raise ValueError(f"{text!r}: give a range of at most {_PORTS_MOST} ports, the lower one first")
    return GatewayPorts(tuple(range(begin, end + 1)))


def _mapped(parts: list[str]) -> GatewayPorts:
    pairs = []
    for part in parts:
        client, equals, target = part.partition("=")
        if not equals:
            raise ValueError(f"{part!r}: give PORT=BOUND, such as 443=18443")
        pairs.append((_port(client), _port(target)))
    clients, targets = {client for client, _ in pairs}, {target for _, target in pairs}
    if len(clients) < len(pairs) or len(targets) < len(pairs):
        raise ValueError(f"{','.join(parts)!r}: give each port once")
    return GatewayPorts(tuple(target for _, target in pairs), tuple(sorted(pairs)))


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _PORT_MOST):
        raise ValueError(f"{text!r} is not a port between 1 and {_PORT_MOST}")
    return int(text)
