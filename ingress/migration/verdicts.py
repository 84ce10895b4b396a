"""What a check says: a verdict for each Ingress, and what becomes of each annotation and each key.

Values only. Does not know how a verdict is found, nor how a check is printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

import msgspec

from ingress.findings import Finding, Severity


class IngressOutcome(Enum):
    """What becomes of an Ingress, the least harmful first. The values are what people and tools read."""

    WORKS = "works"
    DIFFERS = "works differently"
    """Every request gets the answer of the right backend; what differs is listed."""
    DEGRADED = "degraded"
    UNPROTECTED = "unprotected"
    MISROUTED = "misrouted"
    CLOSED = "closed"

    @property
    def harm(self) -> int:
        """The rank of the outcome: 0 for an Ingress that works."""
        return _HARM[self]


_HARM = {outcome: rank for rank, outcome in enumerate(IngressOutcome)}
_OF_SEVERITY = {
    Severity.COSMETIC: IngressOutcome.WORKS,
    Severity.DEGRADED: IngressOutcome.DEGRADED,
    Severity.UNPROTECTED: IngressOutcome.UNPROTECTED,
    Severity.MISROUTED: IngressOutcome.MISROUTED,
    Severity.CLOSED: IngressOutcome.CLOSED,
}


def worst(outcomes: Iterable[IngressOutcome]) -> IngressOutcome:
    """The most harmful of `outcomes`; `WORKS` if there is none."""
    return max(outcomes, key=_HARM.__getitem__, default=IngressOutcome.WORKS)


def outcome_of(findings: Iterable[Finding]) -> IngressOutcome:
    """What findings about an object make of the object."""
    return worst(_OF_SEVERITY[finding.severity] for finding in findings)


class NameStanding(Enum):
    """What becomes of one annotation or one key of a ConfigMap."""

    SAME = "same"
    DIFFERS = "differs"
    SATISFIED = "satisfied by design"
    """zonal does what the name asks for anyway."""
    IGNORED = "ignored"
    REFUSED = "refused"
    """Paths or host names answer 503 because of the name."""


class NameReview(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one annotation (without the prefix of ingress-nginx) or key. `how` is empty where all is said."""

    name: str
    value: str
    standing: NameStanding
    how: str = ""


class IngressReview(msgspec.Struct, frozen=True, kw_only=True):
    """One Ingress. `file` is relative to the folder that was read; empty for an Ingress of a cluster.

    `remarks` are the findings that no name explains. `as_today` are findings about what ingress-nginx does as well.
    `zones` says whether requests may stay in their zone: `yes`, or `no, because …`.
    """

    namespace: str
    name: str
    verdict: IngressOutcome
    file: str = ""
    hosts: tuple[str, ...] = ()
    annotations: tuple[NameReview, ...] = ()
    remarks: tuple[Finding, ...] = ()
    as_today: tuple[Finding, ...] = ()
    zones: str = "yes"

    @property
    def full_name(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"


class ConfigMapReview(msgspec.Struct, frozen=True, kw_only=True):
    """The ConfigMap with the settings. `exists`: the dump or the cluster has the ConfigMap."""

    name: str
    exists: bool
    verdict: IngressOutcome = IngressOutcome.WORKS
    file: str = ""
    keys: tuple[NameReview, ...] = ()
    remarks: tuple[Finding, ...] = ()


class RouteReview(msgspec.Struct, frozen=True, kw_only=True):
    """One object of Gateway API: a Gateway, a ListenerSet, a route or a policy. `remarks` are the findings about it."""

    kind: str
    namespace: str
    name: str
    verdict: IngressOutcome
    file: str = ""
    remarks: tuple[Finding, ...] = ()


class RegexHostReview(msgspec.Struct, frozen=True, kw_only=True):
    """A host whose paths are all regular expressions, the Ingresses that make them so, and what that changes."""

    host: str
    because_of: tuple[str, ...]
    changes: tuple[str, ...] = ()


class ControllerReview(msgspec.Struct, frozen=True, kw_only=True):
    """The workload that runs the other controller, and what becomes of its arguments and of the fields of its Service.

    `service` is `namespace/name`, empty if none is known. `file` is empty for a workload of a cluster.
    """

    kind: str
    namespace: str
    name: str
    file: str
    arguments: tuple[NameReview, ...] = ()
    service: str = ""
    service_fields: tuple[NameReview, ...] = ()


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A whole check. `others` are findings about other objects and about files. `assumed` says what the dump lacks.

    `of_other_classes` is the number of Ingresses that were not checked. `controller` None: the dump has none.
    `routes` are objects of Gateway API.
    """

    ingresses: tuple[IngressReview, ...]
    config_map: ConfigMapReview
    regex_hosts: tuple[RegexHostReview, ...] = ()
    others: tuple[Finding, ...] = ()
    assumed: tuple[str, ...] = ()
    of_other_classes: int = 0
    controller: ControllerReview | None = None
    routes: tuple[RouteReview, ...] = ()

    @property
    def worst(self) -> IngressOutcome:
        """The most harmful outcome of anything that was checked."""
        verdicts = [*(each.verdict for each in self.ingresses), *(each.verdict for each in self.routes)]
        return worst([*verdicts, self.config_map.verdict, outcome_of(self.others)])

    @property
    def summary(self) -> str:
        """One line: how many Ingresses work, differ, and need a decision."""
        harms = [each.verdict.harm for each in self.ingresses]
        works = sum(harm == IngressOutcome.WORKS.harm for harm in harms)
        differ = sum(IngressOutcome.WORKS.harm < harm <= IngressOutcome.DEGRADED.harm for harm in harms)
        need = len(harms) - works - differ
        whole = f"{works} of {_ingresses(len(harms))} as they are, {differ} differ, {need} need you."
        return " ".join([whole, *self._beside()])

    def _beside(self) -> Iterator[str]:
        """What needs a decision beside the Ingresses."""
        if self.routes:
            works = sum(each.verdict is IngressOutcome.WORKS for each in self.routes)
            yield f"{works} of {counted(len(self.routes), 'object')} of Gateway API work as they are."
        if self.config_map.verdict.harm >= IngressOutcome.DEGRADED.harm:
            verdict = self.config_map.verdict.value
            about = [
                key for key in self.config_map.keys if key.standing in {NameStanding.IGNORED, NameStanding.REFUSED}
            ]
            yield f"The ConfigMap is {verdict} ({counted(len(about), 'key')} not carried out)."
        harmful = sum(outcome_of([finding]).harm >= IngressOutcome.UNPROTECTED.harm for finding in self.others)
        if harmful:
            yield f"{counted(harmful, 'finding')} about other objects {'needs' if harmful == 1 else 'need'} you."


def counted(number: int, noun: str) -> str:
    """Such as `1 key` and `2 keys`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _ingresses(number: int) -> str:
    return "1 Ingress works" if number == 1 else f"{number} Ingresses work"
