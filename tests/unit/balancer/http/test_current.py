"""Settings in use are those of the newest model."""

from __future__ import annotations

import msgspec

from balancer.live import LiveTable
from balancer.model.publication import RoutingModel
from balancer.model.settings import ProxySettings
from tests import builders


def test_a_swap_changes_the_settings_for_whoever_holds_them() -> None:
    live = LiveTable(lambda _: 0)
    held = live.settings
    changed = msgspec.structs.replace(ProxySettings(), keep_alive_requests=7)
    live.swap(builders.publication(1, msgspec.structs.replace(RoutingModel(), proxy=changed)))
    assert held.proxy is changed
