"""What objects name is known by who names it, and divided among namespaces."""

from __future__ import annotations

from balancer.model.routes import Owner
from ingress.settings.context import TranslationContext
from ingress.translation.assembly import translate
from ingress.translation.claims import Claims
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.translation.gateway.objects import (
    CONTROLLER,
    gateway,
    gateway_class,
    grant,
    listener,
    listener_set,
    policy,
    read_all,
)

ALL = {"namespaces": {"from": "All"}}


def https(*names: str, namespace: str = "") -> dict[str, object]:
    references = [{"name": name, "namespace": namespace} if namespace else {"name": name} for name in names]
    return listener("https", 443, "HTTPS", tls={"certificateRefs": references})


def test_each_object_needs_what_it_names() -> None:
    tls = {"backend": {"clientCertificateRef": {"name": "me"}}}
    found = read_all(
        gateway(https("cert"), tls=tls, allowedListeners=ALL),
        listener_set(https("theirs") | {"hostname": "a.test"}, namespace="shop"),
        policy(),
    )
    assert found.needs == (
        Claims(Owner("Gateway", "infra", "gw"), secrets=(("infra", "cert"), ("infra", "me"))),
        Claims(Owner("ListenerSet", "shop", "extra"), secrets=(("shop", "theirs"),)),
        Claims(Owner("BackendTLSPolicy", "infra", "policy"), config_maps=(("infra", "ca"),)),
    )


def test_without_a_grant_an_object_of_another_namespace_is_not_looked_for() -> None:
    asked = gateway(https("cert", namespace="shop"))
    assert read_all(asked).needs == ()
    assert [each.secrets for each in read_all(asked, grant("Gateway", to="Secret")).needs] == [(("shop", "cert"),)]


def test_a_greedy_namespace_takes_no_place_of_another() -> None:
    greedy = gateway(https(*(f"s{number:04}" for number in range(1500))), name="greedy", namespace="aaa")
    modest = gateway(https("cert") | {"port": 8443}, namespace="shop")
    context = TranslationContext(
        controller_class=CONTROLLER, names_secrets=True, gateway_ports=((443, "443"), (8443, "8443"))
    )
    made = translate(inventory(gateway_class(), greedy, modest), context)
    assert ("shop", "cert") in made.wanted.secrets
    assert len(made.wanted.secrets) == 1000
    assert {each.namespace for each in made.findings if each.reason == "SecretNotFollowed"} == {"aaa"}


def test_config_maps_of_policies_are_divided_too() -> None:
    greedy = [
        policy(f"p{number}", caCertificateRefs=[{"kind": "ConfigMap", "name": f"c{number}"}]) for number in range(150)
    ]
    context = TranslationContext(controller_class=CONTROLLER, gateway_ports=((80, "80"),))
    made = translate(inventory(gateway_class(), gateway(), *greedy), context)
    assert len(made.wanted.config_maps) == 100
    assert "ConfigMapNotFollowed" in {each.reason for each in made.findings}
