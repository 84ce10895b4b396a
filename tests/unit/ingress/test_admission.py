"""What the webhook refuses is what translation leaves out, and nothing makes it fail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.model import Route
from ingress import admission
from ingress.admission import REASONS, REVIEW_BYTES, VALUES_LIMIT, AdmissionRefusal, Verdict, review
from ingress.objects import (
    Ingress,
    IngressBackend,
    IngressHttp,
    IngressPath,
    IngressRule,
    IngressTls,
    ResourceReference,
    ServicePortReference,
    ServiceReference,
)
from ingress.translation.acceptance import CLASS_ANNOTATION
from ingress.translation.annotations import NGINX_PREFIX, OWN_PREFIX
from ingress.translation.context import TranslationContext
from tests.unit.ingress.cluster import backend, ingress, path, rule, service, translated

CONTEXT = TranslationContext()
TRANSLATION = Path(__file__).parents[3] / "ingress" / "translation"
BOTH = IngressBackend(ServiceReference("cart", ServicePortReference(number=80)), ResourceReference("Bucket", "b"))
RESOURCE = IngressBackend(resource=ResourceReference("Bucket", "b"))


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


def is_fully_served(subject: Ingress) -> bool:
    """Whether the model of a cluster that has every Service leads somewhere from all that the Ingress asks for.

    Judged by the model alone, so that it shares nothing with what it is compared with.
    """
    services = (service("cart"), service("pay"))
    hosts = {host.name: host for host in translated(subject, *services).model.hosts}
    spec = subject.spec
    kinds = {"Exact": "Exact", "Prefix": "Prefix", "ImplementationSpecific": "Prefix"}
    wanted = [
        (rule.host, (path.path or "/", kinds.get(path.path_type or "", "")))
        for rule in spec.rules
        for path in (rule.http.paths if rule.http else ())
    ]
    names = [rule.host for rule in spec.rules] or [""]
    empty = any(rule.http is not None and not rule.http.paths for rule in spec.rules)
    if empty or not all(name in hosts for name in names):
        return False
    routes = {(name, (route.path, route.kind.value)): route for name, host in hosts.items() for route in host.routes}
    if spec.default_backend and spec.rules and not all(leads_somewhere(hosts[name].default) for name in names):
        return False
    if spec.default_backend and not spec.rules:
        wanted.append(("", ("/", "Prefix")))
    return all(leads_somewhere(routes.get(one)) for one in wanted)


def leads_somewhere(route: Route | None) -> bool:
    return route is not None and route.backend is not None


def annotated(**annotations: str) -> Ingress:
    """An Ingress with annotations of ingress-nginx, written with _ for -."""
    named = {NGINX_PREFIX + name.replace("_", "-"): text for name, text in annotations.items()}
    return ingress("web", rule(), annotations=named)


REFUSED = [
    ("InvalidIngress", ingress("web")),
    ("InvalidIngress", ingress("web", rule(), annotations={CLASS_ANNOTATION: "nginx"})),
    ("InvalidIngress", ingress("web", rule("Shop.test"))),
    ("InvalidIngress", ingress("web", rule("10.0.0.1"))),
    ("InvalidIngress", ingress("web", IngressRule("shop.test", IngressHttp(())))),
    ("InvalidIngress", ingress("web", rule("shop.test", path("/a//b"), path("/good")))),
    ("InvalidIngress", ingress("web", rule("shop.test", path("/", None)))),
    ("InvalidIngress", ingress("web", rule("shop.test", path("/", to=backend("no/name"))))),
    ("InvalidIngress", ingress("web", rule("shop.test", path("/", to=BOTH)))),
    ("InvalidIngress", ingress("web", rule(), default=IngressBackend())),
    ("ResourceBackend", ingress("web", rule("shop.test", path("/", to=RESOURCE)))),
    ("ResourceBackend", ingress("web", default=RESOURCE)),
    ("ProtectionNotCarriedOut", annotated(auth_url="http://a.test/")),
    ("ProtectionNotCarriedOut", annotated(limit_rps="5")),
    ("ProtectionNotCarriedOut", annotated(whitelist_source_range="10.0.0.0/8")),
    ("EndpointTlsDenied", annotated(backend_protocol="HTTPS", proxy_ssl_verify="on")),
    ("EndpointTlsDenied", annotated(proxy_ssl_secret="other/ca")),
    ("NotCarriedOut", annotated(canary="true")),
]
ALLOWED = [
    ingress("web", rule()),
    ingress("web", IngressRule("shop.test")),
    ingress("web", rule("*.shop.test", path("", "ImplementationSpecific"))),
    ingress("web", default=backend()),
    ingress("web", rule(), rule("b.test", path("/a", to=backend("pay", "http"))), default=backend("pay")),
    ingress("web", rule("shop.test", path("/"), path("/"))),
    ingress("web", rule(), annotations={CLASS_ANNOTATION: "zonal"}),
    ingress("web", rule(), annotations={CLASS_ANNOTATION: "zonal"}, class_name=None),
    annotated(proxy_read_timeout="soon"),
    annotated(canary="false"),
    annotated(backend_protocol="HTTPS"),
]


@pytest.mark.parametrize(("reason", "subject"), REFUSED)
def test_what_translation_leaves_out_is_refused_with_its_reason(reason: str, subject: Ingress) -> None:
    assert not is_fully_served(subject)
    response = answer(subject)
    assert response["uid"] == "705ab4f5-6393-11e8-b7cc-42010a800002"
    assert not response["allowed"]
    status = response["status"]
    assert (status["status"], status["reason"], status["code"]) == ("Failure", "Invalid", 422)
    found = [finding for finding in translated(subject, service()).findings if finding.reason == reason]
    assert found
    assert all(f"{reason}: {finding.message}" in status["message"] for finding in found)


@pytest.mark.parametrize("subject", ALLOWED)
def test_what_translation_serves_is_allowed(subject: Ingress) -> None:
    assert is_fully_served(subject)
    assert answer(subject)["allowed"]


HOSTS = st.sampled_from(["", "a.test", "b.test", "*.c.test", "Bad", "1.2.3.4", "*"])
PATHS = st.builds(
    IngressPath,
    st.sampled_from(["", "/", "/a", "/a/", "/a//b", "a", "/..", "/\n"]),
    st.sampled_from(["Exact", "Prefix", "ImplementationSpecific", "Regex", None]),
    st.sampled_from([backend(), backend("pay", "http"), IngressBackend(), BOTH, RESOURCE, backend("cart", 0)]),
)
GOOD_PATHS = st.builds(IngressPath, st.sampled_from(["/", "/a", "/b"]), st.just("Prefix"), st.just(backend()))
RULES = st.builds(IngressRule, HOSTS, st.builds(IngressHttp, st.lists(GOOD_PATHS | PATHS, max_size=3).map(tuple)))
NAMES = st.sampled_from(["auth-url", "limit-rps", "canary", "proxy-ssl-verify", "backend-protocol", "proxy-body-size"])
ANNOTATIONS = st.dictionaries(NAMES.map(NGINX_PREFIX.__add__), st.sampled_from(["true", "on", "HTTPS", "1m"]))
INGRESSES = st.builds(
    lambda rules, default, annotations: ingress("web", *rules, default=default, annotations=annotations),
    st.lists(RULES, max_size=3),
    st.none() | st.sampled_from([backend(), IngressBackend(), RESOURCE]),
    st.just({}) | ANNOTATIONS,
)


@given(INGRESSES)
@settings(max_examples=150)
def test_refused_is_exactly_what_translation_does_not_serve_in_full(subject: Ingress) -> None:
    assert answer(subject)["allowed"] is is_fully_served(subject)


@pytest.mark.parametrize(
    "tls", [IngressTls(("Bad",), "cert"), IngressTls(("a.test",), "no/name")], ids=["host", "secretName"]
)
def test_a_tls_section_that_the_api_would_refuse_is_refused(tls: IngressTls) -> None:
    assert not answer(ingress("web", rule(), tls=[tls]))["allowed"]


@pytest.mark.parametrize(
    ("subject", "warning"),
    [
        (annotated(proxy_read_timeout="soon"), 'proxy-read-timeout is "soon"'),
        (annotated(proxy_read_timeout="7200"), "the most is 3600"),
        (annotated(enable_cors="true"), "does not carry it out"),
        (annotated(no_such_thing="x"), "is not known"),
        (annotated(backend_protocol="HTTPS", proxy_ssl_name="a.test"), "count only beside proxy-ssl-secret"),
        (ingress("web", rule(), annotations={OWN_PREFIX + "zone-policy": "hints"}), "zone-policy"),
        (ingress("web", rule("a.test", path("/"), path("/"))), "is taken by Ingress shop/web"),
    ],
)
def test_what_is_only_ignored_warns(subject: Ingress, warning: str) -> None:
    response = answer(subject)
    assert response["allowed"]
    assert [warning in line for line in response["warnings"]] == [True]


@pytest.mark.parametrize(
    "subject",
    [
        ingress("web", rule("a.test", path("/", to=backend("nowhere"))), tls=[IngressTls((), "nothing")]),
        annotated(proxy_ssl_secret="ca", backend_protocol="HTTPS", proxy_ssl_verify="on"),
        annotated(proxy_ssl_secret="shop/ca", backend_protocol="HTTPS", proxy_ssl_verify="on"),
    ],
)
def test_other_objects_are_taken_to_be_there(subject: Ingress) -> None:
    response = answer(subject)
    assert response["allowed"]
    assert "warnings" not in response


BAD = ingress("web", rule("Bad"))


@pytest.mark.parametrize("class_name", ["nginx", "zonal-internal", None])
def test_an_ingress_of_another_class_is_allowed_whatever_it_says(class_name: str | None) -> None:
    other = ingress("web", rule("Bad"), class_name=class_name)
    assert answer(other) == {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "allowed": True}
    malformed = {**document(other), "spec": {**document(other)["spec"], "rules": 7}}
    assert answer(malformed)["allowed"]


def test_the_configured_class_is_the_one_that_is_judged() -> None:
    internal = TranslationContext(ingress_class="internal")
    assert answer(BAD, context=internal)["allowed"]
    assert not answer(ingress("web", rule("Bad"), class_name="internal"), context=internal)["allowed"]
    legacy = ingress("web", rule("Bad"), class_name=None, annotations={CLASS_ANNOTATION: "internal"})
    assert not answer(legacy, context=internal)["allowed"]


def test_without_a_class_it_is_judged_only_where_such_are_served() -> None:
    classless = ingress("web", rule("Bad"), class_name=None)
    assert answer(classless)["allowed"]
    assert not answer(classless, context=TranslationContext(watch_ingress_without_class=True))["allowed"]


def test_a_namespace_that_is_not_watched_is_not_judged() -> None:
    assert answer(BAD, context=TranslationContext(watch_namespaces=("other",)))["allowed"]
    assert not answer(BAD, context=TranslationContext(watch_namespaces=("shop",)))["allowed"]


def test_only_ingresses_that_are_written_are_judged() -> None:
    assert not answer(BAD)["allowed"]
    assert not answer(BAD, operation="UPDATE", old=document(ingress("web", rule())))["allowed"]
    assert answer(None, operation="DELETE", old=document(BAD))["allowed"]
    assert answer(BAD, operation="CONNECT")["allowed"]
    assert answer(BAD, operation="UPDATE", subResource="status")["allowed"]
    assert answer(BAD, of="Service")["allowed"]
    assert answer(document(BAD, deletionTimestamp="2026-01-01T00:00:00Z"), operation="UPDATE")["allowed"]


def test_an_update_that_changes_nothing_judged_is_allowed_with_warnings() -> None:
    response = answer(document(BAD, finalizers=["a/b"]), operation="UPDATE", old=document(BAD))
    assert response["allowed"]
    assert response["warnings"][0].startswith("InvalidIngress: ")
    changed = document(BAD, annotations={"a": "b"})
    assert not answer(changed, operation="UPDATE", old=document(BAD))["allowed"]
    assert not answer(BAD, operation="UPDATE", old=None)["allowed"]


def test_an_object_that_cannot_be_read_is_refused() -> None:
    response = answer({**document(BAD), "spec": {"ingressClassName": "zonal", "rules": 7}})
    assert not response["allowed"]
    assert response["status"]["message"].startswith("ObjectMalformed: The object Ingress is malformed: ")


def test_many_problems_and_warnings_are_told_in_part() -> None:
    many = ingress("web", *(rule(f"Bad{number}") for number in range(50)))
    assert answer(many)["status"]["message"].endswith(" And 45 more.")
    noted = ingress("web", rule(), annotations={f"{OWN_PREFIX}a{number}": "x" * 500 for number in range(50)})
    assert answer(noted)["warnings"][20:] == ["And 30 more."]


def test_hostile_text_comes_back_escaped() -> None:
    response = answer(ingress("web", rule("a.test", path("/\x00\r\n\u202e" + "x" * 5000))))
    assert response["status"]["message"].isprintable()


MALFORMED: list[bytes] = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"\xff",
    b"[" * 100_000,
    b'{"request":' * 50_000,
    b"9" * 5000,
    body(document(BAD)).replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"),
    body(document(BAD)).replace(b"AdmissionReview", b"Status"),
    body(document(BAD), uid=""),
    body(document(BAD), uid="u" * 300),
    body(document(BAD), uid=7),
    body(document(BAD), kind={"kind": "Ingress"}),
    body(None),
    body([document(BAD)]),
    body({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": {"ingressClassName": "zonal"}}),
    body({**document(BAD), "kind": "Ingres"}),
    body({**document(BAD), "apiVersion": "v1", "kind": "Service"}),
    body(document(BAD)).replace(b'"object":{', b'"object":{"x":' + b"[" * 900 + b"]" * 900 + b","),
    body(document(BAD)).replace(b'"object":{', b'"object":{"x":' + b"[" * 9000 + b"]" * 9000 + b","),
]


@pytest.mark.parametrize("hostile", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_review_gets_no_review_but_400(hostile: bytes) -> None:
    answered = review(hostile, CONTEXT)
    if isinstance(answered, bytes):
        # Deep but not too deep, or of a kind that reads as none: answered as any other.
        assert not checked(answered)["allowed"]
    else:
        assert answered.status == 400
        assert "BAD" not in answered.message.upper()


def test_a_review_over_the_limits_gets_413() -> None:
    whole = body(document(ingress("web", rule())))
    assert isinstance(review(whole.ljust(REVIEW_BYTES), CONTEXT), bytes)
    over = review(whole.ljust(REVIEW_BYTES + 1), CONTEXT)
    assert isinstance(over, AdmissionRefusal) and over.status == 413
    many = review(body({**document(BAD), "x": [[]] * VALUES_LIMIT}), CONTEXT)
    assert isinstance(many, AdmissionRefusal) and many.status == 413


def test_tls_sections_for_every_host_are_not_multiplied_without_end() -> None:
    hosts = [rule(f"h{number}.test") for number in range(400)]
    wide = ingress("web", *hosts, tls=[IngressTls((), f"s{number}") for number in range(400)])
    answered = review(body(document(wide)), CONTEXT)
    assert isinstance(answered, AdmissionRefusal) and answered.status == 413


def test_every_reason_that_translation_gives_has_a_verdict() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in TRANSLATION.glob("*.py"))
    given = set(re.findall(r'(?:reason=|reason, message = |_note\(report, )"([A-Z][A-Za-z]+)"', sources))
    assert {"InvalidIngress", "ServiceMissing", "UnknownAnnotation"} <= given <= REASONS.keys()


def test_the_page_names_every_reason_with_its_verdict() -> None:
    page = (Path(__file__).parents[3] / "docs" / "webhook.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (refuses|warns|is not judged) \|", page, re.MULTILINE))
    assert rows == {"ObjectMalformed": "refuses"} | {reason: verdict.value for reason, verdict in REASONS.items()}


def test_a_reason_that_nobody_thought_about_does_not_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {reason: verdict for reason, verdict in REASONS.items() if verdict is Verdict.IS_NOT_JUDGED}
    monkeypatch.setattr(admission, "REASONS", known)
    response = answer(annotated(auth_url="http://a.test/"))
    assert response["allowed"]
    assert len(response["warnings"]) == 1


WHOLE = body(
    document(ingress("web", rule(), default=backend(), tls=[IngressTls(("a.test",), "cert")], annotations={"a": "b"})),
    old=document(BAD),
)


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value within a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in inner:
        yield (*above, step)
        yield from places(each, (*above, step))


def put(whole: Any, place: tuple[Any, ...], value: object) -> None:
    """Put a value where a place leads, if it still does."""
    for step in place[:-1]:
        if not isinstance(whole, dict | list) or (isinstance(whole, dict) and step not in whole):
            return
        if isinstance(whole, list) and not (isinstance(step, int) and step < len(whole)):
            return
        whole = whole[step]
    if isinstance(whole, dict):
        whole[str(place[-1])] = value


LEAVES = st.none() | st.booleans() | st.integers(-5, 99999) | st.text(max_size=8) | st.just("zonal")
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
CHANGES = st.lists(
    st.tuples(st.sampled_from(sorted(places(msgspec.json.decode(WHOLE)), key=str)), JSON), min_size=1, max_size=4
)


@given(CHANGES, st.sampled_from(["CREATE", "UPDATE", "DELETE"]))
@settings(max_examples=200)
def test_any_json_gets_a_review_or_a_refusal(changes: list[tuple[tuple[Any, ...], object]], operation: str) -> None:
    whole = msgspec.json.decode(WHOLE)
    whole["request"]["operation"] = operation
    for place, value in changes:
        put(whole, place, value)
    assert_is_answered(msgspec.json.encode(whole))


@given(st.binary(max_size=40), st.integers(0, 600), st.integers(0, 600))
@settings(max_examples=150)
def test_any_bytes_get_a_review_or_a_refusal(junk: bytes, start: int, end: int) -> None:
    whole = body(document(ingress("web", rule())))
    assert_is_answered(whole[:start] + junk + whole[end:])


def assert_is_answered(hostile: bytes) -> None:
    answered = review(hostile, CONTEXT)
    if isinstance(answered, AdmissionRefusal):
        assert answered.status in (400, 413)
        assert answered.message.isprintable()
    else:
        checked(answered)
    assert review(hostile, CONTEXT) == answered
