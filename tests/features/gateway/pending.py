"""The cases that do not pass yet, each with its reason. A case on the list that passes fails the test."""

from __future__ import annotations

_NO_RELAY = "streams of TLS and TCP are not relayed yet"

PENDING: dict[str, str] = {
    "addresses/infrastructure": "no Service is made for a Gateway yet",
    "addresses/not-yet-assigned": "no Service is made for a Gateway yet",
    "experimental/external-auth-allows": "externalAuth is experimental, and not supported: its rules are closed",
    "gatewayclass/unknown-crd-version": "the version of the CRDs is not read yet",
    "listener-conflicts/https-and-tls-other-hosts": _NO_RELAY,
    "multiple-gateways/addresses-differ": "Gateways share their addresses",
    "multiple-gateways/route-moves": "Gateways share their addresses",
    "multiple-gateways/shared-and-own-routes": "Gateways share their addresses",
    "session-persistence/header": "sessions by a header field are not supported: such a rule is closed",
    "tcproute/all-listeners": _NO_RELAY,
    "tcproute/half-close": _NO_RELAY,
    "tcproute/nonexistent-backend": _NO_RELAY,
    "tcproute/port-and-section": _NO_RELAY,
    "tcproute/survives-changes": _NO_RELAY,
    "tcproute/weights": _NO_RELAY,
    "timeouts/grpc-call": "endpoints of the runner that speak only HTTP/2 are asked in HTTP/1.1 by an HTTPRoute",
    "tls-listeners/options": "no option of TLS is supported: the listener is refused",
    "tlsroute/intersection-any-listener": _NO_RELAY,
    "tlsroute/intersection-exact-listener": _NO_RELAY,
    "tlsroute/mixed-modes": _NO_RELAY,
    "tlsroute/same-name-older": _NO_RELAY,
    "tlsroute/split-hello": _NO_RELAY,
    "tlsroute/terminate": _NO_RELAY,
    "tlsroute/weights": _NO_RELAY,
    "zones/tcp": _NO_RELAY,
}
