"""Counts the bytes of clients by the zone that they come from: the hop before zonal."""

from __future__ import annotations

from balancer.metrics.definitions import CLIENT_BYTES, CLIENT_COST
from balancer.metrics.recorder import Recorder
from balancer.proxy.account import Account
from balancer.zones.client_hops import ClientHops


def count_hop(recorder: Recorder, hops: ClientHops, account: Account, own_zone: str) -> None:
    """Counts the bodies of one request, and what they cost on the way from its client to us and back."""
    hop, sent, received = hops.hop_of(account.client), account.request_bytes, account.response_bytes
    places = hop.client_zone, own_zone
    recorder.count(CLIENT_BYTES, (*places, "request"), sent)
    recorder.count(CLIENT_BYTES, (*places, "response"), received)
    if hop.sent or hop.received:
        recorder.count(CLIENT_COST, places, hop.sent * sent + hop.received * received)
