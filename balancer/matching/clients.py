"""What stands for a client where clients are counted.

An IPv6 client is counted by its network of 64 bits, because every host there can use all addresses of the network.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from balancer.matching.addresses import Address, address_of

_HOST_BITS: Final = 64
_PEERS_REMEMBERED: Final = 1024  # clients that open a connection for each request


def client_key(address: Address) -> bytes:
    """What stands for the client with an address: the address, of IPv6 the network."""
    version, number = address
    return b"%d" % number if version == 4 else b"%x:" % (number >> _HOST_BITS)


@lru_cache(maxsize=_PEERS_REMEMBERED)
def peer_key(peer: str) -> bytes:
    """What stands for the client at the other end of a connection: `client_key`, or `peer` if that is no address."""
    address = address_of(peer)
    return peer.encode() if address is None else client_key(address)
