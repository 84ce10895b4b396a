"""Reads and sets properties of the socket under a transport. Does not know what is sent."""

from __future__ import annotations

import asyncio
import select
import socket
import struct
from contextlib import suppress

from balancer.http.proofs import ClientProof

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER with no time: closing sends RST and drops unsent bytes
_EPHEMERAL, _AUTHENTICATED = ("ECDHE-", "DHE-"), ("-GCM-", "-CHACHA20-", "-CCM")  # as OpenSSL names ciphers of TLS 1.2


def peer_address(transport: asyncio.BaseTransport) -> str:
    """The address of the peer without port, with mapped IPv4 written as IPv4; empty if unknown."""
    peername = transport.get_extra_info("peername")
    return plain_address(peername[0]) if peername else ""


def plain_address(address: str) -> str:
    """An address of the kernel, with mapped IPv4 written as IPv4."""
    return address.removeprefix("::ffff:") if "." in address else address


def has_unread(transport: asyncio.BaseTransport) -> bool:
    """Whether the socket has unread bytes or an unread end of stream."""
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))


def client_proof(transport: asyncio.BaseTransport) -> ClientProof | None:
    """What the client has shown in the handshake of a TLS connection; None if it was not asked for a certificate."""
    proof = getattr(transport.get_extra_info("ssl_object"), "proof", None)
    return proof if isinstance(proof, ClientProof) else None


def agreed_protocol(transport: asyncio.BaseTransport) -> str | None:
    """The protocol that the handshake of a TLS connection has chosen; None if the client offered none."""
    connection = transport.get_extra_info("ssl_object")
    return None if connection is None else connection.selected_alpn_protocol()


def has_modern_cipher(transport: asyncio.BaseTransport) -> bool:
    """Whether the cipher of a TLS connection is none of those that HTTP/2 forbids (RFC 9113 appendix A).

    These are all of TLS 1.2 but those with an ephemeral key and authenticated encryption. TLS 1.3 has no others.
    """
    connection = transport.get_extra_info("ssl_object")
    cipher = connection.cipher() if connection is not None else None
    if cipher is None:
        return False
    name, version, _ = cipher
    return version == "TLSv1.3" or (name.startswith(_EPHEMERAL) and any(mode in name for mode in _AUTHENTICATED))


def reset_on_close(transport: asyncio.BaseTransport) -> None:
    """Makes a later close send RST."""
    with suppress(OSError):  # the socket may just have been closed
        connection = transport.get_extra_info("socket")
        if connection is not None:  # TLS that has ended has no socket
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
