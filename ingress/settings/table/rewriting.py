"""Options about regular expressions as paths, and about the target that endpoints get.

Responsible for the options and for the struct that they fill. It must not know which paths an Ingress has.
"""

from __future__ import annotations

import re

import msgspec

from ingress.findings import Severity
from ingress.settings.table.option import ingress_option
from ingress.settings.unsupported import Loss, closing
from ingress.settings.values import InvalidValue, blank_or_boolean

# ingress-nginx internal/ingress/annotations/parser/validators.go: RegexPathWithCapture and BasicCharsRegex.
_TARGET = re.compile(r"[-._~a-zA-Z0-9/$:]{0,1024}")
_PREFIX = re.compile(r"[-._~a-zA-Z0-9/:]{0,1024}")


class RewriteSettings(msgspec.Struct, frozen=True):
    """Whether paths are regular expressions, and what becomes of the target. Empty texts change nothing."""

    use_regex: bool = False
    target: str = ""
    forwarded_prefix: str = ""


def rewrite_target(text: str) -> str:
    """The target of a rewrite; an empty text is none."""
    if not _TARGET.fullmatch(text):
        raise InvalidValue("use letters, digits, - . _ ~ / : and $1 to $9, without a query")
    return text


def forwarded_prefix(text: str) -> str:
    """The value of X-Forwarded-Prefix; an empty text is none."""
    if not _PREFIX.fullmatch(text):
        raise InvalidValue("use letters, digits, - . _ ~ / and :")
    return text


REWRITE_OPTIONS = (
    ingress_option(
        name="use-regex",
        fills=(RewriteSettings, "use_regex"),
        grammar=blank_or_boolean,
        default="false",
        doc='`"true"` makes every path of the hosts of the Ingress a regular expression, also those of other Ingresses',
        if_invalid=Loss(Severity.MISROUTED, "expressions are matched as plain text"),
    ),
    ingress_option(
        name="rewrite-target",
        fills=(RewriteSettings, "target"),
        grammar=rewrite_target,
        doc="path that endpoints get in place of the client's, with `$1` to `$9` or `$name` for groups of the path. A"
        " target that differs from the path works as `use-regex` as well. The query stays",
        if_invalid=Loss(Severity.MISROUTED, "the path is not rewritten"),
    ),
    ingress_option(
        name="x-forwarded-prefix",
        fills=(RewriteSettings, "forwarded_prefix"),
        grammar=forwarded_prefix,
        doc="X-Forwarded-Prefix that endpoints get with a rewritten path, in place of the client's",
        # ingress-nginx refuses an Ingress with such a value.
        if_invalid=closing(Severity.DEGRADED, "endpoints do not learn the prefix"),
    ),
)
