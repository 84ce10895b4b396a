"""The cases that do not pass yet, each with its reason. A case on the list that passes fails the test."""

from __future__ import annotations

_NO_RELAY = "streams of TLS and TCP are not relayed yet"

_OWN_ADDRESSES = "Gateways of a folder share their addresses; test_gateway_cluster plays the case"

PENDING: dict[str, str] = {
    "addresses/infrastructure": _OWN_ADDRESSES,
    "addresses/not-yet-assigned": _OWN_ADDRESSES,
    "experimental/default-gateway": "defaultScope and useDefaultGateways are experimental, and not read",
    "experimental/external-auth-allows": "externalAuth is experimental, and not supported: its rules are closed",
    "gatewayclass/unknown-crd-version": "a folder has no definitions; test_gateway_cluster plays the case",
    "listener-conflicts/https-and-tls-other-hosts": _NO_RELAY,
    "multiple-gateways/addresses-differ": _OWN_ADDRESSES,
    "multiple-gateways/route-moves": _OWN_ADDRESSES,
    "multiple-gateways/shared-and-own-routes": _OWN_ADDRESSES,
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
