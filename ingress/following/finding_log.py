"""Logs findings: one line for each new finding, and one for each resolved finding.

Bounds the lines that a change may cost. Each severity has lines of its own, so many harmless findings never hide a
harmful one. Namespaces share the lines, so the findings of one hide those of no other.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from operator import attrgetter

from ingress.findings import Finding, Severity, most_harmful_first
from ingress.translation.sharing import fairly_first

_LOG = logging.getLogger(__name__)

LINES_OF_A_SEVERITY = 20
"""A renamed class or a lost Secret may cause thousands of findings at once. They must not fill the log."""


def log_findings(before: Iterable[Finding], after: Iterable[Finding]) -> None:
    """Logs findings that are new in `after` as warnings, the most harmful first, and findings that are gone as
    resolved.
    """
    was, is_now = set(before), set(after)
    new = most_harmful_first(is_now - was)
    for severity in Severity:
        _log_new(severity, [finding for finding in new if finding.severity is severity])
    # A finding whose text has changed is not resolved.
    still = {_topic(finding) for finding in new}
    _log_resolved([finding for finding in most_harmful_first(was - is_now) if _topic(finding) not in still])


def _log_new(severity: Severity, new: list[Finding]) -> None:
    for finding in _shared_lines(new):
        place, reason = _place(finding), finding.reason
        _LOG.warning("%s: %s: %s: %s (%s)", severity.value, place, reason, finding.message, finding.effect)
    if len(new) > LINES_OF_A_SEVERITY:
        more = len(new) - LINES_OF_A_SEVERITY
        _LOG.warning("%s: … and %d more findings; see /debug/findings", severity.value, more)


def _log_resolved(over: list[Finding]) -> None:
    for finding in _shared_lines(over):
        _LOG.info("resolved: %s: %s: %s", _place(finding), finding.reason, finding.message)
    if len(over) > LINES_OF_A_SEVERITY:
        _LOG.info("resolved: … and %d more findings", len(over) - LINES_OF_A_SEVERITY)


def _shared_lines(findings: list[Finding]) -> list[Finding]:
    """As many as there are lines, the first of each namespace: namespaces share the lines."""
    return fairly_first(findings, LINES_OF_A_SEVERITY, attrgetter("namespace"))


def _topic(finding: Finding) -> tuple[str, str, str, str]:
    return finding.kind, finding.namespace, finding.name, finding.reason


def _place(finding: Finding) -> str:
    name = f"{finding.namespace}/{finding.name}" if finding.namespace else finding.name
    return f"{finding.kind} {name}"
