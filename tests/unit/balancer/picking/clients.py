"""Clients who are told apart: by their last number, where a process would hash their names with a secret."""

from __future__ import annotations

from dataclasses import dataclass

from balancer.sharing.zone_peers import PLACES


@dataclass(slots=True)
class Client:
    client: str
    pause_seconds: float = 0.0


def place_of(name: bytes) -> int:
    """Where a client is counted. IPv4 addresses whose last numbers differ by less than `PLACES` have places of their
    own.
    """
    last = name.rpartition(b".")[2]
    return (int(last) if last.isdigit() else name[-1]) % PLACES
