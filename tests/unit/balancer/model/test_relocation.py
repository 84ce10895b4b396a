"""Edits of endpoints' fields travel to workers as they are."""

from __future__ import annotations

import msgspec
import pytest

from balancer.model.edits import ResponseRule
from balancer.model.redirects import UrlForm
from balancer.model.relocation import RewriteCookies, RewriteLocation


@pytest.mark.parametrize(
    "rule", [RewriteLocation("/a", "/b", UrlForm(relative=True)), RewriteCookies(("a.test", "b.test"), None)]
)
def test_a_rule_is_the_same_after_a_trip_to_a_worker(rule: ResponseRule) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(rule), type=ResponseRule) == rule
