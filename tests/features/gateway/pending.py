"""The cases that do not pass yet, each with its reason. A case on the list that passes fails the test."""

from __future__ import annotations

PENDING: dict[str, str] = {
    "addresses/infrastructure": "no Service is made for a Gateway yet",
    "addresses/not-yet-assigned": "no Service is made for a Gateway yet",
    "experimental/external-auth-allows": "externalAuth is experimental, and not supported: its rules are closed",
    "gatewayclass/unknown-crd-version": "the version of the CRDs is not read yet",
    "multiple-gateways/addresses-differ": "Gateways share their addresses",
    "multiple-gateways/route-moves": "Gateways share their addresses",
    "multiple-gateways/shared-and-own-routes": "Gateways share their addresses",
    "session-persistence/header": "sessions by a header field are not supported: such a rule is closed",
    "timeouts/grpc-call": "endpoints of the runner that speak only HTTP/2 are asked in HTTP/1.1 by an HTTPRoute",
    "tls-listeners/options": "no option of TLS is supported: the listener is refused",
}
