"""What claims need beside Services: Secrets, ConfigMaps, and the users in Secrets. Knows no input language.

Needed objects are named whether they exist or not, so that a source follows them. Namespaces share what is followed by
a connection of its own: ConfigMaps, and Secrets that are followed by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from balancer.model.logins import Logins
from ingress.findings import Findings, Severity
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.translation.claims import Claims, HostClaim, subject_of_owner
from ingress.translation.sharing import fairly_held

# Each ConfigMap, and each Secret with `--secret-scope name`, is followed by a connection of its own. Tenants could
# otherwise make every replica hold any number.
_CONFIG_MAPS_MOST = 100
_SECRETS_MOST = 1000


def needed_secrets(
    claims: Iterable[Claims],
    hosts: Iterable[HostClaim],
    context: TranslationContext,
    *,
    before: Collection[tuple[str, str]],
    findings: Findings,
) -> frozenset[tuple[str, str]]:
    """The Secrets by namespace and name. If each is followed by its name, those that namespaces have a share for.

    `claims` come by seniority. `before` are the Secrets that were followed until now; they stay while they are named.
    An object whose Secret is not followed gets a finding.
    """
    asked = [(each.owner, key) for each in claims for key in each.secrets]
    certificates = [host.certificate for host in hosts if host.certificate is not None]
    asked += [(each.owner, (each.owner.namespace, each.secret_name)) for each in certificates]
    owned = set()
    if context.default_ssl_certificate is not None:
        namespace, _, name = context.default_ssl_certificate.partition("/")
        owned.add((namespace, name))
    if not context.names_secrets:
        return frozenset(owned.union(key for _, key in asked))
    shared = fairly_held(
        ((owner.namespace, key) for owner, key in asked if key not in owned), before=before, most=_SECRETS_MOST
    )
    for owner, key in asked:
        if key not in shared and key not in owned:
            findings.add(
                subject_of_owner(owner),
                reason="SecretNotFollowed",
                message=f"zonal follows {_SECRETS_MOST} Secrets by name, and older objects of {owner.namespace} have"
                f" used its share: Secret {'/'.join(key)} is not read even if it exists."
                " Name fewer Secrets in this namespace.",
                severity=Severity.CLOSED,
                effect="What needs the Secret is served as if it did not exist.",
            )
    return shared | owned


def needed_config_maps(
    claims: Iterable[Claims],
    settings: ClusterSettings,
    context: TranslationContext,
    *,
    before: Collection[tuple[str, str]],
    findings: Findings,
) -> frozenset[tuple[str, str]]:
    """The ConfigMaps that settings and options name, and those of objects that their namespaces have a share for.

    `claims` come by seniority. `before` are the ConfigMaps that were followed until now; they stay while they are
    named. An object whose ConfigMap is not followed gets a finding.
    """
    asked = [(each, key) for each in claims for key in each.config_maps]
    owned = settings.responses.config_maps | settings.fields.config_maps | context.tcp_config_maps
    shared = fairly_held(
        ((each.owner.namespace, key) for each, key in asked if key not in owned),
        before=before,
        most=_CONFIG_MAPS_MOST,
    )
    for each, key in asked:
        if key not in shared and key not in owned:
            findings.add(
                subject_of_owner(each.owner),
                reason="ConfigMapNotFollowed",
                message=f"zonal follows {_CONFIG_MAPS_MOST} ConfigMaps that objects name, and older objects of"
                f" {each.owner.namespace} have used its share: ConfigMap {'/'.join(key)} is not read even if it exists."
                " Name fewer ConfigMaps in this namespace.",
                severity=Severity.CLOSED,
                effect="Every path of an Ingress answers 503; what else needs it is closed.",
            )
    return shared | owned


def named_logins(claims: Iterable[Claims]) -> tuple[Logins, ...]:
    """The users that gates name, by key. Several Ingresses may name one Secret."""
    found = {logins.key: logins for each in claims for logins in each.logins}
    return tuple(found[key] for key in sorted(found))
