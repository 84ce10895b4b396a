"""Resolves what serves requests that no host claims: the default backend, the default certificate, and blocked clients.

Options of the process and settings of the cluster say what these are. Does not know hosts.
"""

from __future__ import annotations

from balancer.model.gates import in_phases
from balancer.model.route_configurations import RouteConfiguration
from balancer.model.routes import Branch, Owner, PathKind, Route, ServiceName
from ingress.findings import Findings, Subject
from ingress.objects.kinds import ServiceReference
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.source_ranges import SourceSettings
from ingress.translation.route_making import ordered_gates
from ingress.translation.secrets.certificates import Certificates
from ingress.translation.services.backends import Backends


def default_route(
    context: TranslationContext, settings: ClusterSettings, *, backends: Backends, findings: Findings
) -> Route | None:
    """The route of requests that match no host, None if there is none or its Service cannot be used."""
    if context.default_backend_service is None:
        return None
    namespace, _, name = context.default_backend_service.partition("/")
    reference = ServiceReference(name=name, port=backends.first_port(namespace, name))
    report = findings.about(Subject("Service", namespace, name))
    backend = backends.resolve(reference, namespace, report=report)
    if backend is None:
        # No Ingress leads here, so the built-in 404 fits better than a 503.
        return None
    owner = Owner("", namespace, "")
    return Route(
        path="/",
        kind=PathKind.PREFIX,
        owner=owner,
        branches=(Branch(None if settings.closed else backend.key, owner, ServiceName(namespace, name)),),
        policy=settings.route_policy,
        closed=settings.closed,
        gates=ordered_gates(
            (
                *settings.tracing.gates(settings.spans),
                *settings.access.gates(),
                *settings.sources.gates(settings.sources, settings.access.blocked_networks),
            ),
            settings.redirects.https_rule if settings.redirects.force_ssl_redirect else None,
        ),
    )


def default_certificate(context: TranslationContext, certificates: Certificates, *, findings: Findings) -> str | None:
    """The key of the certificate for names that no certificate of a host covers; None: the self-signed one."""
    if context.default_ssl_certificate is None:
        return None
    namespace, _, name = context.default_ssl_certificate.partition("/")
    report = findings.about(Subject("Secret", namespace, name))
    return certificates.resolve(f"{namespace}/{name}", "", report=report)


def route_configuration(
    settings: ClusterSettings, default: Route | None, certificate: str | None
) -> RouteConfiguration:
    """The route configuration of Ingresses, with its default route and the key of its default certificate.

    The gates that block clients hold wherever they go, also where no host claims the request.
    """
    blocking = (*settings.access.gates(), *SourceSettings().gates(SourceSettings(), settings.access.blocked_networks))
    return RouteConfiguration(
        default_route=default, unmatched_gates=in_phases(blocking), default_certificate=certificate
    )
