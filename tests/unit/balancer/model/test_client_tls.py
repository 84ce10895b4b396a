"""Demands are values: a changed Secret is another demand."""

from __future__ import annotations

import msgspec

from balancer.model.client_tls import ClientCertificates, ClientDemand, ClientVerification


def test_a_demand_travels_and_its_content_counts() -> None:
    demand = ClientDemand("shop.test", "shop/clients", "digest", ClientVerification.OPTIONAL_NO_CA, 2)
    rule = ClientCertificates(demand, subject_pattern="CN=alice")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(rule), type=ClientCertificates) == rule
    assert msgspec.structs.replace(demand, digest="other") != demand
