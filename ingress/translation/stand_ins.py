"""Resolves the Services that stand in for the Service of a route: error pages, and what serves without endpoints."""

from __future__ import annotations

from functools import partial

from balancer.model.endpoints import Backend, BackendKey, EndpointTls
from balancer.model.stand_ins import ErrorPages, StandIns
from ingress.findings import Report, Severity
from ingress.objects.kinds import ServiceReference
from ingress.translation.claims import Claim
from ingress.translation.containment import contained
from ingress.translation.services.backends import Backends

_EFFECT = "default-backend has no effect: errors and Services without endpoints are answered as without it."


def resolve_stand_ins(
    claim: Claim, *, backends: Backends, default: BackendKey | None, report: Report
) -> StandIns | None:
    """What stands in for the backend of `claim`, None if nothing does; `default` is the default backend of the cluster.

    A Service that does not exist is a finding and stands in for nothing.
    """
    wanted = claim.stand_in
    if claim.closed or not (wanted.service or wanted.statuses):
        return None
    # The pages are asked for over plain HTTP.
    pages = _backend(claim, None, None, backends=backends, report=report) if wanted.statuses_are_own else None
    instead = _backend(claim, claim.main.tls, claim.main.http2, backends=backends, report=report)
    page_key = pages.key if pages is not None else default
    return StandIns(
        error_pages=ErrorPages(wanted.statuses, page_key, wanted.intercepts) if wanted.statuses else None,
        without_endpoints=instead.key if instead is not None else None,
        service_port=(port.name or str(port.number or "")) if (port := claim.main.port) is not None else "",
    )


def _backend(
    claim: Claim, tls: EndpointTls | None, http2: bool | None, *, backends: Backends, report: Report
) -> Backend | None:
    name, namespace = claim.stand_in.service, claim.owner.namespace
    if not name:
        return None
    reference = ServiceReference(name=name, port=backends.first_port(namespace, name))
    resolve = partial(
        backends.resolve,
        reference,
        namespace,
        report=report,
        tls=tls,
        http2=http2,
        severity=Severity.DEGRADED,
        effect=_EFFECT,
    )
    return contained(resolve, report, severity=Severity.DEGRADED, effect=_EFFECT)
