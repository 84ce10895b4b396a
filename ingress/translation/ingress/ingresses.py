"""Reads one Ingress as far as it is valid: the hosts, paths and certificates that it claims.

Leaves out what the API would refuse, part by part, so that a bad path does not affect its neighbours. Does not know
other Ingresses, nor whether a Service exists.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from balancer.model.routes import PathKind
from ingress.findings import Report, Severity, quote
from ingress.objects.kinds import Ingress, IngressBackend, IngressPath, IngressRule, IngressTls, ServiceReference
from ingress.translation.ingress.acceptance import CLASS_ANNOTATION
from ingress.translation.ingress.validation import backend_problem, host_problem, path_problem, secret_name_problem

_KINDS = {"Exact": PathKind.EXACT, "Prefix": PathKind.PREFIX, "ImplementationSpecific": PathKind.PREFIX}


class PathClaim(msgspec.Struct, frozen=True, gc=False):
    """A path of a host, and the Service to answer it."""

    host: str
    path: str
    kind: PathKind
    service: ServiceReference


class TlsClaim(msgspec.Struct, frozen=True, gc=False):
    """A host to be served with TLS. `secret_name` is empty for the default certificate."""

    host: str
    secret_name: str


class IngressClaims(msgspec.Struct, frozen=True, gc=False):
    """`hosts` are those of valid rules, also where no path is left: an unmatched path must not reach another host.

    `default` answers what no path of these hosts matches.
    """

    hosts: tuple[str, ...] = ()
    paths: tuple[PathClaim, ...] = ()
    default: ServiceReference | None = None
    tls: tuple[TlsClaim, ...] = ()


def read_claims(ingress: Ingress, report: Report) -> IngressClaims | None:
    """The claims of a valid Ingress; None, with a finding, if it is invalid as a whole."""
    spec = ingress.spec
    if problem := _spec_problem(ingress):
        _refuse(report, f"{problem}.", severity=Severity.CLOSED, effect="The Ingress is not served.")
        return None
    default = _service(spec.default_backend, report, place="spec.defaultBackend") if spec.default_backend else None
    if not spec.rules:
        # Without rules the default backend takes every request (networking/v1 IngressSpec.defaultBackend).
        paths = (PathClaim("", "/", PathKind.PREFIX, default),) if default else ()
        return IngressClaims(hosts=("",), paths=paths, tls=tuple(_tls(spec.tls, ("",), report=report)))
    rules = tuple(rule for rule in spec.rules if _is_valid_rule(rule, report))
    hosts = tuple(dict.fromkeys(rule.host for rule in rules))
    return IngressClaims(
        hosts=hosts,
        paths=tuple(claim for rule in rules for claim in _paths(rule, report)),
        default=default,
        tls=tuple(_tls(spec.tls, hosts, report=report)),
    )


def _spec_problem(ingress: Ingress) -> str | None:
    if not ingress.spec.rules and ingress.spec.default_backend is None:
        return "spec needs rules or a defaultBackend"
    annotation, name = ingress.metadata.annotations.get(CLASS_ANNOTATION), ingress.spec.ingress_class_name
    if annotation is not None and name is not None and annotation != name:
        return f"annotation {CLASS_ANNOTATION} and spec.ingressClassName differ: remove the annotation"
    return None


def _is_valid_rule(rule: IngressRule, report: Report) -> bool:
    if rule.host and (problem := host_problem(rule.host)):
        _refuse(report, f"In spec.rules {problem}.", severity=Severity.CLOSED, effect="The rule is left out.")
        return False
    if rule.http is not None and not rule.http.paths:
        _refuse(
            report,
            f"The rule of host {quote(rule.host)} needs paths.",
            severity=Severity.CLOSED,
            effect="The rule is left out.",
        )
        return False
    return True


def _paths(rule: IngressRule, report: Report) -> Iterator[PathClaim]:
    for path in rule.http.paths if rule.http else ():
        if problem := path_problem(path.path, path.path_type):
            _refuse(
                report,
                f"For host {quote(rule.host)}, {problem}.",
                severity=Severity.CLOSED,
                effect="The path is left out.",
            )
        elif service := _service(path.backend, report, place=f"path {quote(rule.host + path.path)}"):
            yield PathClaim(rule.host, path.path or "/", _kind(path), service)


def _kind(path: IngressPath) -> PathKind:
    return _KINDS[path.path_type or ""]


def _service(backend: IngressBackend, report: Report, *, place: str) -> ServiceReference | None:
    if problem := backend_problem(backend):
        _refuse(report, f"At {place} {problem}.", severity=Severity.CLOSED, effect="The backend is left out.")
    elif backend.service is None:
        report.add(
            reason="ResourceBackend",
            message=f"At {place} the backend is a resource: name a Service instead.",
            severity=Severity.CLOSED,
            effect="The backend is left out; the path answers 404 unless a shorter one matches.",
        )
    return None if problem else backend.service


def _tls(sections: tuple[IngressTls, ...], hosts: tuple[str, ...], *, report: Report) -> Iterator[TlsClaim]:
    expanded = set[bool]()
    for section in sections:
        if problem := secret_name_problem(section.secret_name):
            _refuse(
                report, f"In spec.tls {problem}.", severity=Severity.DEGRADED, effect="The default certificate is used."
            )
        secret_name = "" if problem else section.secret_name
        if not section.hosts:
            # An earlier section has already claimed every host, and thousands of both would be millions of claims.
            if bool(secret_name) in expanded:
                continue
            expanded.add(bool(secret_name))
        # A section without hosts means the hosts of the rules.
        for host in section.hosts or hosts:
            if host and (problem := host_problem(host)):
                _refuse(
                    report,
                    f"In spec.tls {problem}.",
                    severity=Severity.UNPROTECTED,
                    effect="The host is left out of TLS.",
                )
            else:
                yield TlsClaim(host, secret_name)


def _refuse(report: Report, message: str, *, effect: str, severity: Severity) -> None:
    report.add(reason="InvalidIngress", message=message[0].upper() + message[1:], severity=severity, effect=effect)
