"""Findings about routes that no status can say: rules that nobody reaches or whose requests go elsewhere, names that
tenants share, endless redirects.

Nothing of it changes what is served.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from ingress.findings import Findings, Severity, quote
from ingress.objects.gateway_routes import GrpcRoute, GrpcRule, HttpRoute, HttpRule, PathModifier, RequestRedirect
from ingress.objects.kinds import subject_of
from ingress.translation.gateway.attaching import Attachment
from ingress.translation.gateway.route_reading import ReadRoute

_USUAL_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
_SCHEMES: Final[Mapping[str, str]] = {"HTTP": "http", "HTTPS": "https"}


def note_routes(routes: Iterable[ReadRoute], findings: Findings) -> None:
    """Notes what is to be said about routes that are accepted and attached. They come by age."""
    accepted = list(routes)
    counts = Counter(chain.from_iterable(each.facts.names for each in accepted))
    shared = {name for name, count in counts.items() if count > 1}  # most routes have names of their own
    looked_at = [
        each for each in accepted if each.facts.has_matches or (shared and not shared.isdisjoint(each.facts.names))
    ]
    if shared:
        _note_shared((each for each in looked_at if not shared.isdisjoint(each.facts.names)), findings)
    _note_shadowed(looked_at, findings)
    for each in accepted:
        if each.dropped:
            _note_unreadable(each, findings)
        if each.facts.redirects:
            _note_loops(each, findings)


def _note_shared(routes: Iterable[ReadRoute], findings: Findings) -> None:
    """A hostname of one listener that several namespaces claim: the first route of each further one is told."""
    first: dict[tuple[str, str], ReadRoute] = {}
    told: set[tuple[str, str, str]] = set()
    for each in routes:
        namespace = each.route.metadata.namespace
        for attached, hostname in _names(each):
            place = (attached.listener.key, hostname)
            owner = first.setdefault(place, each).route
            if owner.metadata.namespace == namespace or (*place, namespace) in told:
                continue
            told.add((*place, namespace))
            findings.add(
                subject_of(each.route),
                reason="HostnameShared",
                message=f"{quote(hostname or '*')} on {attached.listener.place} is also a name of the older"
                f" {owner.kind.value} {owner.metadata.namespace}/{owner.metadata.name}: agree with its owners, or let"
                " the listener take routes of one namespace.",
                effect="Either route may take requests of the other by a longer path or more conditions.",
                severity=Severity.MISROUTED,
            )


def _note_shadowed(routes: Iterable[ReadRoute], findings: Findings) -> None:
    """A rule of which every match stands in an older route, or in an earlier rule, for every name."""
    taken: dict[tuple[object, ...], ReadRoute] = {}
    for each in routes:
        if not isinstance(each.route, (HttpRoute, GrpcRoute)):
            continue
        for number, matches in enumerate(each.places):
            places = [(place.path, place.kind, place.conditions) for place in matches]
            keys = [(*name, *place) for name in each.facts.names for place in places]
            by = [taken.get(key) for key in keys]
            if keys and all(by):
                winner = next(one for one in by if one is not None).route
                findings.add(
                    subject_of(each.route),
                    reason="Shadowed",
                    message=f"Rule {number} gets no request: {winner.kind.value} {winner.metadata.namespace}/"
                    f"{winner.metadata.name} has the same matches and comes first. Change the matches or remove one.",
                    effect="Requests that the rule matches are answered by the other one.",
                    severity=Severity.MISROUTED,
                )
            for key in keys:
                taken.setdefault(key, each)


def _note_unreadable(read: ReadRoute, findings: Findings) -> None:
    """A rule that is left out and has no place for some match: requests that it means go to other rules."""
    if not isinstance(read.route, (HttpRoute, GrpcRoute)):
        return
    rules: tuple[HttpRule | GrpcRule, ...] = read.route.spec.rules
    for number in sorted(read.dropped):
        if len(read.places[number]) == max(1, len(rules[number].matches)):
            continue
        others = [str(each) for each, places in enumerate(read.places) if places and each != number]
        takers = f"rule {', '.join(others)} or to those" if others else "those"
        findings.add(
            subject_of(read.route),
            reason="MatchUnreadable",
            message=f"Rule {number} has a match that cannot be read, so it has no place there. What it means goes to"
            f" {takers} of other routes of its hostnames, if they match: {read.dropped[number]}",
            effect="Requests that the rule means are answered by another one, or get 404.",
            severity=Severity.MISROUTED,
        )


def _note_loops(read: ReadRoute, findings: Findings) -> None:
    """A rule that redirects to its own scheme, host, port and path."""
    if not isinstance(read.route, HttpRoute):
        return
    for number, rule in enumerate(read.route.spec.rules):
        redirects = [each.request_redirect for each in rule.filters if each.request_redirect is not None]
        looping = (
            each for each in redirects for attached, hostname in _names(read) if _loops(each, rule, attached, hostname)
        )
        if next(looping, None) is not None:
            findings.add(
                subject_of(read.route),
                reason="RedirectLoop",
                message=f"Rule {number} redirects to where the request came from: attach the route to other listeners,"
                " or change the scheme, host, port or path.",
                effect="Clients follow the redirect until they give up.",
                severity=Severity.MISROUTED,
            )


def _loops(redirect: RequestRedirect, rule: HttpRule, attached: Attachment, hostname: str) -> bool:
    own = attached.listener.spec
    scheme = redirect.scheme or _SCHEMES.get(own.protocol, "")
    port = redirect.port or (_USUAL_PORTS.get(scheme, 0) if redirect.scheme else own.port)
    goes_elsewhere = scheme != _SCHEMES.get(own.protocol) or port != own.port
    if goes_elsewhere or (redirect.hostname and redirect.hostname.lower() != hostname):
        return False
    return redirect.path is None or any(_stays(redirect.path, match.path.value) for match in rule.matches)


def _stays(path: PathModifier, matched: str) -> bool:
    if path.type == "ReplacePrefixMatch":
        return (path.replace_prefix_match or "").rstrip("/") == matched.rstrip("/")
    return path.replace_full_path == matched


def _names(read: ReadRoute) -> Iterator[tuple[Attachment, str]]:
    for parent in read.parents:
        for attached in parent.attached:
            yield from ((attached, hostname) for hostname in attached.hostnames)
