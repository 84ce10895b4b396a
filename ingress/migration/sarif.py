"""Writes a check as SARIF 2.1.0, which code hosts show beside the lines of a change (OASIS, sarif-v2.1.0).

One rule for each verdict and each standing, one result for each Ingress and each name that is not the same. Does not
know what the verdicts mean.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from ingress.findings import Finding
from ingress.migration.baselines import Baseline
from ingress.migration.line_numbers import Lines
from ingress.migration.verdicts import IngressOutcome, IngressReview, NameReview, NameStanding, Review, outcome_of

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {
    IngressOutcome.WORKS: "none",
    IngressOutcome.DIFFERS: "note",
    IngressOutcome.DEGRADED: "warning",
    IngressOutcome.UNPROTECTED: "error",
    IngressOutcome.MISROUTED: "error",
    IngressOutcome.CLOSED: "error",
}
_HELP = {
    IngressOutcome.WORKS: "There is nothing to do.",
    IngressOutcome.DIFFERS: "Read what differs. Nothing must change.",
    IngressOutcome.DEGRADED: "Read what is ignored, and decide whether you need it.",
    IngressOutcome.UNPROTECTED: "Replace what is not carried out before the Ingress moves. The message says by what.",
    IngressOutcome.MISROUTED: "Correct what the message names, or requests reach another Service than today.",
    IngressOutcome.CLOSED: "Replace or remove what the message names. Until then the paths answer 503.",
}
_SENTENCES = {
    IngressOutcome.WORKS: "The Ingress works as it is.",
    IngressOutcome.DIFFERS: "The Ingress works, and something differs.",
    IngressOutcome.DEGRADED: "The right Service answers, but not as well as the Ingress asks.",
    IngressOutcome.UNPROTECTED: "A protection is missing for which the Ingress asks.",
    IngressOutcome.MISROUTED: "A Service answers that the author of the Ingress did not mean.",
    IngressOutcome.CLOSED: "Paths of the Ingress answer 503.",
}


def as_sarif(review: Review, *, version: str, lines: Lines | None = None, baseline: Baseline | None = None) -> str:
    """The check as one SARIF log; `version` is that of zonal. Ingresses that work are results of level `none`.

    `lines` are those of Ingresses and annotations. `baseline` says which results are not new.
    """
    results = [_of_ingress(each, lines or {}, baseline) for each in review.ingresses]
    results += [_of_config_map(review)] if review.config_map.exists else []
    results += [_of_finding(finding) for finding in review.others]
    driver = {"name": "zonal check", "version": version, "rules": [_rule(outcome) for outcome in IngressOutcome]}
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log)).decode()


def _rule(outcome: IngressOutcome) -> dict[str, Any]:
    return {
        "id": _id(outcome),
        "shortDescription": {"text": _SENTENCES[outcome]},
        "fullDescription": {"text": _SENTENCES[outcome]},
        "help": {"text": _HELP[outcome]},
        "defaultConfiguration": {"level": _LEVELS[outcome]},
    }


def _of_ingress(each: IngressReview, lines_of: Lines, baseline: Baseline | None) -> dict[str, Any]:
    lines = [f"Ingress {each.full_name}: {each.verdict.value}.", *_names(each.annotations), *_said(each.remarks)]
    result = _result(each.verdict, lines, file=each.file, name=f"Ingress/{each.full_name}")
    known = [lines_of.get((each.namespace, each.name, name)) for name in (*_unlike(each.annotations), "")]
    line = next((number for number in known if number is not None), None)
    if line is not None and each.file:
        result["locations"][0]["physicalLocation"]["region"] = {"startLine": line}
    if baseline is not None:
        result["baselineState"] = "unchanged" if baseline.had(each.namespace, each.name, each.verdict) else "new"
    return result


def _of_config_map(review: Review) -> dict[str, Any]:
    each = review.config_map
    lines = [f"ConfigMap {each.name}: {each.verdict.value}.", *_names(each.keys), *_said(each.remarks)]
    return _result(each.verdict, lines, file=each.file, name=f"ConfigMap/{each.name}")


def _of_finding(finding: Finding) -> dict[str, Any]:
    place = "/".join(filter(None, (finding.kind, finding.namespace, finding.name)))
    file = finding.name if finding.kind == "File" else ""
    return _result(outcome_of([finding]), [*_said([finding])], file=file, name=place)


def _result(verdict: IngressOutcome, lines: list[str], *, file: str, name: str) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": name}]}
    if file:
        location["physicalLocation"] = {"artifactLocation": {"uri": quote(file)}}
    return {
        "ruleId": _id(verdict),
        "ruleIndex": verdict.harm,
        "kind": "pass" if verdict is IngressOutcome.WORKS else "fail",
        "level": _LEVELS[verdict],
        "message": {"text": "\n".join(lines)},
        "locations": [location],
        "partialFingerprints": {"zonalCheck/v1": _fingerprint(verdict, name)},
    }


def _fingerprint(verdict: IngressOutcome, name: str) -> str:
    """What tells a result from others, however the file or the words change."""
    return hashlib.sha256(f"{name} {_id(verdict)}".encode()).hexdigest()


def _unlike(names: tuple[NameReview, ...]) -> Iterator[str]:
    return (name.name for name in names if name.standing not in {NameStanding.SAME, NameStanding.SATISFIED})


def _names(names: tuple[NameReview, ...]) -> Iterator[str]:
    for name in names:
        if name.standing not in {NameStanding.SAME, NameStanding.SATISFIED}:
            yield f"{name.name}: {name.standing.value}{': ' if name.how else ''}{name.how}"


def _said(findings: tuple[Finding, ...] | list[Finding]) -> Iterator[str]:
    return (f"{finding.reason}: {finding.message} {finding.effect}" for finding in findings)


def _id(outcome: IngressOutcome) -> str:
    return "ingress-" + outcome.value.replace(" ", "-")
