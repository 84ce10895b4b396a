"""Which versions of TLS a listener speaks, shown by handshakes in memory."""

from __future__ import annotations

import ssl

import msgspec
import pytest

from balancer.connections.tls import ServerNames
from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import Listener, RouteConfiguration, Wildcards
from balancer.model.settings import ListenerTls, ProxySettings
from tests.unit.balancer.connections.test_tls import FALLBACK, SHOP, WILD, Shown, any_client, speaking


def demanding(oldest: str, *, other: str = "") -> RoutingModel:
    """A model whose listener for *.wild.test has an oldest version, and that for shop.test `other`."""
    listeners = (
        Listener("shop", "web", "shop.test", (SHOP.key,), oldest_tls=other),
        Listener("wild", "web", "*.wild.test", (WILD.key,), oldest_tls=oldest),
    )
    configuration = RouteConfiguration("web", wildcards=Wildcards.MANY_LABELS, has_fallback=False)
    return RoutingModel(certificates=(SHOP, WILD), listeners=listeners, route_configurations=(configuration,))


def test_a_listener_may_demand_a_newer_version_than_the_settings_and_others_do_not_change() -> None:
    names, old = ServerNames(FALLBACK, configuration="web"), speaking(ssl.TLSVersion.TLSv1_2)
    names.update(demanding("TLSv1_3"))
    assert Shown(names, "a.wild.test", any_client()).version == "TLSv1.3"
    assert Shown(names, "shop.test", old).version == "TLSv1.2"
    with pytest.raises(ssl.SSLError):
        Shown(names, "a.wild.test", old)
    names.update(demanding("", other="TLSv1_3"))
    assert Shown(names, "a.wild.test", old).version == "TLSv1.2"
    with pytest.raises(ssl.SSLError):
        Shown(names, "shop.test", old)


def test_a_version_holds_also_if_nobody_saw_the_name_before_openssl_did() -> None:
    names = ServerNames(FALLBACK, configuration="web")
    names.update(demanding("TLSv1_3"))
    with pytest.raises(ssl.SSLError, match="CALLBACK_FAILED"):
        Shown(names, "a.wild.test", any_client(), begun_for="shop.test")


def test_a_listener_cannot_ask_for_less_than_the_settings() -> None:
    names = ServerNames(FALLBACK, configuration="web")
    names.update(msgspec.structs.replace(demanding("TLSv1_2"), proxy=ProxySettings(tls=ListenerTls(oldest="TLSv1_3"))))
    with pytest.raises(ssl.SSLError):
        Shown(names, "a.wild.test", speaking(ssl.TLSVersion.TLSv1_2))
