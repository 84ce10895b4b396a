"""Says what becomes of each annotation of an Ingress and of each key of the ConfigMap.

Reads the tables that the translation reads, and the findings of the translation itself, so that nothing is judged in
two ways. Does not know what the verdict on an Ingress is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from ingress.findings import INSTEAD, MORE, QUOTED_LIMIT, TO_BE_SERVED, Finding, Severity, printable
from ingress.migration.differences import ANNOTATION_DIFFERENCES, HIDDEN_VALUES, KEY_DIFFERENCES, Difference
from ingress.migration.verdicts import NameReview, NameStanding
from ingress.settings.table.option import NGINX_PREFIX, Option
from ingress.settings.table.whole import CONFIGMAP_OPTIONS, INGRESS_OPTIONS
from ingress.settings.unsupported import (
    FOREIGN_ANNOTATIONS,
    SATISFIED_ANNOTATIONS,
    UNSUPPORTED_ANNOTATIONS,
    Closes,
    Loss,
)
from ingress.settings.unsupported_settings import SATISFIED_SETTINGS, UNSUPPORTED_SETTINGS

_UNREAD = frozenset({"InvalidValue", "NotSupported", "UnknownAnnotation", "UnknownKey", "IgnoredByOperator"})
"""Reasons of findings about a name that has no effect."""


class _NameTables(msgspec.Struct, frozen=True):
    """What is known about names of one kind: options, names without support, and so on."""

    options: Mapping[str, Option]
    losses: Mapping[str, Loss]
    satisfied: Collection[str]
    foreign: Collection[str]
    differences: Mapping[str, Difference]


_ANNOTATIONS = _NameTables(
    options={name.removeprefix(NGINX_PREFIX): option for name, option in INGRESS_OPTIONS.items()},
    losses=UNSUPPORTED_ANNOTATIONS,
    satisfied=SATISFIED_ANNOTATIONS,
    foreign=FOREIGN_ANNOTATIONS,
    differences=ANNOTATION_DIFFERENCES,
)
_KEYS = _NameTables(
    options=CONFIGMAP_OPTIONS,
    losses=UNSUPPORTED_SETTINGS,
    satisfied=SATISFIED_SETTINGS,
    foreign=frozenset(),
    differences=KEY_DIFFERENCES,
)


def annotation_reviews(annotations: Mapping[str, str], findings: Sequence[Finding]) -> tuple[NameReview, ...]:
    """What becomes of the annotations of ingress-nginx and of zonal; those of others are left out.

    `findings` are those that the translation made about the Ingress.
    """
    named = {
        name.removeprefix(NGINX_PREFIX): value
        for name, value in annotations.items()
        if name.startswith(NGINX_PREFIX) or name in INGRESS_OPTIONS
    }
    return tuple(_reviewed(name, named[name], _ANNOTATIONS, findings) for name in sorted(named))


def key_reviews(data: Mapping[str, str], findings: Sequence[Finding]) -> tuple[NameReview, ...]:
    """What becomes of the keys of the ConfigMap. `findings` are those about the ConfigMap."""
    return tuple(_reviewed(key, data[key], _KEYS, findings) for key in sorted(data))


def unnamed(names: Iterable[NameReview], findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings that none of `names` explains."""
    known = [name.name for name in names]
    return (finding for finding in findings if not any(_is_about(finding, name) for name in known))


def standing_of_annotation(name: str) -> tuple[NameStanding, str]:
    """What becomes of an annotation, without its prefix, that asks for something; and how, as a clause."""
    return _by_table(name, None, _ANNOTATIONS)


def standing_of_key(name: str) -> tuple[NameStanding, str]:
    """What becomes of a key of the ConfigMap that asks for something; and how, as a clause."""
    return _by_table(name, None, _KEYS)


def _reviewed(name: str, value: str, names: _NameTables, findings: Sequence[Finding]) -> NameReview:
    about = [finding for finding in findings if _is_about(finding, name)]
    standing, how = _by_table(name, value, names)
    if about:
        standing = _by_findings(about)
        how = " ".join(f"{finding.message} {finding.effect}" for finding in about)
    elif standing is NameStanding.REFUSED and not _is_cut_off(findings):
        # The translation found that this value asks for nothing, although the table alone cannot tell.
        standing, how = NameStanding.SATISFIED, ""
    shown = "(hidden)" if name in HIDDEN_VALUES else printable(value, limit=QUOTED_LIMIT)
    return NameReview(name=name, value=shown, standing=standing, how=how)


def _by_table(name: str, value: str | None, names: _NameTables) -> tuple[NameStanding, str]:
    """What the tables alone say; `value` None: a value that asks for something."""
    if (option := names.options.get(name)) is not None:
        difference = names.differences.get(name)
        if difference is not None and (value is None or difference.holds_for(value)):
            return NameStanding.DIFFERS, difference.how
        return (NameStanding.SAME if option.fills is not None else NameStanding.SATISFIED), ""
    loss = names.losses.get(name)
    if name in names.satisfied or (loss is not None and value is not None and not loss.is_asked_for(value)):
        return NameStanding.SATISFIED, ""
    if loss is not None:
        return (NameStanding.IGNORED if loss.closes is Closes.NOTHING else NameStanding.REFUSED), loss.text
    is_foreign = name in names.foreign
    return (
        NameStanding.IGNORED,
        "ingress-nginx v1.15.1 does not know the name either" if is_foreign else "it is not known",
    )


def _by_findings(about: Sequence[Finding]) -> NameStanding:
    if any(finding.severity is Severity.CLOSED for finding in about):
        return NameStanding.REFUSED
    return NameStanding.IGNORED if any(finding.reason in _UNREAD for finding in about) else NameStanding.DIFFERS


def _is_about(finding: Finding, name: str) -> bool:
    """Whether a finding names an annotation or key, but not as what to write instead. A name that is a word of the
    language counts at the beginning.
    """
    if "-" in name:
        told = finding.message.partition(TO_BE_SERVED)[0].partition(INSTEAD)[0]
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-]|\.\w)", told) is not None
    called = rf'(Annotation )?"?({re.escape(NGINX_PREFIX)})?{re.escape(name)}(?![\w-])'
    return re.match(called, finding.message) is not None


def _is_cut_off(findings: Iterable[Finding]) -> bool:
    """Whether there were more findings of a kind than are kept."""
    return any(finding.message == MORE for finding in findings)
