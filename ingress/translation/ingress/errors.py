"""Reads what an Ingress says about errors: statuses with an error page, and a Service that stands in for its own.

Does not know Services.
"""

from __future__ import annotations

from ingress.findings import Report, quote
from ingress.settings.table.errors import ErrorSettings, StatusList
from ingress.settings.table.option import Overrides
from ingress.translation.claims import StandInClaim
from ingress.translation.denying import deny


def stand_in_claim(overrides: Overrides, cluster: ErrorSettings, report: Report) -> StandInClaim:
    """What the paths of an Ingress ask for; `overrides` are its own, and `cluster` is what the ConfigMap says.

    Its list of statuses replaces that of the ConfigMap, whose pages come from the default backend of the cluster.
    Raises `Denied` for a list with something else than statuses: ingress-nginx rejects such an Ingress.
    """
    own: StatusList = overrides.of(ErrorSettings).get("pages", StatusList())
    if own.skipped:
        message = f"custom-http-errors holds {quote(own.skipped[0])}: use statuses from 300 to 599."
        deny(report, message, reason="ClosedByAnnotation")
    settings = overrides.over(cluster)
    return StandInClaim(
        service=settings.service,
        statuses=own.statuses or cluster.pages.statuses,
        statuses_are_own=bool(own.statuses),
        intercepts=not settings.leaves_endpoints,
    )
