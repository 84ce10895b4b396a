"""What the answers of an auth service mean, and that nothing else of them reaches anybody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind
from balancer.http.edits import HeadEdit
from balancer.http.messages import Fields, ResponseHead
from balancer.matching.gates.external_auth.answers import UNAVAILABLE, AuthAnswer, AuthAnswers
from balancer.matching.gates.verdicts import Go, Reply, Verdict
from balancer.model.external_auth import ExternalAuth
from tests.unit.balancer.matching.gates.external_auth.asking import asked

URL = "http://auth.test/"
CHALLENGE = (b"www-authenticate", b'Basic realm="a"')
COOKIE = (b"set-cookie", b"alma=armud")


def verdict(answer: AuthAnswer, *, target: bytes = b"/a?b=c&d", sent: Fields = (), **rule: object) -> Verdict:
    return AuthAnswers(ExternalAuth(URL, **rule)).verdict(asked(target, host=b"Shop.test:81", fields=sent), answer)  # type: ignore[arg-type]


def test_only_2xx_passes_and_every_other_status_but_401_and_403_is_an_error() -> None:
    fields = COOKIE, (b"x-user", b"a"), (b"location", b"/")
    said = {status: verdict(AuthAnswer(status, fields, b"body")) for status in range(100, 600)}
    assert [status for status, each in said.items() if isinstance(each, Go)] == [*range(200, 300)]
    assert [status for status, each in said.items() if isinstance(each, Reply)] == [401, 403]
    assert {repr(each) for each in said.values() if not isinstance(each, (Go, Reply))} == {repr(UNAVAILABLE)}


def test_a_refusal_passes_on_with_its_challenge_and_body_alone() -> None:
    fields = (CHALLENGE, CHALLENGE, COOKIE, (b"x-secret", b"1"), (b"content-type", b"text/x"), (b"location", b"/"))
    said = verdict(AuthAnswer(401, fields, b"body"), response_fields=("X-Secret",))
    challenge = (b"WWW-Authenticate", CHALLENGE[1])
    expected = (challenge, challenge, (b"Content-Type", b"text/x"))
    assert said == Reply(401, expected, b"body", ErrorKind.AUTH_DENIED)
    assert verdict(AuthAnswer(403, fields)) == Reply(403, (), None, ErrorKind.AUTH_DENIED)


def test_cookies_come_with_a_refusal_only_where_they_always_come() -> None:
    said = verdict(AuthAnswer(403, (COOKIE,)), always_sets_cookie=True)
    assert said == Reply(403, ((b"Set-Cookie", COOKIE[1]),), None, ErrorKind.AUTH_DENIED)


@pytest.mark.parametrize(
    ("signin", "parameter", "location"),
    [
        ("https://login/s", "rd", b"https://login/s?rd=http://Shop.test:81%2Fa%3Fb%3Dc%26d"),
        ("https://login/s?x=1", "rd", b"https://login/s?x=1&rd=http://Shop.test:81%2Fa%3Fb%3Dc%26d"),
        ("https://login/s?x=1", "to", b"https://login/s?x=1&to=http://Shop.test:81%2Fa%3Fb%3Dc%26d"),
        ("https://login/s?rd=/home", "rd", b"https://login/s?rd=/home"),
        ("https://login/s?rd=", "rd", b"https://login/s?rd=&rd=http://Shop.test:81%2Fa%3Fb%3Dc%26d"),
        ("https://$host/s?rd=$escaped_request_uri", "rd", b"https://shop.test/s?rd=%2Fa%3Fb%3Dc%26d"),
    ],
)
def test_an_unknown_client_goes_to_the_sign_in_page(signin: str, parameter: str, location: bytes) -> None:
    said = verdict(AuthAnswer(401, (CHALLENGE, COOKIE), b"body"), signin=signin, signin_param=parameter)
    assert said == Reply(302, ((b"Location", location), (b"Set-Cookie", COOKIE[1])), None, ErrorKind.AUTH_DENIED)
    assert isinstance(denied := verdict(AuthAnswer(403), signin=signin), Reply)
    assert denied.status == 403


def test_fields_of_the_answer_take_the_place_of_the_clients_whether_they_came_or_not() -> None:
    fields = ((b"x-user", b"al"), (b"x-groups", b"a"), (b"x-groups", b"b"), (b"x-other", b"1"), (b"x-empty", b""))
    names = ("X-User", "x-groups", "X-Missing", "X-Empty")
    assert verdict(AuthAnswer(200, fields), response_fields=names) == Go(
        ((b"X-User", b"al"), (b"x-groups", b"a, b")), frozenset((b"x-user", b"x-groups", b"x-missing", b"x-empty"))
    )


def test_a_client_cannot_spell_a_field_of_the_service_with_an_underscore() -> None:
    said = verdict(AuthAnswer(200), sent=((b"x_user", b"root"), (b"x_other", b"1")), response_fields=("X-User",))
    assert isinstance(said, Go)
    assert said.removed == {b"x-user", b"x_user"}


@pytest.mark.parametrize(
    ("status", "always", "gets"),
    [
        (200, False, True), (201, False, True), (302, False, True), (404, False, False), (404, True, True),
        (503, False, False),
    ],
)  # fmt: skip
def test_cookies_of_the_service_come_with_good_responses(status: int, always: bool, gets: bool) -> None:
    said = verdict(AuthAnswer(200, (COOKIE, (b"set-cookie", b"b=2"))), always_sets_cookie=always)
    assert isinstance(said, Go)
    (editor,) = said.editors
    question = asked()
    given = HeadEdit(frozenset((b"server",)), ((b"A", b"1"),))
    edited = editor.edit(question.request, question.origin, ResponseHead(status, (), 0, b""), given)
    cookies = ((b"Set-Cookie", b"alma=armud"), (b"Set-Cookie", b"b=2"))
    assert (edited.removed, edited.added) == (given.removed, given.added + (cookies if gets else ()))


@pytest.mark.parametrize("byte", [b"\r", b"\n", b"\0", b"\x7f"])
@pytest.mark.parametrize("status", [200, 401])
def test_an_answer_with_a_control_character_is_none(byte: bytes, status: int) -> None:
    assert verdict(AuthAnswer(status, ((b"x-user", b"a" + byte + b"b"),)), response_fields=("X-User",)) == UNAVAILABLE


@given(
    st.integers(100, 599),
    st.lists(st.tuples(st.sampled_from([b"x-user", b"set-cookie", b"www-authenticate", b"content-type"]), st.binary())),
    st.binary(),
)
def test_no_answer_breaks_a_head(status: int, fields: list[tuple[bytes, bytes]], path: bytes) -> None:
    answer = AuthAnswer(status, tuple(fields), b"body")
    said = verdict(answer, target=b"/" + path, response_fields=("X-User",), signin="http://login/$request_uri")
    written = said.added if isinstance(said, Go) else said.fields if isinstance(said, Reply) else ()
    assert all(not {0, 10, 13, 127}.intersection(value) for _, value in written)
    assert isinstance(said, Go) == (200 <= status < 300 and said != UNAVAILABLE)
