"""The gate that asks an endpoint of a backend: what that gets, and what its answers mean."""

from __future__ import annotations

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.matching.gates.external_auth.answers import UNAVAILABLE, AuthAnswer
from balancer.matching.gates.external_auth.backend_gate import AuthEndpoint, BackendAuthGate
from balancer.matching.gates.external_auth.requests import AuthRequest
from balancer.matching.gates.verdicts import Asked, Go, Reply, Verdict
from balancer.model.endpoints import BackendKey
from balancer.model.external_auth import BackendAuth
from balancer.model.handshakes import Handshake
from tests.messages import request_head
from tests.unit.balancer.matching.gates.external_auth.asking import asked
from tests.unit.balancer.matching.gates.external_auth.test_gate import Services

KEY, NEAR = BackendKey("infra/judge:80"), AuthEndpoint("10.0.0.1:80")
RULE = BackendAuth(KEY, "/check", ("x-a",), ("X-User",), "infra")


def question(*fields: tuple[bytes, bytes], target: bytes = b"/x?y=1") -> Asked:
    head = msgspec.structs.replace(request_head(b"POST", fields=fields), target=target, authority=b"shop.test:80")
    return msgspec.structs.replace(asked(), request=head)


def ask(
    rule: BackendAuth,
    answer: AuthAnswer | None,
    asking: Asked | None = None,
    endpoint: AuthEndpoint | None = NEAR,
) -> tuple[AuthRequest | None, Verdict]:
    """What the service was asked, None for nothing, and the verdict after its answer."""
    services, told = Services(), list[Verdict]()
    gate = BackendAuthGate(rule, services, lambda key, _: endpoint if key == KEY else None)
    said = gate.judge(asking or question(), told.append)
    if not services.asked:
        assert isinstance(said, type(UNAVAILABLE))
        return None, said
    request, tell = services.asked[0]
    tell(answer)
    return request, told[0]


def test_the_service_gets_the_request_without_its_body_and_the_fields_that_are_named() -> None:
    fields = ((b"authorization", b"Basic x"), (b"x-a", b"1"), (b"x-b", b"2"), (b"connection", b"close"))
    request, _ = ask(RULE, AuthAnswer(200), question(*fields))
    assert request is not None
    assert (request.method, request.authority, request.host) == ("POST", "10.0.0.1:80", b"shop.test:80")
    assert request.target == b"/check/x?y=1"
    assert request.fields == (fields[0], fields[1], (b"X-Zonal-Auth-Depth", b"1"))
    assert (request.scheme, request.tenant, request.body) == ("http", "infra", b"")


def test_the_endpoint_is_spoken_to_as_its_backend_wants() -> None:
    tls = Handshake(verify=True)
    request, _ = ask(RULE, AuthAnswer(200), endpoint=AuthEndpoint("10.0.0.1:443", tls))
    assert request is not None
    assert (request.scheme, request.tls) == ("https", tls)


def test_of_an_answer_that_lets_pass_the_endpoint_gets_the_named_fields() -> None:
    answer = AuthAnswer(200, ((b"x-user", b"ada"), (b"x-other", b"1")))
    _, verdict = ask(RULE, answer)
    assert isinstance(verdict, Go)
    assert verdict.added == ((b"X-User", b"ada"),)
    assert verdict.removed == {b"x-user"}


def test_without_names_it_gets_all_that_are_not_about_the_answer_itself() -> None:
    fields = (
        (b"x-user", b"ada"),
        (b"content-length", b"3"),
        (b"host", b"evil"),
        (b"connection", b"x"),
        (b"server", b"s"),
    )
    _, verdict = ask(BackendAuth(KEY), AuthAnswer(200, fields))
    assert isinstance(verdict, Go)
    assert verdict.added == ((b"x-user", b"ada"),)
    assert verdict.removed == {b"x-user"}


@pytest.mark.parametrize("status", [302, 401, 403, 404, 429])
def test_a_refusal_is_what_the_client_gets(status: int) -> None:
    _, verdict = ask(RULE, AuthAnswer(status, ((b"location", b"https://login.test/"),)))
    assert isinstance(verdict, Reply)
    assert (verdict.status, verdict.kind) == (status, ErrorKind.AUTH_DENIED)


def test_by_200_alone_a_request_passes() -> None:
    _, verdict = ask(RULE, AuthAnswer(204))
    assert isinstance(verdict, Reply)
    assert (verdict.status, verdict.kind) == (403, ErrorKind.AUTH_DENIED)


@pytest.mark.parametrize("answer", [None, AuthAnswer(500), AuthAnswer(100), AuthAnswer(200, ((b"x-user", b"a\rb"),))])
def test_without_an_answer_that_says_something_no_request_passes(answer: AuthAnswer | None) -> None:
    assert ask(RULE, answer)[1] == UNAVAILABLE


def test_nobody_is_asked_where_nobody_can_be() -> None:
    assert ask(BackendAuth(None), AuthAnswer(200)) == (None, UNAVAILABLE)
    assert ask(RULE, AuthAnswer(200), endpoint=None) == (None, UNAVAILABLE)
    assert ask(RULE, AuthAnswer(200), question((b"x-zonal-auth-depth", b"3"))) == (None, UNAVAILABLE)
    assert ask(RULE, AuthAnswer(200), msgspec.structs.replace(asked(), is_servable=lambda: False)) == (
        None,
        UNAVAILABLE,
    )


def test_it_tells_people_who_is_asked() -> None:
    (fact,) = BackendAuthGate(RULE, Services(), lambda key, secure: None).describe().facts
    assert "infra/judge:80" in fact
