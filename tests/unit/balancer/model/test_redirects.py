"""Redirects travel to workers as they are."""

from __future__ import annotations

import msgspec
import pytest

from balancer.model.gates import GateRule
from balancer.model.redirects import AppRoot, HttpsRedirect, NameRedirect, TargetRedirect, UrlForm


@pytest.mark.parametrize(
    "rule",
    [
        HttpsRedirect(301, 8443, True),
        AppRoot("/app"),
        NameRedirect("shop.test", 307),
        TargetRedirect("/new", 303, UrlForm(True, 8080, 8443)),
    ],
)
def test_a_redirect_is_the_same_after_a_trip_to_a_worker(rule: GateRule) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(rule), type=GateRule) == rule
