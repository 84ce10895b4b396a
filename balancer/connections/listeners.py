"""Binds listening sockets once, in the parent, so that a port in use is one clear error before anything starts.

Also decides how many connections may come through them, because the limit of descriptors must not be reached by
accident.
"""

from __future__ import annotations

import errno
import resource
import socket
import sys
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple


class Port(NamedTuple):
    """A port to open, and the name of its socket: `http`, `https`, or the number of a port for Gateways as text."""

    name: str
    number: int


BACKLOG = 4096  # as net.core.somaxconn of current kernels; a burst must wait and not be refused


class CannotListen(Exception):
    """A port cannot be bound. The message is one line for the user.

    `purpose` is that of `listen`. `is_port` says whether another port would help (it is taken, or only root may have
    it), rather than another address.
    """

    def __init__(self, message: str, *, purpose: str, is_port: bool) -> None:
        super().__init__(message)
        self.purpose = purpose
        self.is_port = is_port


def listen(address: str, port: int, *, purpose: str = "") -> socket.socket:
    """A listening TCP socket on `address` (`::` accepts IPv4 too, and becomes 0.0.0.0 if there is no IPv6).

    Port 0 takes any free port. `purpose` is http, https, gateway, admin, peer or webhook; the error has it.
    Raises `CannotListen`.
    """
    (listener,) = listen_together(address, port, count=1, purpose=purpose)
    return listener


def listen_together(address: str, port: int, *, count: int, purpose: str = "") -> list[socket.socket]:
    """As `listen`, but `count` sockets on one port, over which the kernel spreads connections (SO_REUSEPORT)."""
    listeners: list[socket.socket] = []
    try:
        listeners.append(_listen(address, port, shares=count > 1))
        while len(listeners) < count:
            listeners.append(_listen(address, port_of(listeners[0]), joins=True))
    except OSError as error:
        for listener in listeners:
            listener.close()
        if address == "::" and error.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
            return listen_together("0.0.0.0", port, count=count, purpose=purpose)
        raise CannotListen(
            f"cannot listen on {address} port {port}: {error.strerror or error}",
            purpose=purpose,
            is_port=error.errno in (errno.EADDRINUSE, errno.EACCES),
        ) from None
    return listeners


def open_ports(address: str, ports: Iterable[Port], *, count: int) -> list[dict[str, socket.socket]]:
    """`count` sets of sockets, each with one socket for each port, by name. Raises `CannotListen`."""
    places: list[dict[str, socket.socket]] = [{} for _ in range(count)]
    try:
        for port in ports:
            purpose = port.name if port.name in ("http", "https") else "gateway"
            together = listen_together(address, port.number, count=count, purpose=purpose)
            for place, listener in zip(places, together, strict=True):
                place[port.name] = listener
    except BaseException:
        for listener in chain.from_iterable(place.values() for place in places):
            listener.close()
        raise
    return places


def ports_of(sockets: Mapping[str, socket.socket]) -> dict[str, int]:
    """The ports to which sockets are bound, by the names of the sockets."""
    return {name: port_of(listener) for name, listener in sockets.items()}


def join(other: tuple[str, int]) -> socket.socket:
    """A socket beside the remaining ones of `listen_together`, by the address and port of one of them.

    It gets connections only after it is told to listen. Raises OSError.
    """
    return _listen(*other, joins=True, listens=False)


def place_of(listener: socket.socket) -> tuple[str, int]:
    """The address and port to which a socket is bound."""
    address, port, *_ = listener.getsockname()
    return str(address), int(port)


def _listen(
    address: str, port: int, *, shares: bool = False, joins: bool = False, listens: bool = True
) -> socket.socket:
    """A socket that has the port alone, lets others join, or joins another socket."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets inherit it (Linux). asyncio sets it only on sockets that report TCP, and none of these does.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        if joins:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((address, port))
        if shares:
            # Only after binding, because a port that another process of the same user shares counts as in use.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if listens:
            listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def port_of(listener: socket.socket) -> int:
    """The port to which a socket is bound."""
    return place_of(listener)[1]


def descriptor_limit() -> int:
    """How many descriptors this process may have, after raising its own limit (as Go's runtime does)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


def connection_bound(descriptors: int) -> int:
    """How many client connections `descriptors` allow, at least 1.

    A tenth of them, and at least 64, are reserved for the admin port, logs, the control plane and idle connections to
    endpoints. Of the rest each client needs two: one for itself and one for the endpoint that answers.
    """
    return max(1, endpoint_bound(descriptors) // 2)


def endpoint_bound(descriptors: int) -> int:
    """How many connections to endpoints `descriptors` allow, at least 1, if there are few client connections."""
    return max(1, descriptors - max(64, descriptors // 10))
