"""The forms of values in the settings of the chart, as regular expressions: what the schema can say of a grammar.

A form takes every text that its grammar takes, and as few others as an expression can. Helm judges it with Go's
regexp, other programs with that of ECMAScript, so a form has no flags and no look-around.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ingress.settings.table.whole import CONFIGMAP_OPTIONS
from ingress.settings.values import Word, blank_or_boolean, boolean, go_boolean, on_or_off

_TRUTHS = ("true", "false", "True", "False", "TRUE", "FALSE", "t", "f", "T", "F", "1", "0", "")
_NUMBERS = ("0.5", "7", "404", "308", "4096", "65536", "1048576")
_NO_NUMBERS = ("banana", "7s", "7k", "7.5", "true", "", "auto", "off", "none")

_SIZE = "[0-9]{1,12}[bkmgBKMG]?"
_DURATION = "[0-9]{1,9}(ms|s|m|h)"
_WHOLE = "[+-]?[0-9]{1,9}"
_DECIMAL = r"[0-9]{1,6}(\.[0-9]{1,9})?"
_VALID = r"([1-9][0-9]{2}\s+)*[0-9]{1,9}(ms|s|m|h|d|w|M|y)"
_RETRY = "(error|timeout|invalid_header|non_idempotent|off|http_(403|404|429|500|502|503|504))"
_RISK = "|".join("".join(f"[{each.upper()}{each}]" for each in word) for word in ("low", "medium", "high", "critical"))
_ADDRESSES = r"[0-9A-Fa-f:.]+(/[0-9]{1,3})?"
_PRICE = rf" *[^ ,=>]+ *(> *[^ ,=>]+ *)?= *{_DECIMAL} *"

FORMS: Mapping[str, str] = {
    "proxy-body-size": _SIZE,
    "proxy-busy-buffers-size": f"({_SIZE})?",
    "http2-max-header-size": _SIZE,
    "http2-max-unread-size": _SIZE,
    "large-client-header-buffers": rf"\s*{_WHOLE} \s*{_SIZE}\s*",
    "ejection-time": _DURATION,
    "zone-drain-ramp": _DURATION,
    "global-auth-cache-duration": rf"[\s,]*({_VALID}[\s,]*(,[\s,]*{_VALID}[\s,]*)*)?",
    "limit-rate": rf"({_WHOLE}|\s*)",
    "limit-req-status-code": r"\+?0*[45][0-9]{2}",
    "http-redirect-code": r"\+?0*(301|302|307|308)",
    "max-rsa-key-bits": "[0-9]{4,5}",
    "otel-sampler-ratio": r"\s*([01](\.[0-9]{0,12})?|\.[0-9]{1,12})\s*",
    "zone-transfer-prices": f"( *{_DECIMAL} *|{_PRICE}(,{_PRICE})*)",
    "zone-toll": rf"({_DECIMAL}%(\+{_DECIMAL}(ms|s))?|{_DECIMAL}(ms|s))",
    "load-balance": "(round_robin|ewma|least_request)",
    "proxy-next-upstream": rf"\s*{_RETRY}(\s+{_RETRY})*\s*",
    "ssl-protocols": r"\s*TLSv1(\.[123])?(\s+TLSv1(\.[123])?)*\s*",
    "otel-sampler": r"\s*(AlwaysOn|AlwaysOff|TraceIdRatioBased)\s*",
    "otlp-collector-protocol": r"\s*(grpc|http/protobuf)\s*",
    "annotations-risk-level": rf"\s*({_RISK})\s*",
    "global-auth-method": r"\s*(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE)?\s*",
    "whitelist-source-range": rf"[\s,]*({_ADDRESSES}[\s,]*(,[\s,]*{_ADDRESSES}[\s,]*)*)?",
    "add-headers": r"\s*([a-z0-9-]+/[a-z0-9.-]+)?\s*",
    "zone-policy": "(off|auto|prefer-zone|hints|allocate|proportional|adaptive|ordered:.+)",
}
"""The form of the grammar that an option has, and with it that of every other option with the same grammar."""

FREE: frozenset[str] = frozenset(
    [
        "annotation-value-word-blocklist",
        "block-referers",
        "block-user-agents",
        "brotli-types",
        "custom-http-errors",
        "forwarded-for-header",
        "global-allowed-response-headers",
        "global-auth-cache-key",
        "global-auth-request-redirect",
        "global-auth-response-headers",
        "global-auth-signin",
        "global-auth-signin-redirect-param",
        "global-auth-url",
        "gzip-types",
        "health-check-headers",
        "health-check-host",
        "health-check-path",
        "hide-headers",
        "http-snippet",
        "ignore-annotations",
        "ignore-settings",
        "keep-client-headers",
        "limit-conn-zone-variable",
        "location-snippet",
        "log-format-upstream",
        "no-auth-locations",
        "no-tls-redirect-locations",
        "opentelemetry-operation-name",
        "otel-service-name",
        "otlp-collector-host",
        "proxy-cookie-domain",
        "proxy-cookie-path",
        "proxy-redirect-from",
        "proxy-redirect-to",
        "server-snippet",
        "skip-access-log-urls",
        "ssl-ciphers",
        "upgrade-protocols",
        "upstream-hash-by",
        "zone-client-networks",
        "zone-drain",
    ]
)
"""Options whose values are texts of people: names, paths, expressions, lists. zonal says what is wrong with one."""


def form_of(grammar: Callable[[str], object]) -> dict[str, Any] | None:
    """The schema of the values that a grammar takes; None where only the grammar itself can tell."""
    if grammar is on_or_off:
        return {"type": "string", "pattern": "^(on|off)$"}
    if grammar in (boolean, go_boolean, blank_or_boolean):
        truths = [word for word in _TRUTHS if takes(grammar, word)]
        types = ["string", "boolean", "integer"] if "1" in truths else ["string", "boolean"]
        return {"type": types, "pattern": f"^({'|'.join(truths)})$"}
    if isinstance(grammar, Word):
        return _text(rf"\s*({'|'.join(word.replace('.', '[.]') for word in grammar.meanings)})\s*")
    told = next((form for name, form in FORMS.items() if CONFIGMAP_OPTIONS[name].grammar is grammar), None)
    if told is not None:
        return _text(told, is_number=any(takes(grammar, text) for text in _NUMBERS))
    if takes(grammar, "7") and not any(takes(grammar, text) for text in _NO_NUMBERS):
        return {"type": ["string", "integer"], "pattern": "^[+-]?[0-9]+$"}
    return None


def _text(form: str, *, is_number: bool = False) -> dict[str, Any]:
    """`is_number`: YAML may have a number in the place of its text."""
    return {"type": ["string", "number"] if is_number else "string", "pattern": f"^({form})$"}


def takes(grammar: Callable[[str], object], text: str) -> bool:
    """Whether a grammar takes a text."""
    try:
        grammar(text)
    except ValueError:
        return False
    return True
