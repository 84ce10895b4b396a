"""Features of a route, one host for each: what an Ingress says to have it, and what nginx is told for the same.

Both compare on the small GET. A feature that nginx lacks has no directives.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tests.bench.peers.configs.setup import Setup
from tests.integration.manifests import Document, ingress, path, rule

USER = "Basic YWxpY2U6d29uZGVybGFuZA=="  # alice:wonderland
HASH = "alice:{SHA}tiY7sUhYKUwI5L3866kDY+ENcrQ="


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """`nginx` are lines inside the location, with `{setup}`; None: nginx has no such feature. `fields` are sent."""

    name: str
    title: str
    annotations: dict[str, str]
    nginx: str | None
    pattern: str = "/"
    fields: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """The host that has the feature."""
        return f"{self.name}.features.example"


PLAIN = Feature(name="plain", title="no feature", annotations={}, nginx="")

FEATURES = (
    PLAIN,
    Feature(
        name="rewrite",
        title="regular expression, target rewritten with a capture",
        annotations={"rewrite-target": "/$1"},
        pattern="/app/(.*)",
        nginx='rewrite "(?i)^/app/(.*)" /$1 break;',
    ),
    Feature(
        name="ranges",
        title="source ranges",
        annotations={"allowlist-source-range": "10.0.0.0/8,127.0.0.0/8"},
        nginx="allow 10.0.0.0/8; allow 127.0.0.0/8; deny all;",
    ),
    Feature(
        name="cors",
        title="CORS for one origin",
        annotations={"enable-cors": "true", "cors-allow-origin": "https://app.example"},
        nginx="add_header Access-Control-Allow-Origin $http_origin always;"
        " add_header Access-Control-Allow-Credentials true always;",
        fields=("Origin: https://app.example",),
    ),
    Feature(
        name="rate",
        title="rate limit",
        annotations={"limit-rps": "1000000"},
        nginx="limit_req zone=rate burst=5000 nodelay;",
    ),
    Feature(
        name="flights",
        title="limit of connections",
        annotations={"limit-connections": "10000"},
        nginx="limit_conn flights 10000;",
    ),
    Feature(
        name="basic",
        title="basic auth, password remembered",
        annotations={"auth-type": "basic", "auth-secret": "users"},
        nginx="auth_basic bench; auth_basic_user_file {setup.place}/users;",
        fields=(f"Authorization: {USER}",),
    ),
    Feature(
        name="external",
        title="external auth, asked each time",
        annotations={"auth-url": "http://127.0.0.1:{setup.endpoint_ports[0]}/"},
        nginx="auth_request /auth;",
    ),
    Feature(
        name="affinity",
        title="cookie affinity",
        annotations={"affinity": "cookie"},
        nginx=None,
    ),
    Feature(
        name="spool",
        title="body received first (the GET has none)",
        annotations={"proxy-request-buffering": "on"},
        nginx="proxy_request_buffering on;",
    ),
)

_PREFIX = "nginx.ingress.kubernetes.io/"

_ZONES = """    limit_req_zone $binary_remote_addr zone=rate:10m rate=1000000r/s;
    limit_conn_zone $binary_remote_addr zone=flights:10m;
"""

_SERVER = """    server {{
        listen 127.0.0.1:{port};
        server_name {host};
        location / {{
            {directives}
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_pass http://app;
        }}
        location = /auth {{
            internal;
            proxy_pass_request_body off;
            proxy_set_header Content-Length "";
            proxy_set_header Connection "";
            proxy_pass http://app;
        }}
    }}
"""


def servers(setup: Setup) -> str:
    """nginx's servers for all features that it has; writes the file of users that one of them names."""
    (setup.place / "users").write_text(HASH + "\n", encoding="utf-8")
    found = [
        _SERVER.format(port=setup.http_port, host=each.host, directives=each.nginx.format(setup=setup))
        for each in FEATURES
        if each.nginx is not None
    ]
    return _ZONES + "".join(found)


def objects(setup: Setup) -> Iterator[Document]:
    """An Ingress for each feature, and the Secret of users."""
    yield {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "users", "namespace": "shop"},
        "stringData": {"auth": HASH},
    }
    for each in FEATURES:
        said = {_PREFIX + name: text.format(setup=setup) for name, text in each.annotations.items()}
        kind = "ImplementationSpecific" if each.pattern != "/" else "Prefix"
        yield ingress(each.name, rule(each.host, path(each.pattern, "app", kind=kind)), annotations=said)
