"""An empty model has the entry points of Ingresses, behind which there is nothing."""

from __future__ import annotations

import pytest

from balancer.model.entry_points import HTTP, HTTPS, EntryPoint, Protocol
from balancer.model.publication import RoutingModel


def test_an_empty_model_is_open_for_ingresses_and_serves_nothing() -> None:
    model = RoutingModel()
    assert model.entry_points == (HTTP, HTTPS)
    assert [(each.protocol, each.port, each.socket) for each in model.entry_points] == [
        (Protocol.HTTP, 80, "http"),
        (Protocol.HTTPS, 443, "https"),
    ]
    assert {each.configuration for each in model.entry_points} == {each.key for each in model.route_configurations}
    assert model.default_routes() == ()


@pytest.mark.parametrize("usual", [True, False])
def test_an_entry_point_may_say_for_itself_whether_a_proxy_header_comes_first(usual: bool) -> None:
    said = (None, True, False)
    found = [EntryPoint("raw", Protocol.TCP, 9000, "raw", reads_proxy_header=each).is_announced(usual) for each in said]
    assert found == [usual, True, False]
