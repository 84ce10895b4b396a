"""Settles hosts in the order of its rules: conflicts, canaries, regular expressions, and what concerns a whole host.

Knows no rule itself.
"""

from __future__ import annotations

from collections.abc import Collection

from ingress.findings import Findings
from ingress.settings.table.snippets import ClusterLevels
from ingress.translation.claims import HostClaim
from ingress.translation.ingress.hosts.app_roots import add_app_roots
from ingress.translation.ingress.hosts.conflicts import Listed, attach, listed_hosts, note_uncovered_hosts, settle
from ingress.translation.ingress.hosts.expression_reading import Readings
from ingress.translation.ingress.hosts.expressions import find_expressions
from ingress.translation.ingress.hosts.host_protection import protect_hosts
from ingress.translation.ingress.hosts.other_names import add_other_names, served_as
from ingress.translation.ingress.hosts.passed_hosts import pass_hosts
from ingress.translation.ingress.hosts.placed_snippets import place_snippets
from ingress.translation.ingress.hosts.settled import OwnClaims
from ingress.translation.ingress.hosts.slashes import add_slash_redirects


def settled_hosts(
    main: Collection[OwnClaims],
    canaries: Collection[OwnClaims],
    readings: Readings,
    snippets: ClusterLevels,
    findings: Findings,
    *,
    listed: Listed | None = None,
    lends: bool = False,
) -> tuple[HostClaim, ...]:
    """Every host with the winners of its places, those of older Ingresses first.

    `main` and `canaries` come by seniority. `snippets` are those of the ConfigMap. `listed` is what `tls`
    sections name anywhere, if `main` are not all claims. `lends` as in `settle`.
    """
    if listed is None:
        listed = listed_hosts(main)
    hosts = settle(main, findings, listed=listed, lends=lends)
    attach(canaries, hosts, findings)
    note_uncovered_hosts(main, hosts, findings)
    find_expressions(hosts, readings, findings)
    protect_hosts(hosts, main, findings)
    pass_hosts(hosts, main, findings)
    add_other_names(hosts, main, findings, listed=listed)
    add_slash_redirects(hosts.values())
    place_snippets(hosts, main, snippets, findings)
    add_app_roots(hosts.values(), findings)
    return tuple(settled.claim(name, served_as(name, hosts)) for name, settled in hosts.items())
