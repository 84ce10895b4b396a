"""What is stored of passwords is never shown."""

from __future__ import annotations

from balancer.model.logins import Logins
from balancer.model.secrecy import shown_fields


def test_stored_passwords_are_shown_nowhere() -> None:
    logins = Logins("shop/pw:auth-file", (("alice", "$apr1$salt$secret"),))
    assert repr(logins) == "Logins(key='shop/pw:auth-file')"
    assert shown_fields(Logins) == ("key",)
