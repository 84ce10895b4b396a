"""Decides which annotations of an Ingress the operator forbids.

Does not know what an annotation does, nor what is closed because of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ingress.findings import quote
from ingress.settings.table.annotation_policy import ANNOTATION_RISKS, AnnotationPolicy, Risk
from ingress.settings.table.option import NGINX_PREFIX, OWN_PREFIX


def forbidden(annotations: Mapping[str, str], policy: AnnotationPolicy) -> Iterator[tuple[str, str]]:
    """The annotations that `policy` forbids, by their full names, each with a sentence that says why.

    As in ingress-nginx only annotations under the controller's own prefixes are judged, words are compared as they are
    written, and the risk is that of the name, whatever the value says.
    """
    if policy.forbids_nothing:
        return
    for name, value in annotations.items():
        if not name.startswith((NGINX_PREFIX, OWN_PREFIX)):
            continue
        risk = ANNOTATION_RISKS.get(name.removeprefix(NGINX_PREFIX), Risk.LOW)
        if risk > policy.most_risk:
            yield name, f"{quote(name)} has the risk {risk.name.title()}, above annotations-risk-level."
        elif (word := next((word for word in policy.words if word in value), None)) is not None:
            yield name, f"{quote(name)} contains {quote(word)}, which annotation-value-word-blocklist forbids."
