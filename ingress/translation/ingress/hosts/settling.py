"""Settles hosts in the order of its rules: conflicts, canaries, regular expressions, and what concerns a whole host.

Knows no rule itself.
"""

from __future__ import annotations

from collections.abc import Collection

from ingress.findings import Findings
from ingress.translation.claims import Claims
from ingress.translation.conflicts import SettledHost, attach, note_uncovered_hosts, settle
from ingress.translation.ingress.hosts.app_roots import add_app_roots
from ingress.translation.ingress.hosts.expression_reading import Readings
from ingress.translation.ingress.hosts.expressions import find_expressions
from ingress.translation.ingress.hosts.host_protection import protect_hosts
from ingress.translation.ingress.hosts.other_names import add_other_names
from ingress.translation.ingress.hosts.slashes import add_slash_redirects


def settled_hosts(
    main: Collection[Claims], canaries: Collection[Claims], readings: Readings, findings: Findings
) -> dict[str, SettledHost]:
    """Every host with the winners of its places. `main` and `canaries` come by seniority."""
    hosts = settle(main, findings)
    attach(canaries, hosts, findings)
    note_uncovered_hosts(main, hosts, findings)
    find_expressions(hosts, readings, findings)
    protect_hosts(hosts, main, findings)
    add_other_names(hosts, main, findings)
    add_slash_redirects(hosts.values())
    add_app_roots(hosts.values(), findings)
    return hosts
