"""Makes the gate and the edits of CORS from the options of an Ingress. Does not know how options are read."""

from __future__ import annotations

from balancer.model.edits import CorsFields, ResponseRule
from balancer.model.gates import CorsPreflight, GateRule
from ingress.findings import Report, Severity, quote
from ingress.settings.table.cors import CorsSettings

# A list may hold thousands of texts that are no origins.
_NAMED_MOST = 3


def cors_rules(settings: CorsSettings, report: Report) -> tuple[tuple[GateRule, ...], tuple[ResponseRule, ...]]:
    """The gates and the edits that `settings` ask for. What is left out of them becomes a finding."""
    if not settings.enabled:
        return (), ()
    if settings.origins.skipped:
        _note_skipped(settings.origins.skipped, report)
    if settings.credentials is None:
        report.add(
            reason="InvalidValue",
            message='cors-allow-credentials is no boolean: use "true" or "false".',
            effect="Browsers do not show responses to requests with credentials.",
            severity=Severity.DEGRADED,
        )
    allowed = settings.origins.allowed
    return (CorsPreflight(allowed),), (CorsFields(allowed, _fields(settings)),)


def _fields(settings: CorsSettings) -> tuple[tuple[str, str], ...]:
    """As in the template of ingress-nginx: without credentials and exposed fields their fields are not sent."""
    fields = [("Access-Control-Allow-Credentials", "true")] if settings.credentials else []
    fields += [
        ("Access-Control-Allow-Methods", settings.methods),
        ("Access-Control-Allow-Headers", settings.headers),
    ]
    if settings.exposed:
        fields.append(("Access-Control-Expose-Headers", settings.exposed))
    return (*fields, ("Access-Control-Max-Age", str(settings.max_age_seconds)))


def _note_skipped(skipped: tuple[str, ...], report: Report) -> None:
    named = ", ".join(map(quote, skipped[:_NAMED_MOST]))
    more = f" and {len(skipped) - _NAMED_MOST} more" if len(skipped) > _NAMED_MOST else ""
    report.add(
        reason="InvalidValue",
        message=f"cors-allow-origin holds {named}{more}: use origins such as https://shop.example.",
        effect="Such an origin is not allowed.",
        severity=Severity.DEGRADED,
    )
