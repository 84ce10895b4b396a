"""Options of a canary: the rules by which requests go to it.

Responsible for ingress-nginx's `canary` and `canary-*`. It must not know which path a canary belongs to.
"""

from __future__ import annotations

import re

import msgspec

from balancer.matching.variables import is_readable, variable_name
from ingress.findings import Severity
from ingress.settings.table.option import ingress_option, ingress_switch
from ingress.settings.unsupported import Loss, closing
from ingress.settings.values import COOKIE_NAME, InvalidValue, integer, matching

# A field name (RFC 9110 5.1) of the characters that ingress-nginx takes here.
_FIELD_NAME = re.compile(r"[A-Za-z0-9._~-]{1,128}")
# ingress-nginx's basic characters, and those of a regular expression.
_BASIC = re.compile(r"[-._~a-zA-Z0-9/:]{1,256}")
_PATTERN = re.compile(r"[-._~a-zA-Z0-9/:^$\[\](){}*+?|&=\\]{1,256}")

_OTHER_REQUESTS = Loss(Severity.MISROUTED, "the canary may get other requests than meant")


class CanaryRules(msgspec.Struct, frozen=True):
    """The rules, which count only while `enabled`. The other fields are those of `Canary` by the same names."""

    enabled: bool = False
    header: str = ""
    header_value: str = ""
    header_pattern: str = ""
    cookie: str = ""
    weight: int = 0
    weight_total: int = 100


def _header(text: str) -> str:
    name = text.strip()
    if not _FIELD_NAME.fullmatch(name) or not is_readable(variable_name(name)):
        raise InvalidValue("use the name of a header field, but none of the connection or the body")
    return name


CANARY_OPTIONS = (
    ingress_switch(
        name="canary",
        fills=(CanaryRules, "enabled"),
        doc='`"true"`: the Ingress serves some requests of another one, see [canary](canary.md)',
        # Without `canary` the Ingress claims its paths for itself, and might take every request of the main Ingress.
        if_invalid=closing(Severity.MISROUTED, "the Ingress would take all requests for its paths"),
    ),
    ingress_option(
        name="canary-by-header",
        fills=(CanaryRules, "header"),
        grammar=_header,
        doc="name of a request field: `always` goes to the canary, `never` to the main backend",
        if_invalid=_OTHER_REQUESTS,
    ),
    ingress_option(
        name="canary-by-header-value",
        fills=(CanaryRules, "header_value"),
        grammar=matching(_BASIC, "use letters, digits and -._~/:"),
        doc="value of that field that goes to the canary, in place of `always` and `never`",
        if_invalid=_OTHER_REQUESTS,
    ),
    ingress_option(
        name="canary-by-header-pattern",
        fills=(CanaryRules, "header_pattern"),
        grammar=matching(_PATTERN, "use a regular expression"),
        doc="regular expression for the value of that field; counts only without `canary-by-header-value`",
        if_invalid=_OTHER_REQUESTS,
    ),
    ingress_option(
        name="canary-by-cookie",
        fills=(CanaryRules, "cookie"),
        grammar=matching(COOKIE_NAME, "use letters, digits, -, _, . and ~"),
        doc="name of a cookie: `always` goes to the canary, `never` to the main backend",
        if_invalid=_OTHER_REQUESTS,
    ),
    ingress_option(
        name="canary-weight",
        fills=(CanaryRules, "weight"),
        grammar=integer(0),
        doc="share of the other requests, of `canary-weight-total`",
        if_invalid=_OTHER_REQUESTS,
    ),
    ingress_option(
        name="canary-weight-total",
        fills=(CanaryRules, "weight_total"),
        grammar=integer(0),
        doc="`100` or more; less counts as 100",
        if_invalid=_OTHER_REQUESTS,
    ),
)
