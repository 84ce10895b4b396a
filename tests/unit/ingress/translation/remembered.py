"""Objects that change at random, each in several versions, for translations that remember what they have made."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import msgspec
import trustme

from ingress.objects.kinds import (
    Ingress,
    IngressTls,
    KubernetesObject,
    Metadata,
    Secret,
    ServicePort,
    ServiceSpec,
    SlicePort,
)
from ingress.settings.table.option import OWN_PREFIX
from tests.unit.ingress.cluster import (
    backend,
    config_map,
    endpoint,
    endpoint_slice,
    full_node,
    ingress,
    ingress_class,
    leaving_node,
    nginx,
    node,
    path,
    rule,
    service,
    tls_secret,
)

_CA = trustme.CA(key_type=trustme.KeyType.ECDSA)
_LEAVES = [_CA.issue_cert(name, key_type=trustme.KeyType.ECDSA) for name in ("a.test", "b.test")]
_CA_PEM = _CA.cert_pem.bytes()


def _own(**said: str) -> dict[str, str]:
    return {OWN_PREFIX + name.replace("_", "-"): text for name, text in said.items()}


_SAID: tuple[Mapping[str, str], ...] = (
    {},
    _own(zone_policy="prefer-zone"),
    _own(zone_policy="off", max_concurrency="7"),
    _own(no_such="x"),
    nginx(use_regex="true"),
    nginx(rewrite_target="/$1"),
    nginx(app_root="/home"),
    nginx(server_alias="b.test,alias.test"),
    nginx(from_to_www_redirect="true"),
    nginx(canary="true", canary_weight="20"),
    nginx(auth_tls_secret="shop/ca"),
    nginx(auth_type="basic", auth_secret="users"),
    nginx(custom_headers="shop/fields"),
    nginx(default_backend="next", custom_http_errors="404"),
    nginx(backend_protocol="HTTPS", proxy_ssl_secret="shop/ca", proxy_ssl_verify="on"),
    nginx(affinity="cookie"),
    nginx(server_snippet="deny all;"),
    nginx(mirror_target="http://127.0.0.1/"),
    nginx(service_upstream="true"),
)
_TEXTS = ("/", "/a", "/a/", "/(.*)")
_HOSTS = ("a.test", "b.test", "www.a.test", "", "alias.test")


def _ingress_of(name: str, number: int) -> Ingress:
    """One of many Ingresses of this name."""
    number, said = divmod(number, len(_SAID))
    number, host = divmod(number, len(_HOSTS))
    number, text = divmod(number, len(_TEXTS))
    number, to = divmod(number, 3)
    number, tls = divmod(number, 3)
    target = backend(("cart", "next", "gone")[to], (80, "http", 81)[number % 3])
    return ingress(
        name,
        rule(_HOSTS[host], path(_TEXTS[text], "Prefix", target), path("/a", "Exact")),
        annotations=_SAID[said],
        created=f"2024-01-0{1 + number % 4}T00:00:00Z",
        default=backend("next") if number % 5 == 0 else None,
        class_name="other" if number % 7 == 6 else "zonal",
        tls=[IngressTls((_HOSTS[host] or "a.test",), "t")] if tls else [],
    )


def _versions() -> dict[str, list[KubernetesObject]]:
    two = (ServicePort(80, "http"), ServicePort(81, "more", app_protocol="kubernetes.io/h2c"))
    bad = [endpoint(f"127.0.0.{number}") for number in range(1, 15)]
    secret = Secret(Metadata("ca", "shop"), {"ca.crt": base64.b64encode(_CA_PEM).decode()})
    users = Metadata("users", "shop")
    upstream = msgspec.structs.replace(service(), spec=ServiceSpec(ports=two, cluster_ip="10.1.1.1"))
    return {
        "class": [ingress_class(), ingress_class(controller="other")],
        "settings": [
            config_map(zone_aware_routing="true"),
            config_map(),
            config_map(zone_aware_routing="true", zone_policy="hints", path_parameters="pass"),
            config_map(ssl_redirect="false", server_tokens="maybe"),
        ],
        "fields": [
            config_map("shop", "fields", X_Own="1"),
            config_map("shop", "fields", X_Own="2"),
        ],
        "cart": [
            service(),
            service("cart", *two),
            service(annotations=_own(zone_policy="hints")),
            service(kind="ExternalName"),
            upstream,
        ],
        "next": [service("next"), service("next", *two)],
        "slices of cart": [
            endpoint_slice("cart-1", endpoint(zone="zone-a", node="n1"), endpoint("10.0.0.2", node="n2")),
            endpoint_slice("cart-1", endpoint(node="n1", ready=False)),
            endpoint_slice("cart-1", *bad),
            endpoint_slice("cart-1", of="next"),
        ],
        "more slices of cart": [
            endpoint_slice("cart-2", endpoint("10.0.0.3", node="n2"), ports=(SlicePort("more", 8081),))
        ],
        "slices of next": [endpoint_slice("next-1", endpoint("10.0.1.1", zone="zone-b", node="n2"), of="next")],
        "n1": [node("n1"), node("n1", "zone-b"), full_node("n1", "zone-a", "4"), leaving_node("n1", "zone-a")],
        "n2": [node("n2", "zone-b"), full_node("n2", None)],
        "t": [tls_secret("t", leaf.cert_chain_pems[0].bytes(), leaf.private_key_pem.bytes()) for leaf in _LEAVES],
        "ca": [secret],
        "users": [Secret(users, string_data={"auth": "alice:$apr1$x$y"}), Secret(users, string_data={"auth": ""})],
    }


VERSIONS = _versions()
"""The versions of each object but Ingresses."""

INGRESSES = ("one", "two", "three", "four")

FIRST = [
    *(versions[0] for versions in VERSIONS.values()),
    *(_ingress_of(name, number) for number, name in enumerate(INGRESSES)),
]
"""A cluster in good order, with an Ingress that sets the zone policy of its routes."""


def version_of(which: int, what: int) -> tuple[KubernetesObject, bool]:
    """An object in one of its versions, and whether it goes. Every second one is an Ingress."""
    if which % 2:
        return _ingress_of(INGRESSES[which // 2 % len(INGRESSES)], what // 8), what % 8 == 0
    versions = list(VERSIONS.values())[which // 2 % len(VERSIONS)]
    return versions[what // 8 % len(versions)], what % 8 == 0
