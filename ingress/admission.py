"""The admission webhook's judgement: would translation leave out what this Ingress asks for?

Responsible for AdmissionReview v1 on both sides and for which findings refuse, warn or do not count. What is wrong with
an Ingress is not decided here: translation itself runs on the one object, so the two never differ. A pure, bounded
function: it must not know the cluster, and nothing it reads leaves it but names and what findings quote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec

from ingress.findings import Finding, printable
from ingress.inventory import Inventory
from ingress.objects import (
    Document,
    Ingress,
    IngressClass,
    IngressClassSpec,
    IngressSpec,
    Metadata,
    ObjectError,
    Secret,
    decode,
    subject_of,
)
from ingress.sources.events import Upserted
from ingress.translation.acceptance import CLASS_ANNOTATION, classes_of, is_accepted
from ingress.translation.annotations import NGINX_PREFIX
from ingress.translation.assembly import translate
from ingress.translation.context import TranslationContext

# The API server takes no larger request body (--max-request-bytes of kube-apiserver, 3 MiB).
REVIEW_BYTES = 3 * 1024**2
# Some 5,500 paths, far beyond any real Ingress; measured, the worst of this size takes half a second and 45 MiB.
VALUES_LIMIT = 50_000
# A real uid has 36 characters; it comes back in the answer, so it is bounded like any name.
_UID_LIMIT = 253
# Somebody corrects a few things at a time; all of them are findings once the object is stored.
_PROBLEMS_SHOWN = 5
_PROBLEM_LIMIT = 400
# The API server passes on 4,096 characters of warnings, of at most 120 each as its documentation recommends.
_WARNINGS_SHOWN = 20
_WARNING_LIMIT = 120

_INGRESS = ("networking.k8s.io", "v1", "Ingress")
_JUDGED_OPERATIONS = frozenset({"CREATE", "UPDATE"})


class AdmissionRefusal(msgspec.Struct, frozen=True):
    """The body cannot be judged; `status` is the HTTP status to answer with, `message` one line without contents."""

    status: int
    message: str


class Verdict(Enum):
    """What a finding means for admission."""

    REFUSES = "refuses"
    WARNS = "warns"
    IS_NOT_JUDGED = "is not judged"


REASONS: Mapping[str, Verdict] = {
    # The Ingress, or a part of it, would not be served.
    "InvalidIngress": Verdict.REFUSES,
    "InternalError": Verdict.REFUSES,
    "ResourceBackend": Verdict.REFUSES,
    "ProtectionNotCarriedOut": Verdict.REFUSES,
    "EndpointTlsDenied": Verdict.REFUSES,
    # It is served, and something it says is ignored.
    "InvalidValue": Verdict.WARNS,
    "NotCarriedOut": Verdict.WARNS,
    "UnknownAnnotation": Verdict.WARNS,
    "ValueCapped": Verdict.WARNS,
    "SecretNeeded": Verdict.WARNS,
    "Conflict": Verdict.WARNS,  # here only with itself
    # The answer lies in other objects, which may come later.
    "IngressClassMissing": Verdict.IS_NOT_JUDGED,
    "ServiceMissing": Verdict.IS_NOT_JUDGED,
    "ServicePortMissing": Verdict.IS_NOT_JUDGED,
    "ExternalName": Verdict.IS_NOT_JUDGED,
    "InvalidExternalName": Verdict.IS_NOT_JUDGED,
    "CertificateUnusable": Verdict.IS_NOT_JUDGED,
    "NoClusterIP": Verdict.IS_NOT_JUDGED,
    "EndpointRefused": Verdict.IS_NOT_JUDGED,
    "InvalidZone": Verdict.IS_NOT_JUDGED,
    "InvalidHints": Verdict.IS_NOT_JUDGED,
    "CanaryWithoutMain": Verdict.IS_NOT_JUDGED,
    "CanaryIgnored": Verdict.IS_NOT_JUDGED,
}
"""Every reason of translation. One that is not here warns: nothing is refused that nobody has thought about."""

# Takes the place of the ca.crt that proxy-ssl-secret names; a certificate of nobody, whose key was thrown away.
_STAND_IN_AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIHSMIGFoAMCAQICAQEwBQYDK2VwMBMxETAPBgNVBAMMCHN0YW5kLWluMB4XDTI0
MDEwMTAwMDAwMFoXDTI0MDEwMjAwMDAwMFowEzERMA8GA1UEAwwIc3RhbmQtaW4w
KjAFBgMrZXADIQAixaHfdYa46IRv7z8QeWAp8DsgG2Hp0FvhJGRTO9fZZjAFBgMr
ZXADQQDt8nT2dK8a7U9yWlF0NAqAa7F+thkxe+gWBa2xHqLy4CDYwDdQhxP48j+X
aWfvV8xrh/XcdR3OX7lrdT7ZNk8C
-----END CERTIFICATE-----
"""


