"""What every contender is told, whatever its language."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """Ports on loopback of the proxy to be, of the endpoints (taken in turn; `grpc_ports` speak HTTP/2 without TLS)
    and of the WebSocket endpoint.

    `certificate` and `key` are PEM files, `both` holds the one after the other. `place` is a folder of this contender's
    own. `is_root`: whether the proxy is started by root, which some like to be told.
    """

    place: Path
    http_port: int
    https_port: int
    endpoint_ports: tuple[int, ...]
    grpc_ports: tuple[int, ...]
    echo_port: int
    certificate: Path
    key: Path
    both: Path
    is_root: bool = False


CONNECTIONS = 8000
"""Client connections that everybody must be able to hold: more than the idle ones of the largest case."""

ECHO_PATH = "/echo"
"""Where the WebSocket endpoint is."""
