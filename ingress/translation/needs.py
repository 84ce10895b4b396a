"""What claims need beside Services: Secrets, ConfigMaps, and the users in Secrets. Knows no input language.

Needed objects are named whether they exist or not, so that a source follows them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from balancer.model.logins import Logins
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.translation.claims import Claims
from ingress.translation.conflicts import SettledHost

# Tenants could otherwise make every replica hold any number of connections to the API server.
_CONFIG_MAPS_MOST = 100


def needed_secrets(
    claims: Iterable[Claims], hosts: Iterable[SettledHost], context: TranslationContext
) -> frozenset[tuple[str, str]]:
    """The Secrets by namespace and name."""
    wanted = {secret for each in claims for secret in each.secrets}
    for certificate in (host.certificate for host in hosts):
        if certificate is not None:
            wanted.add((certificate.owner.namespace, certificate.secret_name))
    if context.default_ssl_certificate is not None:
        namespace, _, name = context.default_ssl_certificate.partition("/")
        wanted.add((namespace, name))
    return frozenset(wanted)


def needed_config_maps(claims: Iterable[Claims], settings: ClusterSettings) -> frozenset[tuple[str, str]]:
    """The ConfigMaps that the settings name, and some of those that Ingresses name: each is followed on its own."""
    named = sorted({key for each in claims for key in each.config_maps})
    return settings.responses.config_maps | settings.fields.config_maps | frozenset(islice(named, _CONFIG_MAPS_MOST))


def named_logins(claims: Iterable[Claims]) -> tuple[Logins, ...]:
    """The users that gates name, by key. Several Ingresses may name one Secret."""
    found = {logins.key: logins for each in claims for logins in each.logins}
    return tuple(found[key] for key in sorted(found))
