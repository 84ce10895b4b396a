"""Rules of edits travel to workers as they are."""

from __future__ import annotations

import msgspec

from balancer.model.edits import ResponseRule, SetFields


def test_a_rule_is_the_same_after_a_trip_to_a_worker() -> None:
    rule = SetFields((("X-Frame-Options", "DENY"),))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(rule), type=ResponseRule) == rule
