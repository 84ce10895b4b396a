"""Header fields that the responses of an Ingress get: the data of the ConfigMap that `custom-headers` names.

Source: ingress-nginx v1.15.1, internal/ingress/annotations/customheaders. A ConfigMap that is missing, or that holds a
field which must not be sent, denies: the paths of the Ingress are closed. It must not know how fields are written.
"""

from __future__ import annotations

from collections.abc import Collection

from balancer.model.edits import ResponseRule, SetFields
from ingress.findings import Report, quote
from ingress.sources.inventory import Inventory
from ingress.translation.cluster.added_fields import field_problem
from ingress.translation.denying import deny
from ingress.translation.references import References

_FIELDS_MOST = 50  # all of them go with every response
_HSTS = "strict-transport-security"


def read_custom_fields(
    key: tuple[str, str] | None,
    *,
    references: References,
    allowed: Collection[str],
    inventory: Inventory,
    report: Report,
) -> tuple[ResponseRule, ...]:
    """The edit that adds the fields; `key` is namespace and name of the ConfigMap, None if there is none.

    `references` are those of the Ingress. `allowed` are the names, in lower case, that the operator lets Ingresses add.
    Raises `Denied`.
    """
    if key is None:
        return ()
    reference = "/".join(key)
    if problem := references.problem("custom-headers", reference):
        deny(report, problem, reason="CustomHeadersDenied")
    config_map = inventory.config_map(*key)
    if config_map is None:
        message = f"custom-headers names ConfigMap {reference}, and zonal knows none: create it."
        deny(report, message, reason="ConfigMapMissing")
    fields = tuple((name, text.strip()) for name, text in sorted(config_map.data.items()))
    if problem := _problem(fields, reference, allowed):
        deny(report, references.told("custom-headers", reference, problem), reason="CustomHeadersDenied")
    # RFC 6797 7.2: plain HTTP must not carry Strict-Transport-Security.
    plain = tuple(field for field in fields if field[0].lower() != _HSTS)
    secure = tuple(field for field in fields if field[0].lower() == _HSTS)
    rules = (SetFields(plain), SetFields(secure, secure_only=True))
    return tuple(rule for rule in rules if rule.fields)


def _problem(fields: Collection[tuple[str, str]], reference: str, allowed: Collection[str]) -> str | None:
    """Why the fields must not be sent, with the repair; None if they may be."""
    if len(fields) > _FIELDS_MOST:
        return f"ConfigMap {reference} of custom-headers has {len(fields)} fields: use {_FIELDS_MOST}."
    for name, value in fields:
        if problem := field_problem(name, value):
            return f"Field {quote(name)} of custom-headers: {problem}."
        if name.lower() not in allowed:
            listed = "the operator must list it in global-allowed-response-headers"
            return f"Field {quote(name)} of custom-headers is not allowed: {listed}."
    return None
