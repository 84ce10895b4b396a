"""Basic authentication: which credentials are read, and what they are answered."""

from __future__ import annotations

from base64 import b64encode

import pytest

from balancer.errors import ErrorKind
from balancer.http.messages import Fields
from balancer.http.origin import Origin
from balancer.matching.basic_credentials import UserPassword
from balancer.matching.gates.basic_auth import BasicAuthGate, SignIn, credentials
from balancer.matching.gates.verdicts import Asked, Deny, Go, Reply, Verdict, Waiting
from balancer.matching.logins import LoginTables
from balancer.matching.password_checks import CheckLimits, PasswordChecks, Told
from balancer.model.entry_points import HTTP
from balancer.model.gates import BasicAuth
from balancer.model.logins import Logins
from balancer.model.publication import RoutingModel
from tests.questions import question_of

CHALLENGE = Reply(401, ((b"WWW-Authenticate", b'Basic realm="the shop"'),), kind=ErrorKind.UNAUTHORIZED)
LETS_IN = Go((), frozenset({b"authorization"}))


class NoAlarm:
    def cancel(self) -> None:
        pass


class Desk:
    """A gate with its users; the test says when a check ends."""

    def __init__(self, *users: tuple[str, str], limits: CheckLimits = CheckLimits(), key: str = "shop/pw") -> None:  # noqa: B008
        tables = LoginTables(b"s" * 32)
        tables.update(RoutingModel(logins=(Logins("shop/pw", users),)))
        self.running: list[tuple[str, bytes, Told]] = []
        checks = PasswordChecks(
            key=b"k", run=lambda *job: self.running.append(job), later=lambda *_: NoAlarm(), limits=limits
        )
        self.gate = BasicAuthGate(BasicAuth(key, "the shop"), SignIn(tables, checks))
        self.resumed: list[Verdict] = []

    def judge(self, *credentials: str) -> Verdict | Waiting:
        fields = [f"Authorization: {each}" for each in credentials]
        request = question_of("http://shop.test/", fields).request
        return self.gate.judge(
            Asked(request, Origin(peer="192.0.2.1", entry_point=HTTP), secure=False), self.resumed.append
        )

    def finish(self, is_right: bool | None) -> Verdict:
        self.running.pop(0)[2](is_right)
        return self.resumed.pop()


def basic(text: bytes) -> str:
    return f"Basic {b64encode(text).decode()}"


def test_without_credentials_the_client_is_asked() -> None:
    assert Desk(("alice", "{PLAIN}bar")).judge() == CHALLENGE


def test_the_right_password_passes_and_the_endpoint_does_not_get_it() -> None:
    desk = Desk(("alice", "{PLAIN}bar"))
    assert not isinstance(desk.judge(basic(b"alice:bar")), Go | Deny | Reply)
    assert desk.running[0][:2] == ("{PLAIN}bar", b"bar")
    assert desk.finish(True) == LETS_IN
    assert desk.judge(basic(b"alice:bar")) == LETS_IN, "at once, because the verdict is remembered"


def test_a_wrong_password_is_answered_as_none() -> None:
    desk = Desk(("alice", "{PLAIN}bar"))
    desk.judge(basic(b"alice:wrong"))
    assert desk.finish(False) == CHALLENGE
    assert desk.judge(basic(b"alice:wrong")) == CHALLENGE


def test_an_unknown_user_is_checked_like_a_known_one_and_never_passes() -> None:
    desk = Desk(("alice", "{PLAIN}bar"))
    desk.judge(basic(b"mallory:bar"))
    assert desk.finish(True) == CHALLENGE
    assert desk.judge(basic(b"mallory:bar")) == CHALLENGE
    assert desk.judge(basic(b"alice:bar")) == LETS_IN


def test_without_any_user_nothing_is_checked() -> None:
    assert Desk().judge(basic(b"alice:bar")) == CHALLENGE
    assert Desk(("alice", "")).judge(basic(b"alice:bar")) == CHALLENGE


def test_users_that_the_model_lacks_close_the_path() -> None:
    assert Desk(("alice", "{PLAIN}bar"), key="shop/gone").judge(basic(b"alice:bar")) == Deny(ErrorKind.PATH_CLOSED)


def test_over_the_bound_the_answer_is_503() -> None:
    desk = Desk(("alice", "{PLAIN}bar"), limits=CheckLimits(waiting_for_asker=1))
    desk.judge(basic(b"alice:one"))
    assert desk.judge(basic(b"alice:two")) == Deny(ErrorKind.OVERLOADED)
    assert desk.finish(None) == Deny(ErrorKind.OVERLOADED), "and so it is after too long a wait"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"Basic Zm9vOmJhcg==", UserPassword(b"foo", b"bar")),
        (b"basic  Zm9vOmJhcg", UserPassword(b"foo", b"bar")),
        (b"BASIC Zm9vOmJhOnI=", UserPassword(b"foo", b"ba:r")),
        (b"Basic w6k6w6k=", UserPassword("é".encode(), "é".encode())),
        (b"Basic Zm9vOg==", None),
        (b"Basic OmJhcg==", None),
        (b"Basic Zm9v", None),
        (b"Basic", None),
        (b"Basic ", None),
        (b"BasicZm9vOmJhcg==", None),
        (b"Basic Zm9v OmJhcg==", None),
        (b"Basic Zm9vOmJhcg==, Basic Zm9vOmJhcg==", None),
        (b"Basic !!!!", None),
        (b"Basic \xff\xfe", None),
        (b"Bearer Zm9vOmJhcg==", None),
    ],
)
def test_credentials_are_read_as_nginx_reads_them(value: bytes, expected: UserPassword | None) -> None:
    assert credentials(((b"authorization", value),)) == expected


def test_two_fields_are_none() -> None:
    field: Fields = ((b"authorization", b"Basic Zm9vOmJhcg=="),)
    assert credentials(field * 2) is None
    assert credentials(()) is None
