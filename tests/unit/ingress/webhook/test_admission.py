"""What the webhook refuses is what translation leaves out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from balancer.model.routes import Route
from ingress.findings import ALIKE_LIMIT
from ingress.objects.kinds import (
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
from ingress.settings.context import TranslationContext
from ingress.settings.table.option import NGINX_PREFIX, OWN_PREFIX
from ingress.translation.ingress.acceptance import CLASS_ANNOTATION
from ingress.webhook.admission import REASONS, AdmissionEffect, effect_of, namespace_of, review
from tests.properties import examples
from tests.unit.ingress.cluster import backend, config_map, ingress, path, rule, service, translated
from tests.unit.ingress.reviews import BAD, CONTEXT, answer, body, checked, document

TRANSLATION = Path(__file__).parents[4] / "ingress" / "translation"
BOTH = IngressBackend(ServiceReference("cart", ServicePortReference(number=80)), ResourceReference("Bucket", "b"))
RESOURCE = IngressBackend(resource=ResourceReference("Bucket", "b"))


EMPTY = {"ImplementationSpecific": "/"}
"""What an empty path means, where it may be empty."""


def is_fully_served(subject: Ingress) -> bool:
    """Whether the model of a cluster that has every Service leads somewhere from all that the Ingress asks for.

    Judged by the model alone, so that it shares nothing with what it is compared with.
    """
    services = (service("cart"), service("pay"))
    hosts = {host.name: host for host in translated(subject, *services).model.hosts}
    spec = subject.spec
    kinds = {"Exact": "Exact", "Prefix": "Prefix", "ImplementationSpecific": "Prefix"}
    wanted = [
        (rule.host, (path.path or EMPTY.get(path.path_type or "", ""), kinds.get(path.path_type or "", "")))
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
    return route is not None and route.main.backend is not None


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
    ("ClosedByAnnotation", annotated(auth_url="nonsense")),
    ("ClosedByAnnotation", annotated(enable_modsecurity="true")),
    ("ClosedByAnnotation", annotated(whitelist_source_range="nonsense")),
    ("EndpointTlsDenied", annotated(backend_protocol="HTTPS", proxy_ssl_verify="on")),
    ("EndpointTlsDenied", annotated(proxy_ssl_secret="other/ca")),
    ("ExternalAuthDenied", annotated(auth_url="http://169.254.169.254/")),
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
NAMES = st.sampled_from(
    ["auth-url", "limit-rps", "enable-cors", "proxy-ssl-verify", "backend-protocol", "proxy-body-size"]
)
ANNOTATIONS = st.dictionaries(NAMES.map(NGINX_PREFIX.__add__), st.sampled_from(["true", "on", "HTTPS", "1m"]))
INGRESSES = st.builds(
    lambda rules, default, annotations: ingress("web", *rules, default=default, annotations=annotations),
    st.lists(RULES, max_size=3),
    st.none() | st.sampled_from([backend(), IngressBackend(), RESOURCE]),
    st.just({}) | ANNOTATIONS,
)


@given(INGRESSES)
@examples(150)
def test_refused_is_exactly_what_translation_does_not_serve_in_full(subject: Ingress) -> None:
    # What a place is claimed for twice, the model alone cannot tell.
    places = [(rule.host, path.path or "/") for rule in subject.spec.rules if rule.http for path in rule.http.paths]
    assume(len(set(places)) == len(places))
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
        (annotated(modsecurity_transaction_id="$request_id"), "zonal does not support"),
        (annotated(no_such_thing="x"), "is not known"),
        (annotated(backend_protocol="HTTPS", proxy_ssl_name="a.test"), "count only beside proxy-ssl-secret"),
        (ingress("web", rule(), annotations={OWN_PREFIX + "zone-policy": "nearest"}), "zone-policy"),
        (ingress("web", rule("a.test", path("/"), path("/"))), "is taken by Ingress shop/web"),
    ],
)
def test_what_is_only_ignored_warns(subject: Ingress, warning: str) -> None:
    response = answer(subject)
    assert response["allowed"]
    assert [warning in line for line in response["warnings"]] == [True]


def test_a_canary_is_judged_without_its_main_ingress() -> None:
    plain, odd = annotated(canary="true", canary_weight="10"), annotated(canary="true", canary_weight="ten")
    assert "warnings" not in answer(plain)
    assert answer(odd)["allowed"]
    assert len(answer(odd)["warnings"]) == 1
    pattern = annotated(canary="true", canary_by_header="x-a", canary_by_header_pattern="(a")
    assert ["header pattern" in line for line in answer(pattern)["warnings"]] == [True]
    assert not answer(annotated(canary="true", enable_modsecurity="true"))["allowed"]
    bad = ingress("web", rule("Bad"), annotations={NGINX_PREFIX + "canary": "true"})
    assert not answer(bad)["allowed"]


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
    assert answer(many)["status"]["message"].endswith(" And 6 more.")
    noted = ingress("web", rule(), annotations={f"{OWN_PREFIX}a{number}": "x" * 500 for number in range(50)})
    warnings = answer(noted)["warnings"]
    assert len(warnings) == ALIKE_LIMIT + 1
    assert any(warning.startswith("There is more of this kind") for warning in warnings)


def test_hostile_text_comes_back_escaped() -> None:
    response = answer(ingress("web", rule("a.test", path("/\x00\r\n\u202e" + "x" * 5000))))
    assert response["status"]["message"].isprintable()


def test_what_the_operator_ignores_is_allowed_with_a_warning() -> None:
    asked = body(document(annotated(server_snippet="deny all;")))
    refused = review(asked, CONTEXT)
    assert isinstance(refused, bytes)
    assert not checked(refused)["allowed"]
    ignoring = review(asked, CONTEXT, config_map(ignore_annotations="server-snippet"))
    assert isinstance(ignoring, bytes)
    assert checked(ignoring)["allowed"]
    assert "is not allowed by the operator" in checked(ignoring)["warnings"][0]


def test_a_secret_of_another_namespace_is_refused_unless_the_operator_allows_it() -> None:
    asked = body(document(annotated(backend_protocol="HTTPS", proxy_ssl_secret="other/ca")))
    for held, is_allowed in ((config_map(), False), (config_map(allow_cross_namespace_resources="true"), True)):
        answered = review(asked, CONTEXT, held)
        assert isinstance(answered, bytes)
        assert checked(answered)["allowed"] is is_allowed


def test_every_reason_that_translation_gives_has_a_verdict() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in TRANSLATION.rglob("*.py"))
    given = set(re.findall(r'(?:reason=|reason, message = |_note\(report, )"([A-Z][A-Za-z]+)"', sources))
    assert {"InvalidIngress", "ServiceMissing", "UnknownAnnotation"} <= given <= REASONS.keys()


def test_the_page_names_every_reason_with_its_verdict() -> None:
    page = (Path(__file__).parents[4] / "docs" / "webhook.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (refuses|warns|is not judged) \|", page, re.MULTILINE))
    assert rows == {"ObjectMalformed": "refuses"} | {reason: verdict.value for reason, verdict in REASONS.items()}


def test_a_reason_that_nobody_thought_about_warns() -> None:
    assert effect_of("NobodyThoughtAboutThis") is AdmissionEffect.WARNS


@pytest.mark.parametrize(
    ("body", "namespace"),
    [
        (b'{"request": {"uid": "1", "namespace": "shop", "object": {"metadata": {"namespace": "other"}}}}', "shop"),
        (b'{"request": {"uid": "1"}}', ""),
        (b'{"request": {"namespace": 7}}', ""),
        (b"{}", ""),
        (b"[" * 100_000, ""),
        (b"\xff", ""),
    ],
)
def test_whose_a_review_is(body: bytes, namespace: str) -> None:
    assert namespace_of(body) == namespace
