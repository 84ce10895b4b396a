"""Findings: what is wrong with an object, said to the person who can change it.

Responsible for the shape, the order and the cleanliness of findings: text from tenants is bounded and escaped here, so
that a finding can go into a log line or an Event as it is. It must not know where findings are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

# Long enough for a host name or a path that someone has to recognise, short enough for a log line.
QUOTED_LIMIT = 120
# Kubernetes truncates the note of an Event at 1,024 bytes (events.k8s.io/v1).
MESSAGE_LIMIT = 1000
# Whoever corrects ten mistakes of a kind has understood the eleventh. An Ingress has room for ten thousand, and every
# finding is kept, compared and counted beside the traffic of everybody.
ALIKE_LIMIT = 10
# The longest name that Kubernetes accepts (DNS-1123 subdomain); relative file names of a folder are bounded as well.
NAME_LIMIT = 253

_MORE = "There is more of this kind: correct what is listed first."


class Subject(msgspec.Struct, frozen=True, order=True):
    """What a finding is about; `namespace` is empty for cluster-wide kinds and for files."""

    kind: str
    namespace: str
    name: str


class Finding(msgspec.Struct, frozen=True, order=True):
    """`reason` is CamelCase as in an Event, `message` tells what to change, `effect` what serving does about it."""

    kind: str
    namespace: str
    name: str
    reason: str
    message: str
    effect: str


class Findings:
    """Collects findings while a model is made."""

    __slots__ = ("_alike", "_found")

    def __init__(self, found: Iterable[Finding] = ()) -> None:
        self._found = set(found)
        self._alike: Counter[tuple[Subject, str]] = Counter()

    def add(self, subject: Subject, *, reason: str, message: str, effect: str) -> None:
        """Note one finding; saying the same twice counts once. Every text is bounded and escaped.

        Of one reason about one subject the first `ALIKE_LIMIT` are kept, and one that says that there are more.
        """
        alike = self._alike[subject, reason]
        if alike > ALIKE_LIMIT:
            return
        finding = Finding(
            kind=subject.kind,
            namespace=printable(subject.namespace, limit=NAME_LIMIT),
            name=printable(subject.name, limit=NAME_LIMIT),
            reason=reason,
            message=printable(message, limit=MESSAGE_LIMIT),
            effect=effect,
        )
        if finding not in self._found:
            self._alike[subject, reason] = alike + 1
            self._found.add(finding if alike < ALIKE_LIMIT else msgspec.structs.replace(finding, message=_MORE))

    def about(self, subject: Subject) -> Report:
        """A report on one subject that notes into this collection."""
        return Report(self, subject)

    def extend(self, found: Iterable[Finding]) -> None:
        """Take in findings that were made elsewhere."""
        self._found.update(found)

    def frozen(self) -> tuple[Finding, ...]:
        """Every finding once, sorted."""
        return tuple(sorted(self._found))


class Report:
    """Notes findings about one subject."""

    __slots__ = ("_findings", "_subject")

    def __init__(self, findings: Findings, subject: Subject) -> None:
        self._findings = findings
        self._subject = subject

    def add(self, *, reason: str, message: str, effect: str) -> None:
        """Note one finding, as `Findings.add` does."""
        self._findings.add(self._subject, reason=reason, message=message, effect=effect)


def quote(text: str) -> str:
    """Text of a tenant in double quotes: control characters escaped, at most `QUOTED_LIMIT` characters of it."""
    return f'"{printable(text, limit=QUOTED_LIMIT)}"'


def printable(text: str, *, limit: int) -> str:
    """`text` without control characters, line breaks or lone surrogates, cut to `limit` characters."""
    # Cut before escaping, so that a megabyte of junk costs no more than a line of it.
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    if cut.isprintable():
        return cut
    escaped = "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in cut)
    return escaped if len(escaped) <= limit else escaped[: limit - 1] + "…"
