"""Decides what unsupported annotations close, and makes the finding of each.

Fails closed: an annotation that would change who answers, or whose absence drops a protection, closes paths, unless the
operator ignores the annotation. Does not know how a supported annotation is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import msgspec

from ingress.findings import TO_BE_SERVED, Report, Severity, quote
from ingress.settings.near_names import near
from ingress.settings.table.option import NGINX_PREFIX
from ingress.settings.table.whole import INGRESS_OPTIONS
from ingress.settings.unsupported import (
    FOREIGN_ANNOTATIONS,
    SATISFIED_ANNOTATIONS,
    UNSUPPORTED_ANNOTATIONS,
    Closes,
    Loss,
)

# Members of these families protect, whatever another version calls them.
_PROTECTIVE_FAMILIES = ("auth-", "limit-")
_FAMILY_LOSS = Loss(Severity.UNPROTECTED, "what it protects is open", Closes.PATHS)

# An Ingress has room for thousands of names, and comparing one with all known names costs about a millisecond.
_COMPARED_MOST = 20


class Refused(msgspec.Struct, frozen=True):
    """Whether every path of the Ingress answers 503."""

    paths: bool = False

    def closing_paths(self) -> Refused:
        """These refusals with every path of the Ingress closed."""
        return msgspec.structs.replace(self, paths=True)


class Refusals:
    """Collects what is closed because of the annotations of one Ingress."""

    __slots__ = ("_closed_effect", "_ignored", "_report", "paths")

    def __init__(self, *, ignored: frozenset[str], closed_effect: str, report: Report) -> None:
        """`ignored` are names that the operator ignores. `closed_effect` says what happens to the Ingress."""
        self._ignored = ignored
        self._closed_effect = closed_effect
        self._report = report
        self.paths: list[str] = []

    def note(self, name: str, loss: Loss, why: str, *, repair: str = "remove it") -> None:
        """Closes what `loss` closes, unless `name` is ignored, and adds a finding. `why` is a clause such as "X is not
        known", `repair` one that says what makes zonal serve the paths.
        """
        if loss.closes is Closes.NOTHING:
            self._say("NotSupported", f"{why}.", f"Requests are served, but {loss.text}.", loss.severity)
        elif name in self._ignored:
            message = f"{why}, and the ConfigMap says to ignore it."
            self._say("IgnoredByOperator", message, f"Requests are served, but {loss.text}.", loss.severity)
        else:
            self.paths.append(name)
            message = f"{why}: without it, {loss.text}.{TO_BE_SERVED}{repair}."
            self._say("ClosedByAnnotation", message, self._closed_effect, Severity.CLOSED)

    def note_unknown(self, name: str, meant: str) -> None:
        """Notes that an annotation is unknown, and which one may be meant."""
        suggestion = f' Did you mean "{meant}"?' if meant else ""
        message = f"Annotation {quote(NGINX_PREFIX + name)} is not known: correct or remove it.{suggestion}"
        self._say("UnknownAnnotation", message, "The annotation has no effect.", Severity.DEGRADED)

    def note_foreign(self, name: str) -> None:
        """Notes that ingress-nginx does not know an annotation either."""
        message = f"Annotation {NGINX_PREFIX}{name} is not known, not even to ingress-nginx: remove it."
        self._say("UnknownAnnotation", message, "The annotation has no effect.", Severity.COSMETIC)

    def _say(self, reason: str, message: str, effect: str, severity: Severity) -> None:
        self._report.add(reason=reason, message=message, effect=effect, severity=severity)


def refuse(unread: Mapping[str, str], *, into: Refusals) -> Refused:
    """What is closed because of `unread`, the annotations under ingress-nginx's prefix that no option has read.

    `unread` maps names without the prefix to values. What was closed before stays closed.
    """
    compared = frozenset(islice((name for name in unread if not _is_known(name)), _COMPARED_MOST))
    for name, value in unread.items():
        if name in UNSUPPORTED_ANNOTATIONS:
            loss = UNSUPPORTED_ANNOTATIONS[name]
            if loss.is_asked_for(value):
                into.note(
                    name, loss, f"{NGINX_PREFIX}{name} is an ingress-nginx annotation that zonal does not support"
                )
        elif name in FOREIGN_ANNOTATIONS:
            into.note_foreign(name)
        elif name not in SATISFIED_ANNOTATIONS:
            _refuse_unknown(name, near(name, _KNOWN) if name in compared else "", into)
    return Refused(paths=bool(into.paths))


def _refuse_unknown(name: str, meant: str, into: Refusals) -> None:
    """Closes an unknown name only if it belongs to a protective family: ingress-nginx ignores all others, too."""
    if not is_protective(name):
        return into.note_unknown(name, meant)
    repair = f"correct it to {meant}, or remove it" if meant else "correct or remove it"
    into.note(name, _FAMILY_LOSS, f"Annotation {quote(NGINX_PREFIX + name)} is not known", repair=repair)


def is_protective(name: str) -> bool:
    """Whether an unknown annotation, without its prefix, may be meant to protect."""
    return name.startswith(_PROTECTIVE_FAMILIES)


def _is_known(name: str) -> bool:
    return name in UNSUPPORTED_ANNOTATIONS or name in SATISFIED_ANNOTATIONS or name in FOREIGN_ANNOTATIONS


# The names that an unknown name may stand for.
_KNOWN = frozenset(
    {
        *(option.name for option in INGRESS_OPTIONS.values() if option.prefix == NGINX_PREFIX),
        *UNSUPPORTED_ANNOTATIONS,
        *SATISFIED_ANNOTATIONS,
    }
)
