"""Reads the snippets of the ConfigMap.

Responsible for what becomes of a snippet that is not carried out: a finding, because most such snippets tune nginx, and
closing every path of everybody would be out of proportion (ADR 12). It must not know what a line means.
"""

from __future__ import annotations

from ingress.findings import INSTEAD, Report, Severity
from ingress.settings.snippets.levels import Level, SnippetPlace
from ingress.settings.snippets.lexing import SnippetProblem
from ingress.settings.snippets.reading import read_level
from ingress.settings.table.snippets import SNIPPET_TEXT, ClusterLevels, SnippetTexts


def cluster_levels(texts: SnippetTexts, report: Report) -> ClusterLevels:
    """What the snippets of the ConfigMap say, each carried out as a whole or not at all."""
    return ClusterLevels(
        http=_level("http-snippet", texts.http, SnippetPlace.HTTP, report),
        server=_level("server-snippet", texts.server, SnippetPlace.SERVER, report),
        location=_level("location-snippet", texts.location, SnippetPlace.LOCATION, report),
    )


def _level(key: str, text: str, place: SnippetPlace, report: Report) -> Level:
    if not text.strip():
        return Level()
    found = read_level(text, place)
    if not isinstance(found, SnippetProblem):
        for sentence in found.useless:
            report.add(
                reason="SnippetLineUseless",
                message=f"{key}, {sentence}.",
                effect="Requests are served as by ingress-nginx.",
                severity=Severity.COSMETIC,
            )
        return found
    instead = f"{INSTEAD}{found.instead}." if found.instead else ""
    report.add(
        reason="NotSupported",
        message=f"{key}, {found.text}.{instead}",
        effect=f"Requests are served, but {SNIPPET_TEXT}.",
        severity=Severity.UNPROTECTED,
    )
    return Level()
