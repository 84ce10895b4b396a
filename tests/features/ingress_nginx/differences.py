"""Cases in which zonal deliberately behaves otherwise, with the reason that docs/migrate.md gives."""

from __future__ import annotations

from collections.abc import Mapping

DIFFERENT: Mapping[str, str] = {
    "access-log/default-backend-off": "Requests that no Ingress serves have lines in the access log, because they show"
    ' mistakes in host names and attacks. `enable-access-log-for-default-backend: "false"` leaves them out.',
    "annotation-policy/snippet-keys": "Snippets of the ConfigMap are carried out as in ingress-nginx if every line is"
    " simple; this case was written when none was.",
    "backend-protocol/grpc-plain": "Clients without TLS are spoken to in HTTP/1.1, unless `http2-cleartext` in the"
    " ConfigMap takes those that begin with the preface of HTTP/2.",
    "proxy-buffering/request-buffered": "Bodies of requests are streamed to endpoints by default, so uploads of any"
    ' size need no memory and no disk. `proxy-request-buffering: "on"` receives them first.',
}
"""The reason, by case id."""
