"""The rule of an auth service travels to workers unchanged, and its secret fields are never shown."""

from __future__ import annotations

import msgspec

from balancer.model.external_auth import ExternalAuth
from balancer.model.gates import GateRule
from balancer.model.secrecy import shown_fields


def test_a_rule_survives_the_way_to_a_worker() -> None:
    rule: GateRule = ExternalAuth("http://auth/", cache_seconds=((200, 1.5),), added_fields=(("X-A", "b"),))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(rule), type=GateRule) == rule


def test_fields_for_the_service_are_secret() -> None:
    assert "added_fields" not in shown_fields(ExternalAuth)
    assert "url" in shown_fields(ExternalAuth)
