"""Users and decoys: who is known, and that strangers get a check of the same cost."""

from __future__ import annotations

import msgspec

from balancer.matching.logins import LoginTable, LoginTables
from balancer.model.logins import Logins
from balancer.model.publication import RoutingModel

FIRST, SECOND = "{PLAIN}one", "{PLAIN}two"
SALT = b"s" * 32


def table(*users: tuple[str, str]) -> LoginTable:
    return LoginTable(Logins("shop/pw:auth-file", users), SALT)


def test_a_known_user_has_the_first_entry() -> None:
    assert table(("alice", FIRST), ("alice", SECOND)).find(b"alice") == (FIRST, True)


def test_names_are_compared_as_bytes() -> None:
    users = table(("é".encode().decode("latin-1"), FIRST))
    assert users.find("é".encode()) == (FIRST, True)
    assert not users.find(b"\xe9")[1]


def test_an_unknown_user_gets_a_decoy_that_stays_the_same() -> None:
    users = table(("alice", FIRST), ("bob", SECOND))
    stored, counts = users.find(b"mallory")
    assert stored in (FIRST, SECOND)
    assert not counts
    assert users.find(b"mallory") == (stored, False)
    assert {users.find(b"user%d" % number)[0] for number in range(64)} == {FIRST, SECOND}


def test_a_user_whose_password_cannot_be_checked_gets_a_decoy() -> None:
    assert table(("alice", ""), ("bob", SECOND)).find(b"alice") == (SECOND, False)
    assert table(("alice", "$y$unknown")).find(b"alice") == ("", False)


def test_tables_follow_the_model() -> None:
    tables = LoginTables(SALT)
    assert tables.table("shop/pw:auth-file") is None
    model = RoutingModel(logins=(Logins("shop/pw:auth-file", (("alice", FIRST),)),))
    tables.update(model)
    made = tables.table("shop/pw:auth-file")
    assert made is not None
    tables.update(msgspec.structs.replace(model, route_configurations=()))
    assert tables.table("shop/pw:auth-file") is made
    tables.update(RoutingModel(logins=(Logins("shop/pw:auth-file", (("alice", SECOND),)),)))
    changed = tables.table("shop/pw:auth-file")
    assert changed is not None
    assert changed.find(b"alice") == (SECOND, True)
    tables.update(RoutingModel())
    assert tables.table("shop/pw:auth-file") is None