class _Named(msgspec.Struct, frozen=True):
    """GroupVersionKind."""

    version: str
    kind: str
    group: str = ""


class _Request(msgspec.Struct, frozen=True, rename="camel"):
    """admission.k8s.io/v1 AdmissionRequest, of which the objects stay bytes until they are needed."""

    uid: Annotated[str, msgspec.Meta(min_length=1, max_length=_UID_LIMIT)]
    kind: _Named
    operation: str
    sub_resource: str | None = None
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


class _Review(msgspec.Struct, frozen=True, rename="camel"):
    """admission.k8s.io/v1 AdmissionReview on its way in."""

    api_version: Literal["admission.k8s.io/v1"]
    kind: Literal["AdmissionReview"]
    request: _Request


class _Judgement(msgspec.Struct, frozen=True):
    """What keeps the Ingress out, and what it should be told; both one line each."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class _CannotJudge(Exception):
    """Carries the refusal that answers the request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.refusal = AdmissionRefusal(status, message)


def review(body: bytes, context: TranslationContext) -> bytes | AdmissionRefusal:
    """The AdmissionReview v1 that answers the one in `body`, or why there is none (413 too large, 400 malformed).

    Refused is an Ingress of ours, created or updated, of which translation would leave out a part whatever else is in
    the cluster; anything else is allowed. Never raises, and does the same for the same bytes.
    Source: Kubernetes documentation, Dynamic Admission Control, "Webhook request and response".
    """
    try:
        if len(body) > REVIEW_BYTES:
            raise _CannotJudge(413, f"the review is larger than {REVIEW_BYTES} bytes")
        request = _request(body)
        return _answer(request.uid, _judge_request(request, context))
    except _CannotJudge as cannot:
        return cannot.refusal


def _request(body: bytes) -> _Request:
    try:
        return msgspec.json.decode(body, type=_Review).request
    except (ValueError, RecursionError):
        # The library's text may hold what was sent.
        raise _CannotJudge(400, "the body is not an AdmissionReview of admission.k8s.io/v1") from None


def _judge_request(request: _Request, context: TranslationContext) -> _Judgement:
    judged = (request.kind.group, request.kind.version, request.kind.kind) == _INGRESS
    if not judged or request.operation not in _JUDGED_OPERATIONS or request.sub_resource:
        return _Judgement()
    document = _document(request.object)
    if _is_going(document) or not _is_ours(_outline(document), context):
        return _Judgement()
    judgement = _judge(document, context)
    if judgement.problems and request.operation == "UPDATE" and _says_what_was_said(document, request.old_object):
        # What is stored already must stay open to finalizers, labels and the like (Kubernetes' validation ratcheting).
        return _Judgement(warnings=(*judgement.problems, *judgement.warnings))
    return judgement


def _document(raw: msgspec.Raw) -> Document:
    """A mapping, not too large to work on."""
    text = bytes(raw)
    # Each value but the first follows one of these, so there are no more values than that.
    if sum(map(text.count, (b",", b"[", b"{"))) > VALUES_LIMIT:
        raise _CannotJudge(413, f"the object holds more than {VALUES_LIMIT} values")
    try:
        parsed = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict) or not isinstance(parsed.get("metadata"), dict):
        raise _CannotJudge(400, "the object of the review is not one with metadata")
    return parsed


def _is_going(document: Document) -> bool:
    """Whoever takes the finalizers off a deleted object must not be held up."""
    return document["metadata"].get("deletionTimestamp") is not None


