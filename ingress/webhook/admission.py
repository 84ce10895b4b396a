"""Judges AdmissionReviews: would translation leave out something that this Ingress asks for?

Reads and writes AdmissionReview v1, and says which findings refuse, warn or do not count. Translation itself runs on
the one object and finds what is wrong, so webhook and controller never differ. A pure function with bounded work: the
ConfigMap is all it knows of the cluster, and its answer reveals only names and what findings quote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec

from ingress.findings import Finding, printable
from ingress.objects.converting import Document, ObjectError, decode
from ingress.objects.kinds import (
    ConfigMap,
    Ingress,
    IngressClass,
    IngressClassSpec,
    IngressSpec,
    Metadata,
    Secret,
    subject_of,
)
from ingress.settings.context import TranslationContext
from ingress.settings.table.option import NGINX_PREFIX
from ingress.sources.events import Upserted
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import translate
from ingress.translation.ingress.acceptance import CLASS_ANNOTATION, classes_of, is_accepted
from ingress.translation.references import References

# The API server accepts no larger request body (--max-request-bytes of kube-apiserver, 3 MiB).
REVIEW_BYTES = 3 * 1024**2
# About 5,500 paths, far beyond any real Ingress. By measurement, the worst object of this size takes half a second and
# 45 MiB.
VALUES_LIMIT = 50_000
# A real uid has 36 characters. The answer repeats the uid, so its length is bounded like that of a name.
_UID_LIMIT = 253
# A person corrects a few problems at a time. All problems become findings once the object is stored.
_PROBLEMS_SHOWN = 5
_PROBLEM_LIMIT = 400
# The API server forwards 4,096 characters of warnings; its documentation recommends at most 120 for each.
_WARNINGS_SHOWN = 20
_WARNING_LIMIT = 120

_INGRESS = ("networking.k8s.io", "v1", "Ingress")
_JUDGED_OPERATIONS = frozenset({"CREATE", "UPDATE"})


class AdmissionRefusal(msgspec.Struct, frozen=True):
    """The body cannot be judged. `status` is the HTTP status of the answer, `message` one line without contents of the
    body.
    """

    status: int
    message: str


class AdmissionEffect(Enum):
    """What a finding means for admission."""

    REFUSES = "refuses"
    WARNS = "warns"
    IS_NOT_JUDGED = "is not judged"


REASONS: Mapping[str, AdmissionEffect] = {
    # A part of the Ingress, or all of it, would not be served.
    "InvalidIngress": AdmissionEffect.REFUSES,
    "InternalError": AdmissionEffect.REFUSES,
    "ResourceBackend": AdmissionEffect.REFUSES,
    "ClosedByAnnotation": AdmissionEffect.REFUSES,
    "EndpointTlsDenied": AdmissionEffect.REFUSES,
    "ExternalAuthDenied": AdmissionEffect.REFUSES,
    "ForbiddenAnnotation": AdmissionEffect.REFUSES,
    "ExpressionRefused": AdmissionEffect.REFUSES,
    "HookUnknown": AdmissionEffect.REFUSES,
    "HookSettingsInvalid": AdmissionEffect.REFUSES,
    # The Ingress is served, but a part of what it asks for is ignored.
    "InvalidValue": AdmissionEffect.WARNS,
    "NotSupported": AdmissionEffect.WARNS,
    "IgnoredByOperator": AdmissionEffect.WARNS,
    "UnknownAnnotation": AdmissionEffect.WARNS,
    "SnippetLineUseless": AdmissionEffect.WARNS,
    "ValueCapped": AdmissionEffect.WARNS,
    "SecretNeeded": AdmissionEffect.WARNS,
    "AuthUrlMissing": AdmissionEffect.WARNS,
    "SignInWithoutType": AdmissionEffect.WARNS,
    "SignInRealmOff": AdmissionEffect.WARNS,
    "TlsHostMissing": AdmissionEffect.WARNS,
    "Conflict": AdmissionEffect.WARNS,  # here only a conflict of the Ingress with itself
    # The answer depends on other objects, which may come later.
    "IngressClassMissing": AdmissionEffect.IS_NOT_JUDGED,
    "IngressWithoutClass": AdmissionEffect.IS_NOT_JUDGED,
    "ConfigMapMissing": AdmissionEffect.IS_NOT_JUDGED,
    "ConfigMapNotFollowed": AdmissionEffect.IS_NOT_JUDGED,
    "SecretNotFollowed": AdmissionEffect.IS_NOT_JUDGED,
    "CustomHeadersDenied": AdmissionEffect.IS_NOT_JUDGED,
    "AuthFieldsDenied": AdmissionEffect.IS_NOT_JUDGED,
    "EndpointSliceMissing": AdmissionEffect.IS_NOT_JUDGED,
    "EndpointPortMissing": AdmissionEffect.IS_NOT_JUDGED,
    "NoReadyEndpoint": AdmissionEffect.IS_NOT_JUDGED,
    "EndpointZoneMissing": AdmissionEffect.IS_NOT_JUDGED,
    "HintsUnread": AdmissionEffect.IS_NOT_JUDGED,
    "ZoneOverloadUnseen": AdmissionEffect.IS_NOT_JUDGED,
    "TopologyKeysIgnored": AdmissionEffect.IS_NOT_JUDGED,
    "ZoneDrainOver": AdmissionEffect.IS_NOT_JUDGED,
    "OwnZoneUnknown": AdmissionEffect.IS_NOT_JUDGED,
    "OwnZoneEmpty": AdmissionEffect.IS_NOT_JUDGED,
    "ZoneWithoutReplica": AdmissionEffect.IS_NOT_JUDGED,
    "ServiceMissing": AdmissionEffect.IS_NOT_JUDGED,
    "ServicePortMissing": AdmissionEffect.IS_NOT_JUDGED,
    "ExternalName": AdmissionEffect.IS_NOT_JUDGED,
    "InvalidExternalName": AdmissionEffect.IS_NOT_JUDGED,
    "CertificateUnusable": AdmissionEffect.IS_NOT_JUDGED,
    "NoClusterIP": AdmissionEffect.IS_NOT_JUDGED,
    "EndpointRefused": AdmissionEffect.IS_NOT_JUDGED,
    "InvalidZone": AdmissionEffect.IS_NOT_JUDGED,
    "InvalidHints": AdmissionEffect.IS_NOT_JUDGED,
    "CanaryWithoutMain": AdmissionEffect.IS_NOT_JUDGED,
    "CanaryIgnored": AdmissionEffect.IS_NOT_JUDGED,
    "RegexHost": AdmissionEffect.IS_NOT_JUDGED,
    "NotRedirected": AdmissionEffect.IS_NOT_JUDGED,
    "ClientTlsDenied": AdmissionEffect.IS_NOT_JUDGED,
    "AuthoritiesExceedShare": AdmissionEffect.IS_NOT_JUDGED,
    "NoSpans": AdmissionEffect.IS_NOT_JUDGED,
    "HostnameShared": AdmissionEffect.IS_NOT_JUDGED,
    "RedirectLoop": AdmissionEffect.IS_NOT_JUDGED,
    "MatchUnreadable": AdmissionEffect.IS_NOT_JUDGED,
    "Shadowed": AdmissionEffect.IS_NOT_JUDGED,
    "TcpServiceInvalid": AdmissionEffect.IS_NOT_JUDGED,
    "PortUnavailable": AdmissionEffect.IS_NOT_JUDGED,
    "UdpNotServed": AdmissionEffect.IS_NOT_JUDGED,
    "TlsNotPassed": AdmissionEffect.IS_NOT_JUDGED,
    "PathBesidePassedTls": AdmissionEffect.IS_NOT_JUDGED,
    "SignInDenied": AdmissionEffect.IS_NOT_JUDGED,
    "SignInUnusable": AdmissionEffect.IS_NOT_JUDGED,
}
"""Every reason of translation. An unknown reason warns, so no new reason refuses by accident."""


def effect_of(reason: str) -> AdmissionEffect:
    """What a finding with this reason means for admission; an unknown reason warns."""
    return REASONS.get(reason, AdmissionEffect.WARNS)


# Stands in for the ca.crt that proxy-ssl-secret names. Nobody owns this certificate; its key was thrown away.
_STAND_IN_AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIHSMIGFoAMCAQICAQEwBQYDK2VwMBMxETAPBgNVBAMMCHN0YW5kLWluMB4XDTI0
MDEwMTAwMDAwMFoXDTI0MDEwMjAwMDAwMFowEzERMA8GA1UEAwwIc3RhbmQtaW4w
KjAFBgMrZXADIQAixaHfdYa46IRv7z8QeWAp8DsgG2Hp0FvhJGRTO9fZZjAFBgMr
ZXADQQDt8nT2dK8a7U9yWlF0NAqAa7F+thkxe+gWBa2xHqLy4CDYwDdQhxP48j+X
aWfvV8xrh/XcdR3OX7lrdT7ZNk8C
-----END CERTIFICATE-----
"""


