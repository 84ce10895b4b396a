"""AdmissionReviews for tests: as an API server sends them, and the answers with their form checked."""

from __future__ import annotations

from typing import Any

import msgspec

from ingress.objects.kinds import Ingress
from ingress.settings.context import TranslationContext
from ingress.webhook.admission import review
from tests.unit.ingress.cluster import ingress, rule

CONTEXT = TranslationContext()
BAD = ingress("web", rule("Bad"))
"""An Ingress of ours whose only host is invalid."""


def document(subject: Ingress, **metadata: object) -> dict[str, Any]:
    """The Ingress as the API server sends it."""
    fields = msgspec.to_builtins(subject)
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        **fields,
        "metadata": {**fields["metadata"], **metadata},
    }


def body(
    subject: object, *, operation: str = "CREATE", old: object = None, of: str = "Ingress", **request: object
) -> bytes:
    fields = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "networking.k8s.io", "version": "v1", "kind": of},
        "operation": operation,
        "object": subject,
        "oldObject": old,
    }
    whole = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {**fields, **request}}
    return msgspec.json.encode(whole)


def answer(subject: object, *, context: TranslationContext = CONTEXT, **request: Any) -> dict[str, Any]:
    """The response of a review, which must be one."""
    given = document(subject) if isinstance(subject, Ingress) else subject
    answered = review(body(given, **request), context)
    assert isinstance(answered, bytes), answered
    return checked(answered)


def checked(answered: bytes) -> dict[str, Any]:
    """The response in an AdmissionReview, whose form is checked."""
    whole = msgspec.json.decode(answered)
    assert whole.keys() == {"apiVersion", "kind", "response"}
    assert (whole["apiVersion"], whole["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = whole["response"]
    assert response.keys() <= {"uid", "allowed", "status", "warnings"}
    assert ("status" in response) is not response["allowed"]
    assert len(response.get("warnings", ())) <= 21
    assert all(0 < len(warning) <= 120 and warning.isprintable() for warning in response.get("warnings", ()))
    assert len(response.get("status", {}).get("message", "")) < 2500
    return response
