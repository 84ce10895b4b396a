"""Listeners that collide on a port."""

from __future__ import annotations

from typing import Any

from ingress.translation.gateway.listener_conflicts import TakenPorts
from ingress.translation.gateway.listeners import ListenerOwner, ReadListener
from tests.unit.ingress.translation.gateway.objects import OWNER, read_one

SET = ListenerOwner("ListenerSet", "shop", "extra")
PASS = {"mode": "Passthrough"}


def placed(*listeners: dict[str, Any], taken: TakenPorts | None = None, owner: ListenerOwner = OWNER) -> list[str]:
    """The reason of each listener's conflict; empty for none."""
    asked: list[ReadListener] = [
        read_one(owner, **{"name": f"l{index}", **each}) for index, each in enumerate(listeners)
    ]
    found = (taken or TakenPorts()).place(asked)
    assert all(each.serves == (each.conflict is None) for each in found)
    return [each.conflict.reason if each.conflict else "" for each in found]


def test_inside_one_gateway_nobody_wins() -> None:
    assert placed({"hostname": "a.test"}, {"hostname": "A.test."}) == ["HostnameConflict"] * 2
    assert placed({"port": 9000}, {"port": 9000, "protocol": "TCP"}) == ["ProtocolConflict"] * 2
    assert placed({"port": 9000, "protocol": "TCP"}, {"port": 9000, "protocol": "TCP"}) == ["HostnameConflict"] * 2


def test_hostnames_tell_no_connections_of_tcp_apart() -> None:
    raw = {"port": 9000, "protocol": "TCP"}
    assert placed({**raw, "hostname": "a.test"}, {**raw, "hostname": "b.test"}) == ["HostnameConflict"] * 2


def test_what_can_stand_beside_each_other() -> None:
    https = {"port": 443, "protocol": "HTTPS", "tls": {}, "hostname": "a.test"}
    assert placed({"hostname": "a.test"}, {"hostname": "*.test"}, {}) == ["", "", ""]
    assert placed(https, {"port": 443, "protocol": "TLS", "tls": PASS, "hostname": "b.test"}) == ["", ""]
    assert (
        placed(https, {"port": 443, "protocol": "TLS", "tls": PASS, "hostname": "a.test"}) == ["HostnameConflict"] * 2
    )


def test_what_comes_later_gives_way() -> None:
    taken = TakenPorts()
    assert placed({"hostname": "a.test"}, taken=taken) == [""]
    later = ({"hostname": "a.test"}, {"hostname": "b.test"}, {"protocol": "TCP", "hostname": "c.test"})
    assert placed(*later, taken=taken, owner=SET) == ["HostnameConflict", "", "ProtocolConflict"]


def test_a_place_stays_taken_by_those_who_collide_for_it() -> None:
    taken = TakenPorts()
    placed({"hostname": "a.test"}, {"hostname": "a.test"}, taken=taken)
    assert placed({"hostname": "a.test"}, taken=taken, owner=SET) == ["HostnameConflict"]


def test_a_listener_that_is_refused_takes_no_place() -> None:
    assert placed({"protocol": "UDP", "port": 80}, {}) == ["", ""]