class _GroupVersionKind(msgspec.Struct, frozen=True):
    """GroupVersionKind."""

    version: str
    kind: str
    group: str = ""


class _Request(msgspec.Struct, frozen=True, rename="camel"):
    """admission.k8s.io/v1 AdmissionRequest. Its objects stay bytes until they are needed."""

    uid: Annotated[str, msgspec.Meta(min_length=1, max_length=_UID_LIMIT)]
    kind: _GroupVersionKind
    operation: str
    sub_resource: str | None = None
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


class _Review(msgspec.Struct, frozen=True, rename="camel"):
    """admission.k8s.io/v1 AdmissionReview of a request."""

    api_version: Literal["admission.k8s.io/v1"]
    kind: Literal["AdmissionReview"]
    request: _Request


class _PlacedRequest(msgspec.Struct, frozen=True):
    """What of a request says whose it is."""

    namespace: str = ""


class _PlacedReview(msgspec.Struct, frozen=True):
    """A review of which no more is read than whose it is."""

    request: _PlacedRequest


# Made here, and not by each thread: msgspec crashes when two threads see a type for the first time at once.
_REVIEWS, _PLACES = msgspec.json.Decoder(_Review), msgspec.json.Decoder(_PlacedReview)


class _Judgement(msgspec.Struct, frozen=True):
    """The problems that refuse the Ingress, and the warnings; each is one line."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class _CannotJudge(Exception):
    """Carries the refusal that answers the request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.refusal = AdmissionRefusal(status, message)


