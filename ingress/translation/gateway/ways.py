"""How endpoints are spoken to where a BackendTLSPolicy says so. One that cannot be carried out closes its backend."""

from __future__ import annotations

from typing import Final

from balancer.model.endpoints import EndpointTls
from ingress.translation.gateway.backend_policies import JudgedPolicy
from ingress.translation.gateway.reading import ReadGateways
from ingress.translation.gateway.service_references import NamedPort
from ingress.translation.secrets.authority_keys import config_maps_key

CHAIN_MOST: Final = 9
"""How many intermediate certificates a chain may have. The API says no number; this is far more than are in use."""


def ways_of(gateways: ReadGateways, gateway: tuple[str, str]) -> dict[NamedPort, EndpointTls | None]:
    """How a Gateway speaks to the ports that policies protect; None: not at all."""
    shown = gateways.shown.get(gateway, "")
    if shown is None:
        return dict.fromkeys(gateways.policies)
    return {port: _way(judged, shown) for port, judged in gateways.policies.items()}


def _way(judged: JudgedPolicy, shown: str) -> EndpointTls | None:
    """The way of one policy. `shown` is the certificate that the Gateway shows; empty for none."""
    said = judged.policy.spec.validation
    if judged.invalid is not None:
        return None
    return EndpointTls(
        verify=True,
        server_name=said.hostname,
        authority=config_maps_key(judged.authorities) if judged.authorities else None,
        client_certificate=shown or None,
        intermediates=CHAIN_MOST,
        names=tuple(each.hostname if each.type == "Hostname" else each.uri for each in said.subject_alt_names),
    )
