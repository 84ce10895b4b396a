"""Which fields pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.passing import (
    is_of_proxies,
    is_said_by_us,
    name_onward,
    nominated,
    passes_as_trailer,
    passing,
    written_alike,
)

OF_PROXIES = (
    b"X-Forwarded-Prefix",
    b"X-Forwarded-User",
    b"X-Forwarded-Email",
    b"X-Forwarded-Groups",
    b"X-Forwarded-Access-Token",
    b"X-Forwarded-Ssl",
    b"X-Forwarded-Protocol",
    b"X-Forwarded-Server",
    b"X-Forwarded",
    b"X-Original-Host",
    b"X-Original-URI",
    b"X-Envoy-External-Address",
    b"Front-End-Https",
    b"X-Url-Scheme",
    b"True-Client-IP",
    b"Client-Cert",
    b"Client-Cert-Chain",
    b"WL-Proxy-Client-Cert",
    b"X-ARR-ClientCert",
    b"X-SSL-Cert",
    b"X-Client-Verify",
    b"X-Amzn-Mtls-Clientcert-Subject",
    b"X-Azure-SocketIP",
    b"X-Appengine-User-IP",
    b"Fastly-SSL",
    b"X-Script-Name",
    b"CF-Connecting-IP",
    b"CF-Connecting-IPv6",
    b"X-Client-IP",
    b"X-Cluster-Client-IP",
    b"Fastly-Client-IP",
    b"X-Azure-ClientIP",
    b"X-Originating-IP",
    b"CloudFront-Forwarded-Proto",
    b"Fly-Forwarded-Ssl",
    b"X-Vercel-Forwarded-For",
    b"CF-Visitor",
)
OURS = (
    b"Forwarded",
    b"X-Real-IP",
    b"X-Forwarded-Proto",
    b"X-Forwarded-Client-Cert",
    b"X-Original-URL",
    b"X-Rewrite-URL",
    b"ssl-client-verify",
    b"ssl-client-fingerprint",
    b"X-SSL-Client-S-DN",
    b"Proxy",
)


@pytest.mark.parametrize(
    ("name", "underscores", "onward"),
    [
        (b"Accept", False, b"Accept"),
        (b"TE", True, b""),
        (b"x_a", False, b""),
        (b"x_a", True, b"x_a"),
        (b"x_forwarded_for", True, b""),
        (b"X_Forwarded_User", True, b""),
        (b"True_Client-IP", True, b""),
        (b"x.a", True, b""),
        (b"X!Forwarded!For", True, b""),
        (b"x|user", False, b""),
        (b"X-User~", False, b""),
        (b"X-Ok-2", False, b"X-Ok-2"),
        (b"x-forwarded-for", False, b"X-Original-Forwarded-For"),
    ],
)
def test_the_name_that_an_endpoint_gets(name: bytes, underscores: bool, onward: bytes) -> None:
    assert name_onward(name, passing(underscores)) == onward


@pytest.mark.parametrize("name", OF_PROXIES)
def test_what_only_proxies_can_know_passes_from_trusted_ones_or_if_it_is_kept(name: bytes) -> None:
    assert name_onward(name, passing()) == b""
    assert name_onward(name, passing(trusts=True)) == name
    assert name_onward(name, passing(kept=(name.decode().lower(),))) == name
    assert name_onward(name.replace(b"-", b"_"), passing(True, (name.decode().lower(),), trusts=True)) == b""
    assert not passes_as_trailer(name.lower())


@pytest.mark.parametrize("name", OURS)
def test_what_the_proxy_says_itself_passes_from_nobody(name: bytes) -> None:
    assert is_said_by_us(name.lower())
    assert name_onward(name, passing(True, (name.decode().lower(),), trusts=True)) == b""


@given(st.from_regex(rb"\A(x-forwarded-|x-original-|x-envoy-)[a-z-]{0,9}\Z|\A[a-z-]{0,9}client-ip\Z"))
def test_a_family_is_a_rule_about_names(name: bytes) -> None:
    assert is_of_proxies(name)
    assert name_onward(name, passing()) in {b"", b"X-Original-Forwarded-For", b"X-Original-Forwarded-Host"}


@pytest.mark.parametrize("name", [b"accept", b"x-request-id", b"x-user", b"authorization", b"x-forward", b"client"])
def test_other_fields_are_no_word_of_proxies(name: bytes) -> None:
    assert not is_of_proxies(name)
    assert name_onward(name, passing()) == name


def test_a_name_with_underscores_is_another_spelling() -> None:
    fields = ((b"x_user", b"root"), (b"x-user", b"a"), (b"x_other", b"b"), (b"x_us-er", b"c"))
    assert written_alike(fields, frozenset((b"x-user",))) == {b"x_user"}
    assert written_alike(((b"x-user", b"a"),), frozenset((b"x-user",))) == frozenset()


def test_equal_rules_are_one_object() -> None:
    assert passing() is passing(False, ()) is passing(trusts=False)
    assert passing(True, ("a",)) is passing(True, ("a",), trusts=False)
    assert passing(trusts=True) is not passing()


def test_connection_options_end_fields_of_one_hop_only() -> None:
    assert nominated((b"x-hop", b"cookie")) == {b"x-hop"}


def test_trailers_neither_frame_nor_route() -> None:
    assert passes_as_trailer(b"grpc-status")
    assert passes_as_trailer(b"x-checksum")
    assert passes_as_trailer(b"content-digest")
    assert not passes_as_trailer(b"content-length")
    assert not passes_as_trailer(b"x-forwarded-for")


@pytest.mark.parametrize(
    "name",
    b"ssl-client-verify x-original-url x_real_ip x.scheme authorization cookie set-cookie host content-type "
    b"content-language if-match proxy-authorization accept sec-fetch-site x-auth-user remote_user expect".split(),
)
def test_trailers_do_not_say_what_only_the_head_may_say(name: bytes) -> None:
    """An endpoint that merges trailers into the head would believe a client."""
    assert not passes_as_trailer(name)