def review(body: bytes, context: TranslationContext, config_map: ConfigMap | None = None) -> bytes | AdmissionRefusal:
    """The AdmissionReview v1 that answers the one in `body`, or why there is none (413 too large, 400 malformed).

    Refused is an Ingress of ours, created or updated, of which translation would leave out a part whatever else is in
    the cluster; anything else is allowed. `config_map` holds the settings, None for the defaults. Never raises, and
    does the same for the same bytes.
    Source: Kubernetes documentation, Dynamic Admission Control, "Webhook request and response".
    """
    try:
        if len(body) > REVIEW_BYTES:
            raise _CannotJudge(413, f"the review is larger than {REVIEW_BYTES} bytes")
        request = _request(body)
        return _answer(request.uid, _judge_request(request, context, config_map))
    except _CannotJudge as cannot:
        return cannot.refusal


def namespace_of(body: bytes) -> str:
    """The namespace of the object that a review is about; empty if it names none, or is no review."""
    try:
        return _PLACES.decode(body).request.namespace
    except (ValueError, RecursionError):
        return ""


def _request(body: bytes) -> _Request:
    try:
        return _REVIEWS.decode(body).request
    except (ValueError, RecursionError):
        # The error text of the library may contain the body.
        raise _CannotJudge(400, "the body is not an AdmissionReview of admission.k8s.io/v1") from None


