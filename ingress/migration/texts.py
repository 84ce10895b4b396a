"""Writes a check as text for people, and as JSON for programs.

Does not know what the verdicts mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ingress.findings import Finding, printable
from ingress.migration.today import because
from ingress.migration.verdicts import ConfigMapReview, IngressReview, NameReview, Review

_LINE_LIMIT = 4000
_WIDTH_MOST = 40


def as_text(review: Review) -> str:
    """Every Ingress with its annotations, the hosts in regex mode, the ConfigMap, other findings, and the summary."""
    blocks = [ingress_lines(each) for each in review.ingresses]
    blocks += [
        _controller(review),
        _routes(review),
        _regex_hosts(review),
        config_map_lines(review.config_map),
        [*_others(review)],
        [review.summary],
    ]
    lines = (line for block in blocks if block for line in (*block, ""))
    return "\n".join(printable(line, limit=_LINE_LIMIT) for line in lines).rstrip("\n")


def as_json(review: Review) -> str:
    """The whole check as one JSON object."""
    document = {
        **msgspec.to_builtins(review),
        "summary": review.summary,
        "worst": review.worst.value,
    }
    return msgspec.json.format(msgspec.json.encode(document)).decode()


def ingress_lines(each: IngressReview) -> list[str]:
    """One Ingress: its verdict, its annotations, and its other findings."""
    place = f" ({each.file})" if each.file else ""
    return [
        f"{each.full_name}{place}: {each.verdict.value}",
        *_names(each.annotations),
        *_remarks(each.remarks),
        *_same(each.as_today),
        *_zones(each),
    ]


def config_map_lines(each: ConfigMapReview) -> list[str]:
    """The ConfigMap: its verdict, its keys, and its other findings; or that there is none."""
    if not each.exists:
        return [f"ConfigMap {each.name}: not found, so every key has its default (--configmap names another)"]
    place = f" ({each.file})" if each.file else ""
    head = f"ConfigMap {each.name}{place}: {each.verdict.value}"
    return [head, *_names(each.keys), *_remarks(each.remarks)]


def _zones(each: IngressReview) -> Iterator[str]:
    if each.zones != "yes":
        yield f"  zones: {each.zones}"


def _controller(review: Review) -> list[str]:
    controller = review.controller
    if controller is None:
        return []
    place = f" ({controller.file})" if controller.file else ""
    name = f"{controller.kind} {controller.namespace}/{controller.name}{place}"
    lines = [f"{name}: the arguments of ingress-nginx", *_names(controller.arguments)]
    if controller.service:
        lines += [f"Service {controller.service}: how clients reach ingress-nginx", *_names(controller.service_fields)]
    return lines


def _same(findings: Iterable[Finding]) -> Iterator[str]:
    for finding in findings:
        yield f"  same as today, because {because(finding)}: {finding.message}"


def _routes(review: Review) -> list[str]:
    lines: list[str] = []
    for each in review.routes:
        place = f" ({each.file})" if each.file else ""
        lines += [f"{each.kind} {each.namespace}/{each.name}{place}: {each.verdict.value}", *_remarks(each.remarks)]
    return lines


def _regex_hosts(review: Review) -> list[str]:
    if not review.regex_hosts:
        return []
    lines = ["Hosts in regex mode: every path is an expression that ignores case, and the longest expression wins."]
    for host in review.regex_hosts:
        lines.append(f"  {host.host or '*'}, because of {', '.join(host.because_of)}")
        lines += [f"    {change}" for change in host.changes]
    return lines


def _others(review: Review) -> Iterator[str]:
    yield from review.assumed
    if review.of_other_classes:
        yield f"Ingresses of other classes, not checked: {review.of_other_classes}."
    yield from map(other_line, review.others)


def other_line(finding: Finding) -> str:
    """A finding about an object that has no verdict."""
    place = f"{finding.namespace}/{finding.name}" if finding.namespace else finding.name
    return f"{finding.kind} {place}: {finding.severity.value}: {finding.message} {finding.effect}"


def _names(names: Sequence[NameReview]) -> Iterator[str]:
    width = min(_WIDTH_MOST, max((len(name.name) for name in names), default=0))
    for name in names:
        how = f": {name.how}" if name.how else ""
        yield f"  {name.name.ljust(width)}  {name.standing.value}{how}  [{name.value.strip()}]"


def _remarks(remarks: Iterable[Finding]) -> Iterator[str]:
    for finding in remarks:
        yield f"  {finding.reason} ({finding.severity.value}): {finding.message} {finding.effect}"
