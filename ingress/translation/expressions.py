"""Closes what regular expressions of ingress-nginx might match, for hosts with `use-regex` or `rewrite-target`.

ingress-nginx then matches every path of the host as an expression that is anchored at its start and ignores case, and
the longest one wins. zonal supports no expressions, so it closes that Ingress. Its neighbours must not answer requests
that an expression might match, recognised by the text with which the expression begins (ADR 12). Does not know how
paths are served.
"""

from __future__ import annotations

from collections.abc import Mapping

from balancer.model.routes import Owner
from ingress.findings import Findings, Severity, quote
from ingress.translation.claims import Claim, subject_of_owner
from ingress.translation.conflicts import SettledHost

# The most texts with which a route is compared. An Ingress with more texts closes its whole host.
_TEXTS_MOST = 64


class Expressions:
    """The expressions of closed Ingresses by host and namespace."""

    __slots__ = ("_hosts",)

    def __init__(self, hosts: Mapping[str, SettledHost]) -> None:
        """If several Ingresses claim a path, the annotations of the winner count, as in ingress-nginx."""
        self._hosts: dict[str, dict[str, _Texts]] = {}
        for name, settled in hosts.items():
            for each in settled.paths.values():
                if each.claim.expression:
                    owner = each.claim.owner
                    self._hosts.setdefault(name, {}).setdefault(owner.namespace, _Texts(owner)).add(each.claim)

    def closed_below(self, neighbour: Claim) -> tuple[str, ...]:
        """The beginnings of paths, in lower case, that the route of a neighbour must not answer.

        Only expressions of the same namespace count, because no tenant may close the paths of another.
        """
        texts = self._hosts.get(neighbour.host, {}).get(neighbour.owner.namespace)
        return texts.longer_than(neighbour.path) if texts is not None else ()

    def close_rest(self, hosts: Mapping[str, SettledHost]) -> None:
        """Closes requests that match no path of such a host, because an expression might have matched them."""
        for name, namespaces in self._hosts.items():
            if hosts[name].default is None:
                hosts[name].closed_by = next(iter(namespaces.values())).owner

    def note(self, hosts: Mapping[str, SettledHost], findings: Findings) -> None:
        """Adds findings for the neighbours about their paths."""
        for name, namespaces in self._hosts.items():
            owner = next(iter(namespaces.values())).owner
            why = f"{owner.kind} {owner.full_name} makes the paths of host {quote(name)} regular expressions"
            for neighbour in (each.claim for each in hosts[name].paths.values()):
                if neighbour.expression:
                    continue
                closed = self.closed_below(neighbour)
                report = findings.about(subject_of_owner(neighbour.owner))
                if closed:
                    report.add(
                        reason="RegexHost",
                        message=f"{why}, which zonal does not support.",
                        effect=f"Requests for the host answer 503 if the path begins with {_listed(closed)}.",
                        severity=Severity.CLOSED,
                    )
                elif neighbour.path != "/":
                    report.add(
                        reason="RegexHost",
                        message=f"{why} in ingress-nginx; zonal matches them as Kubernetes documents path types.",
                        effect="Requests that only an expression would match are answered by another path, or 404.",
                        severity=Severity.MISROUTED,
                    )


class _Texts:
    """The beginnings of the expressions of one namespace, each with the length of its longest expression."""

    __slots__ = ("_lengths", "owner")

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self._lengths: dict[str, int] = {}

    def add(self, claim: Claim) -> None:
        text = claim.expression
        if text not in self._lengths and len(self._lengths) >= _TEXTS_MOST:
            text = "/"
        self._lengths[text] = max(self._lengths.get(text, 0), len(claim.path))

    def longer_than(self, path: str) -> tuple[str, ...]:
        """The texts of expressions that are at least as long as `path`, because ingress-nginx prefers these."""
        found = sorted(text for text, length in self._lengths.items() if length >= len(path))
        return ("/",) if "/" in found else tuple(found)


def _listed(texts: tuple[str, ...]) -> str:
    shown = ", ".join(quote(text) for text in texts[:3])
    return f"{shown} or {len(texts) - 3} more" if len(texts) > 3 else shown
