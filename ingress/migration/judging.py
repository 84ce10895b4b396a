"""Judges what the translation made of a cluster: one verdict for each Ingress, and what holds for all of them.

Reads findings and the model, and decides nothing that the translation decides. Does not know where the objects were
read, nor how the verdicts are printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from balancer.model.publication import RoutingModel
from ingress.findings import HARM, Finding, Severity
from ingress.migration.gateway.checked import REVIEWED, route_reviews
from ingress.migration.names import annotation_reviews, key_reviews, unnamed
from ingress.migration.regex_hosts import regex_hosts
from ingress.migration.today import changing, same
from ingress.migration.verdicts import (
    ConfigMapReview,
    IngressOutcome,
    IngressReview,
    NameReview,
    NameStanding,
    Review,
    outcome_of,
    worst,
)
from ingress.migration.zone_columns import column_of, zone_columns
from ingress.objects.kinds import Ingress, IngressClass, Kind, key_of, subject_of
from ingress.settings.context import TranslationContext
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Translation
from ingress.translation.ingress.acceptance import classes_of, is_accepted

Origins = Mapping[tuple[Kind, str, str], str]
"""The file of each object, by kind, namespace and name."""

_Place = tuple[str, str]
_Subject = tuple[str, str, str]
# What a replica of zonal would find out about itself; a check has no zone.
_NOT_JUDGED = frozenset({Kind.NODE.value, "Option"})
# What holds in ingress-nginx as well; the review has an own part about these hosts.
_AS_BEFORE = frozenset({"RegexHost"})


def review(
    translation: Translation,
    inventory: Inventory,
    context: TranslationContext,
    *,
    origins: Origins,
    assumed: tuple[str, ...] = (),
    knows_slices: bool = True,
) -> Review:
    """The verdicts on what `translation` made of `inventory`. `assumed` says what was taken as present.

    `knows_slices`: EndpointSlices are not among that."""
    classes = classes_of(inventory.of(IngressClass), context.controller_class)
    known = sorted(inventory.of(Ingress), key=key_of)
    ours = [each for each in known if _is_checked(each, context) and is_accepted(each, classes, context=context)]
    served = frozenset("/".join(key_of(each)) for each in known if each not in ours)
    about = _by_subject(each for each in translation.findings if each.reason not in _AS_BEFORE)
    closed = closed_places(translation.model)
    namespace, _, name = context.configmap.partition("/")
    config_map = ("ConfigMap", namespace, name)
    reviewed = {_subject(ingress) for ingress in known} | {config_map}
    told = {_subject(each): [*about.get(_subject(each), ()), *_of_services(each, about)] for each in ours}
    standing = {(each.kind, each.namespace, each.name) for each in translation.standings}
    reviewed |= {each for each in standing if each[0] in REVIEWED}
    taken = {finding for findings in told.values() for finding in findings}
    columns = zone_columns(translation.model, knows_slices=knows_slices)
    reviews = (_ingress(each, told[_subject(each)], served, closed, origins) for each in ours)
    return Review(
        ingresses=tuple(
            msgspec.structs.replace(review, zones=column_of(each, columns))
            for each, review in zip(ours, reviews, strict=True)
        ),
        config_map=_config_map(inventory, config_map, about.get(config_map, ()), origins),
        regex_hosts=regex_hosts(translation.model, ours),
        others=tuple(
            finding
            for subject, found in about.items()
            if subject not in reviewed and subject[0] not in _NOT_JUDGED
            for finding in changing(found)
            if finding not in taken
        ),
        assumed=assumed,
        of_other_classes=len(known) - len(ours),
        routes=tuple(route_reviews(inventory, about, standing, origins)),
    )


def _is_checked(ingress: Ingress, context: TranslationContext) -> bool:
    """Whether an Ingress may be of the class that is checked; zonal may serve others already, of its own class."""
    return ingress.spec.ingress_class_name in {None, context.ingress_class}


def _ingress(
    ingress: Ingress, findings: Sequence[Finding], others: frozenset[str], closed: frozenset[_Place], origins: Origins
) -> IngressReview:
    as_today, findings = same(findings, others), changing(findings, others)
    names = annotation_reviews(ingress.metadata.annotations, findings)
    remarks = [*unnamed(names, findings), *_closed_by_others(ingress, closed, findings)]
    namespace, name = key_of(ingress)
    return IngressReview(
        namespace=namespace,
        name=name,
        verdict=worst([outcome_of([*findings, *remarks]), _of_names(names)]),
        file=origins.get((Kind.INGRESS, namespace, name), ""),
        hosts=tuple(dict.fromkeys(rule.host for rule in ingress.spec.rules)),
        annotations=names,
        remarks=tuple(remarks),
        as_today=as_today,
    )


def _of_names(names: Iterable[NameReview]) -> IngressOutcome:
    """A name that differs is harmless by itself: what harms is a finding."""
    return (
        IngressOutcome.DIFFERS if any(name.standing is NameStanding.DIFFERS for name in names) else IngressOutcome.WORKS
    )


def _closed_by_others(ingress: Ingress, closed: frozenset[_Place], findings: Iterable[Finding]) -> Iterator[Finding]:
    """A remark if the model closes paths of the Ingress, and no finding about the Ingress says so."""
    if closed.isdisjoint(_places(ingress)):
        return
    if any(HARM[finding.severity] <= HARM[Severity.MISROUTED] for finding in findings):
        return
    subject = subject_of(ingress)
    yield Finding(
        kind=subject.kind,
        namespace=subject.namespace,
        name=subject.name,
        reason="ClosedByOthers",
        message="Another object closes paths of the Ingress: see the ConfigMap and the other Ingresses of its hosts.",
        effect="Paths of the Ingress answer 503.",
        severity=Severity.CLOSED,
    )


def _config_map(
    inventory: Inventory, subject: _Subject, findings: Sequence[Finding], origins: Origins
) -> ConfigMapReview:
    kind, namespace, name = Kind.CONFIG_MAP, *subject[1:]
    found = inventory.config_map(namespace, name)
    if found is None:
        return ConfigMapReview(name=f"{namespace}/{name}", exists=False)
    keys = key_reviews(found.data, findings)
    return ConfigMapReview(
        name=f"{namespace}/{name}",
        exists=True,
        verdict=worst([outcome_of(findings), _of_names(keys)]),
        file=origins.get((kind, namespace, name), ""),
        keys=keys,
        remarks=tuple(unnamed(keys, findings)),
    )


def _by_subject(findings: Iterable[Finding]) -> dict[_Subject, list[Finding]]:
    """The findings by object, the most harmful first."""
    found: dict[_Subject, list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.kind, finding.namespace, finding.name), []).append(finding)
    return found


def _of_services(ingress: Ingress, about: Mapping[_Subject, Sequence[Finding]]) -> Iterator[Finding]:
    """The findings that say why Services of the Ingress answer 503."""
    backends = [path.backend for rule in ingress.spec.rules if rule.http for path in rule.http.paths]
    names = {each.service.name: None for each in (ingress.spec.default_backend, *backends) if each and each.service}
    for name in names:
        found = about.get((Kind.SERVICE.value, ingress.metadata.namespace, name), ())
        yield from (finding for finding in found if finding.severity is Severity.CLOSED)


def closed_places(model: RoutingModel) -> frozenset[_Place]:
    """Every host and path whose requests answer 503 on purpose."""
    return frozenset(
        (host.name, route.path)
        for host in model.hosts
        for route in (*host.routes, *(() if host.default is None else (host.default,)))
        if route.closed
    )


def _places(ingress: Ingress) -> Iterator[_Place]:
    """Every host and path that the Ingress names. A default backend is the path / of each host."""
    for rule in ingress.spec.rules:
        yield from ((rule.host, path.path or "/") for path in (rule.http.paths if rule.http else ()))
        if ingress.spec.default_backend is not None or rule.http is None:
            yield rule.host, "/"


def _subject(ingress: Ingress) -> _Subject:
    return Kind.INGRESS.value, *key_of(ingress)
