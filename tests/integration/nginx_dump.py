"""A dump of a cluster that ingress-nginx serves: as many Ingresses as wanted, from one seed.

People set annotations in groups (a canary, an auth service, limits). How often a group comes follows the priority of
its annotations in ingress-nginx's documentation as users report them: much used, used, rarely used, internals of nginx.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import NamedTuple

import trustme

from tests.integration.manifests import Document, ingress, path, rule

PREFIX = "nginx.ingress.kubernetes.io/"
NAMESPACES = ("shop", "blog")
SERVICES = ("web", "api", "docs", "next", "fallback")
IDLE = "idle"
"""A Service without endpoints, as clusters have some."""

OFTEN, SOMETIMES, RARELY, HARDLY = 12, 5, 2, 1


class Group(NamedTuple):
    """Annotations that are set together, and how often that happens beside the other groups."""

    weight: int
    annotations: Mapping[str, str]


GROUPS = (
    Group(OFTEN, {"proxy-body-size": "50m"}),
    Group(OFTEN, {"proxy-read-timeout": "3600", "proxy-send-timeout": "3600"}),
    Group(OFTEN, {"proxy-connect-timeout": "10"}),
    Group(OFTEN, {"ssl-redirect": "false"}),
    Group(OFTEN, {"proxy-buffering": "off", "proxy-request-buffering": "off"}),
    Group(OFTEN, {"whitelist-source-range": "127.0.0.0/8,10.0.0.0/8"}),
    Group(OFTEN, {"affinity": "cookie", "session-cookie-name": "route", "session-cookie-max-age": "172800"}),
    Group(OFTEN, {"enable-cors": "true", "cors-allow-origin": "https://app.example.com"}),
    Group(OFTEN, {"proxy-buffer-size": "16k", "proxy-buffers-number": "8"}),
    Group(OFTEN, {"proxy-next-upstream": "error timeout http_502", "proxy-next-upstream-tries": "2"}),
    Group(OFTEN, {"force-ssl-redirect": "true"}),
    Group(OFTEN, {"use-regex": "true"}),
    Group(OFTEN, {"limit-rps": "100"}),
    Group(SOMETIMES, {"limit-connections": "50", "limit-rpm": "6000", "limit-burst-multiplier": "3"}),
    Group(SOMETIMES, {"auth-type": "basic", "auth-secret": "passwords", "auth-realm": "Authentication Required"}),
    Group(SOMETIMES, {"auth-url": "http://127.0.0.1:1/verify", "auth-signin": "https://sign.example.com/in"}),
    Group(SOMETIMES, {"permanent-redirect": "https://new.example.com"}),
    Group(SOMETIMES, {"temporal-redirect": "https://away.example.com", "temporal-redirect-code": "307"}),
    Group(SOMETIMES, {"app-root": "/home"}),
    Group(SOMETIMES, {"upstream-vhost": "internal.example.com"}),
    Group(SOMETIMES, {"load-balance": "ewma"}),
    Group(SOMETIMES, {"upstream-hash-by": "$request_uri"}),
    Group(SOMETIMES, {"backend-protocol": "HTTPS"}),
    Group(SOMETIMES, {"backend-protocol": "GRPC"}),
    Group(SOMETIMES, {"custom-http-errors": "404,502", "default-backend": "fallback"}),
    Group(SOMETIMES, {"configuration-snippet": 'more_set_headers "X-Frame-Options: DENY";'}),
    Group(SOMETIMES, {"denylist-source-range": "203.0.113.0/24"}),
    Group(SOMETIMES, {"from-to-www-redirect": "true"}),
    Group(RARELY, {"auth-tls-secret": "{namespace}/ca", "auth-tls-verify-client": "on"}),
    Group(RARELY, {"connection-proxy-header": "keep-alive"}),
    Group(RARELY, {"enable-access-log": "false"}),
    Group(RARELY, {"mirror-target": "http://127.0.0.1:1$request_uri"}),
    Group(RARELY, {"preserve-trailing-slash": "true"}),
    Group(RARELY, {"proxy-cookie-path": "/one/ /two/", "proxy-redirect-from": "off"}),
    Group(RARELY, {"proxy-http-version": "1.1"}),
    Group(RARELY, {"satisfy": "any", "whitelist-source-range": "127.0.0.0/8"}),
    Group(RARELY, {"server-snippet": "location /internal { deny all; }"}),
    Group(RARELY, {"service-upstream": "false"}),
    Group(RARELY, {"ssl-passthrough": "true"}),
    Group(RARELY, {"limit-rate": "500", "limit-rate-after": "100"}),
    Group(RARELY, {"session-cookie-samesite": "Lax", "affinity": "cookie", "affinity-mode": "persistent"}),
    Group(HARDLY, {"enable-modsecurity": "true", "enable-owasp-core-rules": "true"}),
    Group(HARDLY, {"enable-opentelemetry": "true"}),
    Group(HARDLY, {"http2-push-preload": "true"}),
    Group(HARDLY, {"client-body-buffer-size": "64k", "proxy-max-temp-file-size": "1024m"}),
    Group(HARDLY, {"enable-websockets": "true"}),
    Group(HARDLY, {"ssl-prefer-server-ciphers": "true"}),
    Group(HARDLY, {"session-cookie-hash": "sha1"}),
    Group(HARDLY, {"whitelist-source-rnage": "10.0.0.0/8"}),
)
"""Alone in their order they are every group once; `{namespace}` stands for that of the Ingress."""

_MISTAKES = {
    "proxy-read-timeout": "60s",
    "whitelist-source-range": "10.0.0.0/99",
    "proxy-body-size": "lots",
    "force-ssl-redirect": "maybe",
    "permanent-redirect": "not a url",
}
_MISTAKES_SHARE = 0.05
_CONFIG: dict[str, str] = {
    "ssl-redirect": "false",
    "keep-alive": "75",
    "proxy-body-size": "8m",
    "server-tokens": "false",
    "worker-processes": "auto",
}


def generated(seed: int, count: int) -> list[Document]:
    """`count` Ingresses of class nginx with their Secrets and the ConfigMap; the Services are whoever serves them.

    Nearly every group is in a dump of more Ingresses than there are groups. Canaries stand right after their main
    Ingress. Rewrites bring paths that are expressions.
    """
    random, made = Random(seed), list[Document]()
    while len(made) < count:
        made += _made(random, len(made))
    return [*made[:count], *secrets_of(made[:count]), config_map()]


def _made(random: Random, number: int) -> list[Document]:
    """One Ingress, or a pair that belongs together."""
    namespace = random.choice(NAMESPACES)
    host = f"app-{number}.example.com"
    annotations = _annotations(random, number, namespace)
    kind = random.choices(("plain", "shared", "canary", "rewrite", "idle"), weights=(28, 6, 4, 6, 1))[0]
    if kind == "idle":
        return [_ingress(number, namespace, {}, rule(host, path("/", IDLE)), random)]  # no redirect hides the 503
    if kind == "rewrite":
        rewritten = {"use-regex": "true", "rewrite-target": "/$2"}
        expression = path("/v1(/|$)(.*)", "api", kind="ImplementationSpecific")
        return [_ingress(number, namespace, {**annotations, **rewritten}, rule(host, expression), random)]
    main = _ingress(number, namespace, annotations, rule(host, path("/", "web"), path("/api", "api")), random)
    if kind == "canary":
        rules = {"canary": "true", "canary-by-header": "X-Canary"}
        return [main, _ingress(number + 1, namespace, rules, rule(host, path("/", "next")), random, tls=False)]
    if kind == "shared":
        other = _annotations(random, number + 1, namespace)
        return [main, _ingress(number + 1, namespace, other, rule(host, path("/docs", "docs")), random, tls=False)]
    return [main]


def _annotations(random: Random, number: int, namespace: str) -> dict[str, str]:
    groups = random.choices(GROUPS, weights=[group.weight for group in GROUPS], k=random.choice((0, 1, 1, 2, 3)))
    if number < len(GROUPS):
        groups = [GROUPS[number]]
    given = {
        name: text.replace("{namespace}", namespace) for group in groups for name, text in group.annotations.items()
    }
    for name, text in _MISTAKES.items():
        if name in given and random.random() < _MISTAKES_SHARE:
            given[name] = text
    return given


def _ingress(
    number: int, namespace: str, annotations: Mapping[str, str], only: Document, random: Random, *, tls: bool = True
) -> Document:
    sections = [{"hosts": [only["host"]], "secretName": "tls"}] if tls and random.random() < 0.4 else []
    made = ingress(
        f"ingress-{number}",
        only,
        namespace=namespace,
        class_name="nginx",
        tls=sections,
        annotations={PREFIX + name: text for name, text in annotations.items()},
    )
    made["metadata"]["creationTimestamp"] = f"2024-01-{1 + number % 28:02}T00:{number % 60:02}:00Z"
    return made


def secrets_of(ingresses: Iterable[Document]) -> list[Document]:
    """The Secrets that the Ingresses name, each with a certificate for *.example.com, an authority and passwords."""
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    issued = authority.issue_cert("*.example.com", key_type=trustme.KeyType.ECDSA)
    data = {
        "tls.crt": issued.cert_chain_pems[0].bytes(),
        "tls.key": issued.private_key_pem.bytes(),
        "ca.crt": authority.cert_pem.bytes(),
        "auth": b"user:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n",
    }
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    named = dict.fromkeys(each for ingress in ingresses for each in _named(ingress))
    return [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": encoded}
        for namespace, name in named
    ]


def _named(ingress: Document) -> Iterator[tuple[str, str]]:
    metadata = ingress["metadata"]
    annotations = metadata.get("annotations") or {}
    names = [annotations.get(PREFIX + name, "") for name in ("auth-secret", "auth-tls-secret", "proxy-ssl-secret")]
    names += [section.get("secretName", "") for section in ingress["spec"].get("tls") or ()]
    for name in filter(None, names):
        namespace, _, rest = name.rpartition("/")
        yield namespace or metadata["namespace"], rest


def config_map() -> Document:
    """The ConfigMap of ingress-nginx, which redirects nothing to https of itself."""
    metadata = {"name": "ingress-nginx-controller", "namespace": "ingress-nginx"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(_CONFIG)}
