"""Makes the redirects of an Ingress from its annotations.

Does not know hosts and paths. Source: ingress-nginx v1.15.1, annotations/redirect/redirect.go.
"""

from __future__ import annotations

import re

from balancer.model.redirects import TargetRedirect, UrlForm
from ingress.findings import Report, Severity, quote
from ingress.settings.table.redirects import PERMANENT_STATUS, TEMPORAL_STATUS, RedirectTargets

_HTTP = re.compile(r"https?:", re.IGNORECASE)
# ingress-nginx takes 300 to 308, but nginx sends no Location with 304 to 306, which are no redirects (RFC 9110 15.4).
_PERMANENT = frozenset({300, 301, 302, 303, 307, 308})
_TEMPORAL = _PERMANENT - {308}


def checked_targets(targets: RedirectTargets, report: Report) -> RedirectTargets:
    """`targets` as far as ingress-nginx carries them out: a temporal-redirect that is no URL drops the whole group."""
    if not targets.temporal or _HTTP.match(targets.temporal):
        return targets
    report.add(
        reason="InvalidValue",
        message=f"temporal-redirect is {quote(targets.temporal)}: use a URL with http or https.",
        effect="The redirects of the Ingress have no effect, except those to https and of app-root.",
        severity=Severity.MISROUTED,
    )
    return RedirectTargets(app_root=targets.app_root)


def target_redirect(targets: RedirectTargets, form: UrlForm, report: Report) -> TargetRedirect | None:
    """The redirect of every request, or None. A temporal one counts before a permanent one."""
    if targets.temporal:
        status = _status("temporal-redirect-code", targets.temporal_status, _TEMPORAL, TEMPORAL_STATUS, report)
        return TargetRedirect(targets.temporal, status, form)
    if targets.permanent:
        status = _status("permanent-redirect-code", targets.permanent_status, _PERMANENT, PERMANENT_STATUS, report)
        return TargetRedirect(targets.permanent, status, form)
    return None


def _status(name: str, status: int, known: frozenset[int], default: int, report: Report) -> int:
    if status in known:
        return status
    report.add(
        reason="InvalidValue",
        message=f"{name} is {status}: use one of {', '.join(map(str, sorted(known)))}.",
        effect=f"The redirect has the status {default}.",
        severity=Severity.DEGRADED,
    )
    return default
