"""Defines findings: what is wrong with an object, for the person who can change the object.

Orders findings and keeps them clean: text from tenants is bounded and escaped here, so that a finding can go into a log
line or an Event unchanged. Does not know where findings are shown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from enum import Enum

import msgspec

TO_BE_SERVED = " To be served, "
"""What begins the clause of a message that says how to have paths served which are closed."""
INSTEAD = " Instead, "
"""What begins the clause of a message that says what to write in the place of something without effect."""
# Long enough to recognise a host name or a path, and short enough for a log line.
QUOTED_LIMIT = 120
# Kubernetes truncates the note of an Event at 1,024 bytes (events.k8s.io/v1).
MESSAGE_LIMIT = 1000
# A person who has corrected ten mistakes of a kind understands the eleventh. An Ingress has room for ten thousand, and
# every finding is kept, compared and counted in the process that serves.
ALIKE_LIMIT = 10
# The longest name that Kubernetes accepts (DNS-1123 subdomain). Relative file names of a folder have the same bound.
NAME_LIMIT = 253

MORE = "There is more of this kind: correct what is listed first."
"""The message of the finding that stands for all beyond `ALIKE_LIMIT`."""


class Subject(msgspec.Struct, frozen=True, order=True):
    """The object of a finding. `namespace` is empty for cluster-wide kinds and for files."""

    kind: str
    namespace: str
    name: str


class Severity(Enum):
    """What a finding means for requests, the most harmful first. The values are metric labels and log words."""

    CLOSED = "closed"
    """A host or a path answers 503, or is not served at all."""
    MISROUTED = "misrouted"
    """A backend answers that the author of the object did not mean."""
    UNPROTECTED = "unprotected"
    """A protection is missing for which the object asks."""
    DEGRADED = "degraded"
    """The right backend serves requests, but not as well as the object asks."""
    COSMETIC = "cosmetic"
    """No request notices."""


class Finding(msgspec.Struct, frozen=True):
    """One problem of one object.

    `reason` is CamelCase as in an Event. `message` says what to change, `effect` what happens to requests.
    """

    kind: str
    namespace: str
    name: str
    reason: str
    message: str
    effect: str
    severity: Severity


HARM = {severity: rank for rank, severity in enumerate(Severity)}
"""The rank of each severity, 0 for the most harmful."""


def most_harmful_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Every finding once: by severity, then by object and reason."""
    return tuple(sorted(set(findings), key=_harm_order))


def with_changes(
    ordered: tuple[Finding, ...], *, gone: Iterable[Finding], new: Iterable[Finding]
) -> tuple[Finding, ...]:
    """`ordered`, which comes from `most_harmful_first`, without the findings `gone` and with those that are `new`.

    Each takes a binary search, so that one change among many thousands of findings does not sort them all again.
    """
    changed = list(ordered)
    for finding in gone:
        place = bisect_left(changed, _harm_order(finding), key=_harm_order)
        if place < len(changed) and changed[place] == finding:
            del changed[place]
    for finding in new:
        place = bisect_left(changed, _harm_order(finding), key=_harm_order)
        if place == len(changed) or changed[place] != finding:
            changed.insert(place, finding)
    return tuple(changed)


def holds(ordered: tuple[Finding, ...], finding: Finding) -> bool:
    """Whether `finding` is in `ordered`, which comes from `most_harmful_first`; by binary search."""
    place = bisect_left(ordered, _harm_order(finding), key=_harm_order)
    return place < len(ordered) and ordered[place] == finding


def _harm_order(finding: Finding) -> tuple[object, ...]:
    place = finding.kind, finding.namespace, finding.name
    return HARM[finding.severity], *place, finding.reason, finding.message, finding.effect


class Findings:
    """Collects findings while a model is made."""

    __slots__ = ("_alike", "_found")

    def __init__(self, found: Iterable[Finding] = ()) -> None:
        self._found = set(found)
        self._alike: dict[tuple[Subject, str, Severity], int] = {}

    def add(self, subject: Subject, *, reason: str, message: str, effect: str, severity: Severity) -> None:
        """Notes one finding. Equal findings count once. Every text is bounded and escaped.

        For each subject, reason and severity the first `ALIKE_LIMIT` are kept, and one that says that there are more.
        """
        alike = self._alike.get((subject, reason, severity), 0)
        if alike > ALIKE_LIMIT:
            return
        finding = Finding(
            kind=subject.kind,
            namespace=printable(subject.namespace, limit=NAME_LIMIT),
            name=printable(subject.name, limit=NAME_LIMIT),
            reason=reason,
            message=printable(message, limit=MESSAGE_LIMIT),
            effect=effect,
            severity=severity,
        )
        if finding not in self._found:
            self._alike[subject, reason, severity] = alike + 1
            self._found.add(finding if alike < ALIKE_LIMIT else msgspec.structs.replace(finding, message=MORE))

    def about(self, subject: Subject) -> Report:
        """A report that notes findings about one subject into this collection."""
        return Report(self, subject)

    def extend(self, found: Iterable[Finding]) -> None:
        """Adds findings that were made elsewhere."""
        self._found.update(found)

    def frozen(self) -> tuple[Finding, ...]:
        """Every finding once, the most harmful first."""
        return most_harmful_first(self._found)


class Report:
    """Notes findings about one subject."""

    __slots__ = ("_findings", "_subject")

    def __init__(self, findings: Findings, subject: Subject) -> None:
        self._findings = findings
        self._subject = subject

    def add(self, *, reason: str, message: str, effect: str, severity: Severity) -> None:
        """Notes one finding, as `Findings.add` does."""
        self._findings.add(self._subject, reason=reason, message=message, effect=effect, severity=severity)


def quote(text: str) -> str:
    """Text of a tenant in double quotes: with control characters escaped, and at most `QUOTED_LIMIT` characters."""
    return f'"{printable(text, limit=QUOTED_LIMIT)}"'


def printable(text: str, *, limit: int) -> str:
    """`text` without control characters, line breaks or lone surrogates, cut to `limit` characters."""
    # Cut before escaping, so that a megabyte of junk costs no more than a line of it.
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    if cut.isprintable():
        return cut
    escaped = "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in cut)
    return escaped if len(escaped) <= limit else escaped[: limit - 1] + "…"
