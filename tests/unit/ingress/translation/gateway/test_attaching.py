"""Which listeners a route is attached to, and why to none."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.objects.gateway_references import ParentReference
from ingress.translation.gateway.attaching import Attachment, attach, hostnames_of
from ingress.translation.gateway.namespaces import NamespaceLabels
from ingress.translation.gateway.standings import Problem
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.translation.gateway.objects import http_route, read, read_one

LABELS = NamespaceLabels(inventory())


def attached(*listeners: Any, section: str = "", port: int = 0, **route: Any) -> tuple[Attachment, ...] | Problem:
    reference = ParentReference("gw", section_name=section, port=port)
    return attach(http_route(**route), reference, [read_one(**each) for each in listeners], LABELS)


def test_a_route_is_attached_to_every_listener_that_takes_it() -> None:
    found = attached({"name": "a"}, {"name": "b", "port": 8080, "hostname": "x.test"}, hostnames=["x.test", "y.test"])
    assert isinstance(found, tuple)
    assert [(each.listener.spec.name, each.hostnames) for each in found] == [
        ("a", ("x.test", "y.test")),
        ("b", ("x.test",)),
    ]


def test_a_section_and_a_port_name_listeners() -> None:
    for said in ({"section": "b"}, {"port": 8080}):
        found = attached({"name": "a"}, {"name": "b", "port": 8080}, **said)
        assert isinstance(found, tuple)
        assert [each.listener.spec.name for each in found] == ["b"]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"section": "nope"}, "NoMatchingParent"),
        ({"section": "http", "port": 81}, "NoMatchingParent"),
        ({"namespace": "shop"}, "NotAllowedByListeners"),
        ({"hostnames": ["y.test"]}, "NoMatchingListenerHostname"),
    ],
)
def test_the_reason_is_that_of_the_nearest_listener(said: dict[str, Any], reason: str) -> None:
    found = attached({"hostname": "x.test"}, {"name": "other", "protocol": "TCP", "port": 9000}, **said)
    assert isinstance(found, Problem)
    assert found.reason == reason


def test_a_tcp_route_has_no_names() -> None:
    assert hostnames_of(read("TCPRoute", "raw")) == ()
    assert hostnames_of(http_route(hostnames=["a.test"])) == ("a.test",)
