"""Says which findings are no change: ingress-nginx does the same about the same objects.

One table, by the reason of the finding. Source: ingress-nginx v1.15.1, controller.go (createServers,
getBackendServers) and annotations/authreq. Does not know what a verdict is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ingress.findings import Finding
from ingress.objects.kinds import Kind
from ingress.settings.table.option import NGINX_PREFIX

_NO_ENDPOINT = "ingress-nginx answers 503 for a Service without a ready endpoint, too, or asks default-backend"
_OLDER = "ingress-nginx serves the older Ingress, too"

AS_TODAY: Mapping[str, str] = {
    "NoReadyEndpoint": _NO_ENDPOINT,
    "EndpointSliceMissing": _NO_ENDPOINT,
    "EndpointPortMissing": _NO_ENDPOINT,
    "ServiceMissing": "ingress-nginx answers 503 for a Service that does not exist, too",
    "ServicePortMissing": "ingress-nginx answers 503 for a port that the Service does not have, too",
    "Conflict": _OLDER,
    "CanaryWithoutMain": "ingress-nginx makes no path of a canary alone, too",
    "AuthUrlMissing": "ingress-nginx asks nobody without auth-url, too",
}
"""Why nothing changes, as a clause, by the reason of a finding."""

_VALUES: Mapping[str, str] = {
    "backend-protocol": "ingress-nginx speaks HTTP to endpoints for a protocol that it does not know, too",
    "temporal-redirect": "ingress-nginx takes no redirect of an Ingress with such a URL, too",
}
"""Why an invalid value changes nothing, as a clause, by the annotation. Values that zonal alone lacks close paths."""

_ABOUT = frozenset({Kind.INGRESS.value, Kind.SERVICE.value})


def because(finding: Finding, others: Collection[str] = ()) -> str:
    """Why a finding is about no change, as a clause; empty if the finding is about a change.

    `others` are the full names of Ingresses that ingress-nginx does not serve: what these win, changes.
    """
    if finding.kind not in _ABOUT or not {word.rstrip(":.,") for word in finding.message.split()}.isdisjoint(others):
        return ""
    if finding.reason == "InvalidValue":
        return next((why for name, why in _VALUES.items() if _is_value_of(name, finding)), "")
    return AS_TODAY.get(finding.reason, "")


def _is_value_of(name: str, finding: Finding) -> bool:
    return finding.message.removeprefix("Annotation ").removeprefix(NGINX_PREFIX).startswith(f"{name} is ")


def changing(findings: Iterable[Finding], others: Collection[str] = ()) -> tuple[Finding, ...]:
    """The findings that are about a change."""
    return tuple(finding for finding in findings if not because(finding, others))


def same(findings: Iterable[Finding], others: Collection[str] = ()) -> tuple[Finding, ...]:
    """The findings that are about no change."""
    return tuple(finding for finding in findings if because(finding, others))