def _judge_request(request: _Request, context: TranslationContext, config_map: ConfigMap | None) -> _Judgement:
    judged = (request.kind.group, request.kind.version, request.kind.kind) == _INGRESS
    if not judged or request.operation not in _JUDGED_OPERATIONS or request.sub_resource:
        return _Judgement()
    document = _document(request.object)
    if _is_going(document) or not _is_ours(_outline(document), context):
        return _Judgement()
    judgement = _judge(document, context, config_map)
    if judgement.problems and request.operation == "UPDATE" and _says_what_was_said(document, request.old_object):
        # An object that is already stored must accept changes of finalizers, labels and the like (Kubernetes'
        # validation ratcheting).
        return _Judgement(warnings=(*judgement.problems, *judgement.warnings))
    return judgement


def _document(raw: msgspec.Raw) -> Document:
    """The object as a mapping. Raises `_CannotJudge` if it is malformed or too large."""
    text = bytes(raw)
    # Each value but the first follows one of these characters, so there are at most as many values.
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
    """Whether the object is being deleted. Removing finalizers from such an object must not be refused."""
    return document["metadata"].get("deletionTimestamp") is not None


def _outline(document: Document) -> Ingress:
    """The part of an Ingress that its class depends on, even if the rest is malformed."""
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
    """Whether the Ingress is ours, in a cluster whose only IngressClass of ours has the configured name and is not the
    default.

    A default class needs no guess: the API server writes its name into the Ingress before it asks the webhook.
    """
    return is_accepted(ingress, classes_of([_own_class(context)], context.controller_class), context=context)


def _judge(document: Document, context: TranslationContext, config_map: ConfigMap | None) -> _Judgement:
    try:
        ingress = decode(document)
    except ObjectError as error:
        return _Judgement(problems=(f"ObjectMalformed: The object {error}.",))
    if not isinstance(ingress, Ingress):
        raise _CannotJudge(400, "the object of the review is not an Ingress of networking.k8s.io/v1")
    translation = translate(_cluster_of(ingress, context, config_map), context)
    found = [finding for finding in translation.findings if _counts(finding, ingress)]
    refused = [effect_of(finding.reason) is AdmissionEffect.REFUSES for finding in found]
    return _Judgement(
        problems=tuple(f"{one.reason}: {one.message}" for one, refuses in zip(found, refused, strict=True) if refuses),
        warnings=tuple(one.message for one, refuses in zip(found, refused, strict=True) if not refuses),
    )


def _cluster_of(ingress: Ingress, context: TranslationContext, config_map: ConfigMap | None) -> Inventory:
    """An inventory of this Ingress and the settings, with valid stand-ins for other objects."""
    cluster = Inventory()
    reference = ingress.metadata.annotations.get(NGINX_PREFIX + "proxy-ssl-secret", "")
    namespace, name = References(ingress.metadata.namespace).key(reference)
    stand_in = Secret(Metadata(name, namespace), string_data={"ca.crt": _STAND_IN_AUTHORITY})
    for item in (ingress, _own_class(context), stand_in):
        cluster.apply(Upserted(item))
    if config_map is not None:
        cluster.apply(Upserted(config_map))
    return cluster


def _own_class(context: TranslationContext) -> IngressClass:
    return IngressClass(Metadata(context.ingress_class), IngressClassSpec(context.controller_class))


def _counts(finding: Finding, ingress: Ingress) -> bool:
    subject = subject_of(ingress)
    is_about_it = (finding.kind, finding.namespace, finding.name) == (subject.kind, subject.namespace, subject.name)
    return is_about_it and effect_of(finding.reason) is not AdmissionEffect.IS_NOT_JUDGED


def _says_what_was_said(document: Document, old: msgspec.Raw) -> bool:
    """Whether an update changes nothing of what is judged."""
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
        # The answer that the API server itself gives for an invalid object.
        response["status"] = {"status": "Failure", "message": message, "reason": "Invalid", "code": 422}
    if judgement.warnings:
        response["warnings"] = _bounded(judgement.warnings, shown=_WARNINGS_SHOWN, limit=_WARNING_LIMIT)
    return msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})


def _bounded(lines: Sequence[str], *, shown: int, limit: int) -> list[str]:
    told = [printable(line, limit=limit) for line in lines[:shown]]
    return told if len(lines) <= shown else [*told, f"And {len(lines) - shown} more."]
