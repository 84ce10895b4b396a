"""The gate of a route with an auth service: what it asks, what it remembers, and what it keeps apart."""

from __future__ import annotations

import msgspec
import pytest

from balancer.matching.gates.external_auth.answers import UNAVAILABLE, AuthAnswer
from balancer.matching.gates.external_auth.cache import AuthCache
from balancer.matching.gates.external_auth.gate import NO_AUTH_SERVICES, AuthTools, ExternalAuthGate, Told
from balancer.matching.gates.external_auth.requests import AuthRequest
from balancer.matching.gates.verdicts import Asked, Go, Verdict
from balancer.model.external_auth import ExternalAuth
from tests.unit.balancer.matching.gates.external_auth.asking import asked

PLAIN = ExternalAuth("http://auth.test/")
CACHED = ExternalAuth(
    "http://auth.test/", cache_key="$cookie_s", cache_seconds=((200, 10.0), (401, 10.0)), cache_scope="a"
)


class Services:
    """Notes what is asked. The test tells the answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[AuthRequest, Told]] = []
        self.cancelled = 0
        self.is_full = False

    def ask(self, request: AuthRequest, tell: Told) -> Services | None:
        if self.is_full:
            return None
        self.asked.append((request, tell))
        return self

    def cancel(self) -> None:
        self.cancelled += 1


class Stage:
    """Gates that share services, a cache and a clock."""

    def __init__(self) -> None:
        self.services = Services()
        self.now = 0.0
        self.tools = AuthTools(self.services, AuthCache(), lambda: self.now)
        self.told: list[Verdict] = []

    def ask(
        self, rule: ExternalAuth, question: Asked | None = None, answer: AuthAnswer | None = None
    ) -> Verdict | None:
        """The verdict; if the service was asked, that about `answer`."""
        before = len(self.services.asked)
        said = ExternalAuthGate(rule, self.tools).judge(question or asked(), self.told.append)
        if len(self.services.asked) == before:
            assert not isinstance(said, Services)
            return said  # type: ignore[return-value]
        assert said is self.services
        self.services.asked[-1][1](answer)
        return self.told.pop()


@pytest.fixture
def stage() -> Stage:
    return Stage()


def with_cookie(cookie: bytes) -> Asked:
    return asked(fields=((b"cookie", b"s=" + cookie),))


def test_the_verdict_comes_with_the_answer(stage: Stage) -> None:
    assert stage.ask(PLAIN, answer=AuthAnswer(200)) == Go()
    assert stage.ask(PLAIN, answer=AuthAnswer(500)) == UNAVAILABLE
    assert stage.ask(PLAIN, answer=None) == UNAVAILABLE
    assert len(stage.services.asked) == 3


def test_a_service_with_too_many_waiting_lets_nobody_pass(stage: Stage) -> None:
    stage.services.is_full = True
    assert stage.ask(PLAIN) == UNAVAILABLE


def test_nobody_is_asked_about_a_request_that_no_endpoint_could_serve(stage: Stage) -> None:
    assert stage.ask(PLAIN, msgspec.structs.replace(asked(), is_servable=lambda: False)) == UNAVAILABLE
    assert stage.services.asked == []
    assert stage.ask(PLAIN, msgspec.structs.replace(asked(), is_servable=lambda: True), AuthAnswer(200)) == Go()


def test_a_loop_ends(stage: Stage) -> None:
    assert stage.ask(PLAIN, asked(fields=((b"x-zonal-auth-depth", b"3"),))) == UNAVAILABLE
    assert stage.services.asked == []


def test_without_services_nobody_passes() -> None:
    assert ExternalAuthGate(PLAIN, NO_AUTH_SERVICES).judge(asked(), lambda verdict: None) == UNAVAILABLE


def test_an_answer_is_remembered_for_the_value_of_the_key(stage: Stage) -> None:
    assert stage.ask(CACHED, with_cookie(b"1"), AuthAnswer(200)) == Go()
    assert stage.ask(CACHED, with_cookie(b"1"), AuthAnswer(403)) == Go()
    assert len(stage.services.asked) == 1
    assert stage.ask(CACHED, with_cookie(b"2"), AuthAnswer(503)) == UNAVAILABLE
    stage.now = 10.0
    assert stage.ask(CACHED, with_cookie(b"1"), AuthAnswer(503)) == UNAVAILABLE


def test_what_is_no_answer_is_not_remembered(stage: Stage) -> None:
    for answer in (None, AuthAnswer(500), AuthAnswer(403)):
        assert stage.ask(CACHED, answer=answer) != Go()
    assert stage.ask(CACHED, answer=AuthAnswer(200)) == Go()


@pytest.mark.parametrize("change", [{"cache_scope": "b"}, {"url": "http://auth.test/other"}, {"method": "POST"}])
def test_another_path_or_question_has_answers_of_its_own(stage: Stage, change: dict[str, str]) -> None:
    other = msgspec.structs.replace(CACHED, **change)
    assert stage.ask(CACHED, answer=AuthAnswer(200)) == Go()
    assert stage.ask(other, answer=AuthAnswer(500)) == UNAVAILABLE


def test_a_remembered_refusal_sends_each_client_to_where_it_came_from(stage: Stage) -> None:
    rule = ExternalAuth("http://auth.test/", cache_key="k", cache_seconds=((401, 10.0),), signin="http://login/")
    locations = [stage.ask(rule, asked(target), AuthAnswer(401)).fields[0][1] for target in (b"/a", b"/b")]  # type: ignore[union-attr]
    assert locations == [b"http://login/?rd=http://shop.test%2Fa", b"http://login/?rd=http://shop.test%2Fb"]
    assert len(stage.services.asked) == 1
