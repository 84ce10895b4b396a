"""Which Secrets and ConfigMaps each object of Gateway API names, so that namespaces can share what is followed.

They are named whether they exist or not. Without a grant an object of another namespace is not even looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from balancer.model.routes import Owner
from ingress.objects.gateway import Gateway, GatewayClass
from ingress.objects.metadata import Kind
from ingress.translation.claims import Claims
from ingress.translation.gateway.backend_certificates import shown_certificate
from ingress.translation.gateway.backend_policies import BackendPolicies
from ingress.translation.gateway.classes import needed_parameters
from ingress.translation.gateway.client_validation import named_authorities
from ingress.translation.gateway.grants import Grants
from ingress.translation.gateway.listener_certificates import named_secrets
from ingress.translation.gateway.listeners import ReadListener
from ingress.translation.gateway.standings import Problem


def needs_of(
    gateways: Mapping[tuple[str, str], Gateway],
    classes: Mapping[str, GatewayClass],
    listeners: Iterable[ReadListener],
    policies: BackendPolicies,
    grants: Grants,
) -> Iterator[Claims]:
    """What each object needs, the most senior first. Objects that need nothing are left out."""
    secrets: dict[Owner, dict[tuple[str, str], None]] = {}
    for listener in listeners:
        owner = Owner(listener.owner.kind, listener.owner.namespace, listener.owner.name)
        secrets.setdefault(owner, {}).update(dict.fromkeys(named_secrets(listener, grants)))
    for key, gateway in gateways.items():
        owner = Owner(Kind.GATEWAY.value, *key)
        named = secrets.pop(owner, {})
        shown = shown_certificate(gateway, grants)
        if shown is not None and not isinstance(shown, Problem):
            named[shown] = None
        config_maps = dict.fromkeys(needed_parameters(gateway, classes[gateway.spec.gateway_class_name]))
        config_maps.update(dict.fromkeys(sorted(named_authorities(gateway, grants))))
        if named or config_maps:
            yield Claims(owner, secrets=tuple(named), config_maps=tuple(config_maps))
    for owner, named in secrets.items():
        if named:
            yield Claims(owner, secrets=tuple(named))
    yield from policies.needs()
