"""Reads the snippets of an Ingress: what they say, or which line closes its paths.

Source: ingress-nginx v1.15.1, annotations/snippet and serversnippet. Does not know what becomes of a path.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import msgspec

from ingress.findings import Report, Severity
from ingress.settings.snippets.levels import Level, SnippetPlace
from ingress.settings.snippets.lexing import SnippetProblem
from ingress.settings.snippets.reading import read_level
from ingress.settings.table.annotation_policy import AnnotationPolicy
from ingress.settings.table.option import NGINX_PREFIX
from ingress.settings.table.snippets import SNIPPET_LOSS, SnippetTexts
from ingress.translation.ingress.refusals import Refusals

_FORBIDDEN = "is not allowed by the operator"
_REPAIR = (
    'set allow-snippet-annotations to "true" and annotations-risk-level to Critical in the ConfigMap, or remove the'
    " snippet"
)


class OwnSnippets(msgspec.Struct, frozen=True):
    """What the snippets of an Ingress say: for its paths, and for its hosts. `server` None: it has no such snippet."""

    location: Level = Level()
    server: Level | None = None
    is_refused: bool = False


def read_snippets(
    texts: SnippetTexts, policy: AnnotationPolicy, *, ignored: Collection[str], closed_effect: str, report: Report
) -> OwnSnippets:
    """The snippets in `texts`, each carried out or refused as a whole.

    `ignored` are names of annotations that the operator ignores. `closed_effect` says what happens to the Ingress.
    """
    into = Refusals(ignored=frozenset(ignored), closed_effect=closed_effect, report=report)
    read = partial(_read, policy=policy, into=into, report=report)
    location = read("configuration-snippet", texts.configuration, SnippetPlace.LOCATION)
    server = read("server-snippet", texts.server, SnippetPlace.SERVER)
    return OwnSnippets(location or Level(), server, is_refused=bool(into.paths))


def _read(
    name: str, text: str, place: SnippetPlace, *, policy: AnnotationPolicy, into: Refusals, report: Report
) -> Level | None:
    if not text.strip():
        return None
    called = NGINX_PREFIX + name
    if not policy.allows_snippets:
        into.note(name, SNIPPET_LOSS, f"{called} {_FORBIDDEN}", repair=_REPAIR)
        return None
    found = read_level(text, place)
    if isinstance(found, SnippetProblem):
        into.note(name, SNIPPET_LOSS, f"{called}, {found.text}", repair=found.instead or "correct it")
        return None
    for sentence in found.useless:
        report.add(
            reason="SnippetLineUseless",
            message=f"{called}, {sentence}.",
            effect="Requests are served as by ingress-nginx.",
            severity=Severity.COSMETIC,
        )
    return found
