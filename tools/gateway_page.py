"""Makes docs/gateway.md: how Gateways are served, and the table of features."""

from __future__ import annotations

from pathlib import Path

from ingress.translation.gateway.features import FEATURES, ROUTES_BY_PROTOCOL
from tools.places import DOCS

_PAGE = """\
# Gateway API

Made by `make docs` from `tools/gateway_page.py`, with the tables of `ingress/translation/gateway/features.py`;
do not edit.

zonal reads Gateway API v1 beside Ingress: GatewayClass, Gateway, ListenerSet, HTTPRoute, GRPCRoute, ReferenceGrant and
BackendTLSPolicy, today from a folder of manifests. Zones, health, retries and metrics are the same as for an Ingress.

```console
$ zonal run --source manifests --gateway-ports 80=8080,443=8443
$ curl -s http://127.0.0.1:10254/debug/gateway
```

`--gateway-ports` says which port of this process stands for which port of a Gateway. Without the option objects of
Gateway API are not read, and nothing about them costs anything. A GatewayClass is ours if its `controllerName` is
`zonal-ingress.io/controller`.

* All Gateways share these ports. Equal listeners of two Gateways conflict, and the older Gateway keeps its own.
  Inside one Gateway nobody wins: all listeners that collide are closed.
* `/debug/gateway` shows what the status of each object should say. Whatever a status says is not served is a
  finding, too.
* A rule that cannot be carried out keeps its place: its requests get 500, and never the next rule. The route has
  the condition `PartiallyInvalid`, or is not accepted if no rule is left.
* A backend that may not be asked or does not exist answers 500 for exactly its share; one without ready endpoints
  answers 503.
* A BackendTLSPolicy that cannot be carried out closes its backend (500), and so does a certificate of `tls.backend`
  that cannot be shown. One of the `subjectAltNames` of a policy is enough.
* Clients of a listener with `tls.frontend` need a certificate of its authorities, or their handshake fails. With
  `AllowInsecureFallback` everybody gets in.
* Mirrors get copies as their Service wants to be spoken to: in HTTP/1.1 or HTTP/2, with TLS where a policy says so.
* Findings name what no status can say: `HostnameShared` (two namespaces claim a name of one listener), `Shadowed` (a
  rule that gets no request), `RedirectLoop`. All routes together may have 1,000,000 conditions; beyond that the
  youngest are not accepted.
* A redirect and X-Forwarded-Port name the port of the listener, not that of the process.
* Routes take the annotations of zones: `zonal-ingress.io/zone-policy` and its kin ([zones.md](zones.md)).
* Gateway API knows no bound of bodies: `proxy-body-size` counts for routes only if the ConfigMap sets it.

## Listeners

| protocol | routes |
|---|---|
{protocols}

Listeners of the protocols TLS and TCP are judged, and have a status; no connection is relayed yet.

## Features

| feature | what it is |
|---|---|
{features}
"""


def files() -> dict[Path, str]:
    """The page."""
    return {DOCS / "gateway.md": markdown()}


def markdown() -> str:
    """The text of the page."""
    protocols = (
        f"| {name} | {', '.join(each.value for each in kinds)} |" for name, kinds in ROUTES_BY_PROTOCOL.items()
    )
    features = (f"| `{each.name}` | {each.meaning} |" for each in FEATURES)
    return _PAGE.format(protocols="\n".join(protocols), features="\n".join(features))
