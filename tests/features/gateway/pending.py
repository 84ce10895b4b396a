"""The cases that do not pass yet, each with its reason. A case on the list that passes fails the test."""

from __future__ import annotations

_OWN_ADDRESSES = "Gateways of a folder share their addresses"

PENDING: dict[str, str] = {
    "addresses/not-yet-assigned": _OWN_ADDRESSES,
    "gatewayclass/unknown-crd-version": "a folder has no definitions whose version could be read",
    "multiple-gateways/addresses-differ": _OWN_ADDRESSES,
    "multiple-gateways/route-moves": _OWN_ADDRESSES,
    "multiple-gateways/shared-and-own-routes": _OWN_ADDRESSES,
}