def _outline(document: Document) -> Ingress:
    """As much of an Ingress as its class needs, even if the rest is malformed."""
    annotations, spec = document["metadata"].get("annotations"), document.get("spec")
    legacy = annotations.get(CLASS_ANNOTATION) if isinstance(annotations, dict) else None
    name = spec.get("ingressClassName") if isinstance(spec, dict) else None
    namespace = document["metadata"].get("namespace")
    return Ingress(
        Metadata(
            name="",
            namespace=namespace if isinstance(namespace, str) and namespace else "default",
            annotations={CLASS_ANNOTATION: legacy} if isinstance(legacy, str) else {},
        ),
        IngressSpec(name if isinstance(name, str) else None),
    )


def _is_ours(ingress: Ingress, context: TranslationContext) -> bool:
    """Acceptance in a cluster whose one IngressClass of ours has the configured name and is not the default.

    A default class needs no guess: the API server has written its name into the Ingress before it asks us.
    """
    return is_accepted(ingress, classes_of([_own_class(context)], context.controller_class), context=context)


def _judge(document: Document, context: TranslationContext) -> _Judgement:
    try:
        ingress = decode(document)
    except ObjectError as error:
        return _Judgement(problems=(f"ObjectMalformed: The object {error}.",))
    if not isinstance(ingress, Ingress):
        raise _CannotJudge(400, "the object of the review is not an Ingress of networking.k8s.io/v1")
    translation = translate(_cluster_of(ingress, context), context)
    found = [finding for finding in translation.findings if _counts(finding, ingress)]
    refused = [REASONS.get(finding.reason) is Verdict.REFUSES for finding in found]
    return _Judgement(
        problems=tuple(f"{one.reason}: {one.message}" for one, refuses in zip(found, refused, strict=True) if refuses),
        warnings=tuple(one.message for one, refuses in zip(found, refused, strict=True) if not refuses),
    )


def _cluster_of(ingress: Ingress, context: TranslationContext) -> Inventory:
    """A cluster of this Ingress, and in good order what translation cannot do without to judge it."""
    cluster = Inventory()
    secret = ingress.metadata.annotations.get(NGINX_PREFIX + "proxy-ssl-secret", "").rpartition("/")[2]
    stand_in = Secret(Metadata(secret, ingress.metadata.namespace), string_data={"ca.crt": _STAND_IN_AUTHORITY})
    for item in (ingress, _own_class(context), stand_in):
        cluster.apply(Upserted(item))
    return cluster


def _own_class(context: TranslationContext) -> IngressClass:
    return IngressClass(Metadata(context.ingress_class), IngressClassSpec(context.controller_class))


def _counts(finding: Finding, ingress: Ingress) -> bool:
    subject = subject_of(ingress)
    is_about_it = (finding.kind, finding.namespace, finding.name) == (subject.kind, subject.namespace, subject.name)
    return is_about_it and REASONS.get(finding.reason) is not Verdict.IS_NOT_JUDGED


def _says_what_was_said(document: Document, old: msgspec.Raw) -> bool:
    """Whether an update leaves alone everything that is judged."""
    try:
        before = _document(old)
    except _CannotJudge:
        return False
    return _judged_part(before) == _judged_part(document)


def _judged_part(document: Document) -> tuple[object, object]:
    return document.get("spec"), document["metadata"].get("annotations")


def _answer(uid: str, judgement: _Judgement) -> bytes:
    response: dict[str, Any] = {"uid": uid, "allowed": not judgement.problems}
    if judgement.problems:
        message = " ".join(_bounded(judgement.problems, shown=_PROBLEMS_SHOWN, limit=_PROBLEM_LIMIT))
        # What the API server itself answers to an object that it finds invalid.
        response["status"] = {"status": "Failure", "message": message, "reason": "Invalid", "code": 422}
    if judgement.warnings:
        response["warnings"] = _bounded(judgement.warnings, shown=_WARNINGS_SHOWN, limit=_WARNING_LIMIT)
    return msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})


def _bounded(lines: Sequence[str], *, shown: int, limit: int) -> list[str]:
    told = [printable(line, limit=limit) for line in lines[:shown]]
    return told if len(lines) <= shown else [*told, f"And {len(lines) - shown} more."]
