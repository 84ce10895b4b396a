"""Which kinds of Gateway API are followed, by what the API server serves."""

from __future__ import annotations

import pytest

from ingress.objects.kinds import OPTIONAL_KINDS, Kind
from ingress.sources.kubernetes.decoding import DecodingError
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.served_kinds import ServedKinds, gateway_scopes, plurals_in, told, versions_in

FOUR = ("gateways", "gatewayclasses", "httproutes", "referencegrants")
"""The kinds that v1beta1 has."""


def test_the_first_look_says_of_every_kind_whether_it_is_there() -> None:
    changes = ServedKinds().look({"v1": {"gateways", "gateways/status", "grpcroutes"}})
    assert set(changes) == OPTIONAL_KINDS
    assert {kind for kind, version in changes.items() if version} == {Kind.GATEWAY, Kind.GRPC_ROUTE, Kind.NAMESPACE}


def test_without_the_group_nothing_is_followed_not_even_namespaces() -> None:
    kinds = ServedKinds()
    assert kinds.look({}) == dict.fromkeys(OPTIONAL_KINDS, "")
    assert kinds.look({}) == {}


def test_namespaces_are_followed_only_with_gateways() -> None:
    assert ServedKinds().look({"v1": {"httproutes"}})[Kind.NAMESPACE] == ""


def test_v1_is_better_than_v1beta1_which_four_kinds_have() -> None:
    beta = ServedKinds().look({"v1beta1": {*FOUR, "grpcroutes", "listenersets"}})
    assert {kind for kind, version in beta.items() if version == "v1beta1"} == {
        Kind.GATEWAY,
        Kind.GATEWAY_CLASS,
        Kind.HTTP_ROUTE,
        Kind.REFERENCE_GRANT,
    }
    assert (beta[Kind.GRPC_ROUTE], beta[Kind.LISTENER_SET]) == ("", "")
    assert ServedKinds().look({"v1": FOUR, "v1beta1": FOUR})[Kind.GATEWAY] == "v1"


def test_a_kind_that_appears_later_or_at_another_version_is_the_only_change() -> None:
    kinds = ServedKinds()
    kinds.look({"v1beta1": FOUR})
    assert kinds.look({"v1beta1": FOUR, "v1": {"tlsroutes"}}) == {Kind.TLS_ROUTE: "v1"}
    assert kinds.look({"v1beta1": FOUR, "v1": {"tlsroutes", "gateways"}}) == {Kind.GATEWAY: "v1"}


def test_a_kind_that_goes_is_absent_after_two_looks_in_a_row() -> None:
    kinds = ServedKinds()
    kinds.look({"v1": FOUR})
    rest = frozenset(FOUR) - {"httproutes"}
    for _ in range(2):
        assert kinds.look({"v1": rest}) == {}
        assert kinds.look({"v1": FOUR}) == {}
    assert kinds.look({"v1": rest}) == {}
    assert kinds.look({"v1": rest}) == {Kind.HTTP_ROUTE: ""}
    assert kinds.look({"v1": FOUR}) == {Kind.HTTP_ROUTE: "v1"}
    assert kinds.look({"v1": rest}) == {}, "two looks again"


def test_the_log_line_names_what_has_changed() -> None:
    assert told({Kind.GATEWAY: "v1", Kind.NAMESPACE: "v1"}) == "serves Gateway v1"
    assert told({Kind.GATEWAY: "v1", Kind.TCP_ROUTE: ""}) == "serves Gateway v1; does not serve TCPRoute"
    assert told({Kind.HTTP_ROUTE: "", Kind.TCP_ROUTE: ""}) == "does not serve HTTPRoute, TCPRoute"


def test_of_versions_only_those_that_are_stable_are_read() -> None:
    group = b'{"versions":[{"version":"v1alpha2"},{"version":"v1beta1"},{"version":"v2"},{"version":"v1"}]}'
    assert versions_in(group) == ("v1", "v1beta1")
    assert versions_in(b'{"versions":null}') == ()
    assert plurals_in(b'{"resources":[{"name":"gateways"},{"name":"gateways/status"}]}') == {
        "gateways",
        "gateways/status",
    }
    assert plurals_in(b"{}") == frozenset()


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"versions":[1],"resources":[1]}', b"\xff"])
def test_another_document_is_no_answer(body: bytes) -> None:
    with pytest.raises(DecodingError):
        versions_in(body)
    with pytest.raises(DecodingError):
        plurals_in(body)


def test_without_namespaces_each_kind_has_one_scope() -> None:
    scopes = gateway_scopes(())
    assert set(scopes) == OPTIONAL_KINDS
    assert scopes[Kind.HTTP_ROUTE] == (Scope(Kind.HTTP_ROUTE),)
    assert scopes[Kind.NAMESPACE] == (Scope(Kind.NAMESPACE, metadata_only=True),)


def test_of_unwatched_namespaces_nothing_is_read() -> None:
    scopes = gateway_scopes(("shop", "blog"))
    assert scopes[Kind.HTTP_ROUTE] == (Scope(Kind.HTTP_ROUTE, "shop"), Scope(Kind.HTTP_ROUTE, "blog"))
    assert scopes[Kind.GATEWAY_CLASS] == (Scope(Kind.GATEWAY_CLASS),)
    assert [scope.name for scope in scopes[Kind.NAMESPACE]] == ["shop", "blog"]
