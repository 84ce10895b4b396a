"""Asks the clients of a route for a user and a password (RFC 7617). Decides only; passwords are checked elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from balancer.errors import ErrorKind
from balancer.http.messages import Fields
from balancer.matching.basic_credentials import UserPassword, basic_credentials
from balancer.matching.gates.verdicts import About, Asked, Deny, Go, Reply, Resume, Verdict, Waiting
from balancer.matching.logins import LoginTables
from balancer.matching.password_checks import PasswordChecks
from balancer.model.gates import BasicAuth, withheld_by


class SignIn(NamedTuple):
    """What the gates of a worker sign users in with."""

    tables: LoginTables
    checks: PasswordChecks


class BasicAuthGate:
    """The gate of one route. The endpoint never gets the password (as in ingress-nginx)."""

    __slots__ = ("_challenge", "_go", "_key", "_sign_in")

    def __init__(self, rule: BasicAuth, sign_in: SignIn) -> None:
        self._key = rule.logins
        self._sign_in = sign_in
        challenge = b'Basic realm="%b"' % rule.realm.encode("ascii", "replace")
        self._challenge = Reply(401, ((b"WWW-Authenticate", challenge),), kind=ErrorKind.UNAUTHORIZED)
        self._go = Go((), frozenset(name.encode() for name in withheld_by(rule)))

    def describe(self) -> About:
        """Whose users may sign in."""
        return about_users(self._key)

    def judge(self, asked: Asked, resume: Resume) -> Verdict | Waiting:
        """401 for credentials that are missing or wrong; 503 if too many passwords are being checked.

        A route whose users the model lacks is closed.
        """
        table = self._sign_in.tables.table(self._key)
        if table is None:
            return Deny(ErrorKind.PATH_CLOSED)
        given = credentials(asked.request.fields)
        if given is None:
            return self._challenge
        stored, counts = table.find(given.user)
        if not stored:
            return self._challenge
        found = self._sign_in.checks.check(
            stored, given.password, asker=self, secret=self._key, told=self._teller(counts, resume)
        )
        if found is None:
            return Deny(ErrorKind.OVERLOADED)
        return self._verdict(found and counts) if isinstance(found, bool) else found

    def _teller(self, counts: bool, resume: Resume) -> Callable[[bool | None], None]:
        def told(is_right: bool | None) -> None:
            resume(Deny(ErrorKind.OVERLOADED) if is_right is None else self._verdict(is_right and counts))

        return told

    def _verdict(self, may_pass: bool) -> Verdict:
        return self._go if may_pass else self._challenge


def about_users(logins: str) -> About:
    """What is said of a gate for the users under a key of `Logins`."""
    return About((f"Clients sign in with a user of Secret {logins.partition(':')[0]}; others get 401.",))


def credentials(fields: Fields) -> UserPassword | None:
    """What a client signs in with; None without, and without a password, as in nginx."""
    given = basic_credentials(fields)
    return given if given is not None and given.password else None
