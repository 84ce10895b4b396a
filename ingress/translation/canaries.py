"""What a canary Ingress says: the rules by which requests go to it.

Responsible for reading ingress-nginx's `canary-*`. It must not know which location a canary belongs to, nor backends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from balancer.patterns import PatternError, compile_pattern
from balancer.variables import is_readable, variable_name
from ingress.findings import Report, quote
from ingress.translation.affinities import matching
from ingress.values import InvalidValue, Row, integer

SECTION = "canary"
"""The section of a draft that `CANARY_ROWS` fill."""

# A field name (RFC 9110 5.1) out of what ingress-nginx takes here.
_FIELD_NAME = re.compile(r"[A-Za-z0-9._~-]{1,128}")
# ingress-nginx's basic characters, and those of a regular expression.
_BASIC = re.compile(r"[-._~a-zA-Z0-9/:]{1,256}")
_PATTERN = re.compile(r"[-._~a-zA-Z0-9/:^$\[\](){}*+?|&=\\]{1,256}")
_COOKIE_NAME = re.compile(r"[A-Za-z0-9._~-]{1,128}")


def _header(text: str) -> str:
    name = text.strip()
    if not _FIELD_NAME.fullmatch(name) or not is_readable(variable_name(name)):
        raise InvalidValue("use the name of a header field, but none of the connection or the body")
    return name


CANARY_ROWS: Mapping[str, Row] = {
    "canary-by-header": Row(SECTION, "header", _header),
    "canary-by-header-value": Row(SECTION, "header_value", matching(_BASIC, "use letters, digits and -._~/:")),
    "canary-by-header-pattern": Row(SECTION, "header_pattern", matching(_PATTERN, "use a regular expression")),
    "canary-by-cookie": Row(SECTION, "cookie", matching(_COOKIE_NAME, "use letters, digits, -, _, . and ~")),
    "canary-weight": Row(SECTION, "weight", integer(0)),
    "canary-weight-total": Row(SECTION, "weight_total", integer(0)),
}
"""ingress-nginx's annotations, without their prefix: how each is read and where it goes."""


def check_rules(rules: Mapping[str, Any], report: Report) -> None:
    """Note a pattern that is in force and cannot be searched: its requests stay with the main backend.

    As in ingress-nginx, where an error in the expression ends the decision.
    """
    pattern = rules.get("header_pattern", "")
    if not pattern or not rules.get("header") or rules.get("header_value"):
        return
    try:
        compile_pattern(pattern)
    except PatternError as problem:
        report.add(
            reason="InvalidValue",
            message=f"The canary's header pattern is {quote(pattern)}: {problem}.",
            effect="Requests with the header are served by the main backend.",
        )
