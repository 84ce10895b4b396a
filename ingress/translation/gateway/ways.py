"""How endpoints are spoken to where a BackendTLSPolicy says so. One that cannot be carried out closes its backend."""

from __future__ import annotations

from balancer.model.endpoints import EndpointTls
from ingress.translation.gateway.backend_policies import JudgedPolicy
from ingress.translation.gateway.reading import ReadGateways
from ingress.translation.gateway.service_references import NamedPort
from ingress.translation.secrets.authority_keys import config_maps_key


def ways_of(gateways: ReadGateways, gateway: tuple[str, str]) -> dict[NamedPort, EndpointTls | None]:
    """How a Gateway speaks to the ports that policies protect; None: not at all."""
    shows = gateways.gateways[gateway].spec.tls.backend
    if shows is not None and shows.client_certificate_ref is not None:
        # Which certificate a connection shows is no part of what tells backends apart yet.
        return dict.fromkeys(gateways.policies)
    return {port: _way(judged) for port, judged in gateways.policies.items()}


def _way(judged: JudgedPolicy) -> EndpointTls | None:
    said = judged.policy.spec.validation
    if judged.invalid is not None or said.subject_alt_names:
        return None
    authority = config_maps_key(judged.authorities) if judged.authorities else None
    return EndpointTls(verify=True, server_name=said.hostname, authority=authority)
