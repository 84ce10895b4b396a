"""For which server names handshakes ask clients for a certificate."""

from __future__ import annotations

import msgspec
import trustme

from balancer.connections.asking_tls import AskingContext
from balancer.connections.tls import ServerNames
from balancer.model.certificates import Authority
from balancer.model.client_tls import ClientDemand
from balancer.model.publication import RoutingModel
from balancer.model.routes import Host
from balancer.model.settings import ListenerTls, ProxySettings
from tests.unit.balancer.connections.test_tls import AUTHORITY, MODEL, SHOP, names_for


def asking(*hosts: Host, ca: bytes = b"") -> ServerNames:
    authority = Authority("shop/clients", ca or AUTHORITY.cert_pem.bytes())
    return names_for(RoutingModel(hosts=hosts, certificates=(SHOP,), authorities=(authority,)))


def demanding(name: str, authority: str = "shop/clients", digest: str = "digest") -> Host:
    return Host(name, certificate=SHOP.key, client_demand=ClientDemand(name, authority, digest))


def test_certificates_are_asked_for_where_a_host_demands_them() -> None:
    assert not names_for(MODEL).asks
    names = asking(demanding("*.wild.test"), Host("open.wild.test"), demanding("shop.test"))
    assert names.asks
    for name in ("shop.test", "SHOP.test.", "a.wild.test"):
        assert isinstance(names.context_for(name), AskingContext)
    for other in (None, "open.wild.test", "a.b.wild.test", "unknown.test"):
        assert names.context_for(other) is None


def test_the_host_without_a_name_asks_clients_for_whom_there_is_no_other() -> None:
    names = asking(demanding(""), Host("open.test"))
    assert isinstance(names.context_for(None), AskingContext)
    assert isinstance(names.context_for("unknown.test"), AskingContext)
    assert names.context_for("open.test") is None


def test_without_a_usable_authority_the_usual_context_serves_and_the_gates_refuse() -> None:
    assert asking(demanding("shop.test", authority="shop/missing")).context_for("shop.test") is None
    assert asking(demanding("shop.test"), ca=b"nonsense").context_for("shop.test") is None


def test_a_changed_authority_makes_another_context() -> None:
    names = asking(demanding("shop.test"))
    before = names.context_for("shop.test")
    changed = RoutingModel(
        hosts=(demanding("shop.test", digest="other"),),
        certificates=(SHOP,),
        authorities=(Authority("shop/clients", trustme.CA().cert_pem.bytes()),),
    )
    names.update(changed)
    after = names.context_for("shop.test")
    assert isinstance(before, AskingContext)
    assert isinstance(after, AskingContext)
    assert before.made is not after.made


def test_a_context_stays_while_other_hosts_come_and_go() -> None:
    names = asking(demanding("shop.test"))
    before = names.context_for("shop.test")
    model = RoutingModel(
        hosts=(demanding("shop.test"), demanding("wild.test")),
        certificates=(SHOP,),
        authorities=(Authority("shop/clients", AUTHORITY.cert_pem.bytes()),),
    )
    names.update(model)
    after = names.context_for("shop.test")
    assert isinstance(before, AskingContext)
    assert isinstance(after, AskingContext)
    assert before.made is after.made
    names.update(msgspec.structs.replace(model, proxy=ProxySettings(tls=ListenerTls(oldest="TLSv1_3"))))
    newer = names.context_for("shop.test")
    assert isinstance(newer, AskingContext)
    assert before.made is not newer.made
