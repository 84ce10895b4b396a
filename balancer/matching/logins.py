"""Who may sign in to a path: users with the stored forms of their passwords, as the model holds them. No I/O."""

from __future__ import annotations

from hashlib import blake2b

from balancer.matching.stored_hashes import scheme_of
from balancer.model.logins import Logins
from balancer.model.publication import RoutingModel


class LoginTable:
    """The users of one Secret. The first of several entries of a user counts, as in nginx."""

    __slots__ = ("_by_user", "_decoys", "_salt")

    def __init__(self, logins: Logins, salt: bytes) -> None:
        """`salt` is a secret of this process, at most 64 bytes."""
        self._salt = salt
        self._by_user: dict[bytes, str] = {}
        for user, stored in logins.hashes:
            self._by_user.setdefault(user.encode("latin-1"), stored if scheme_of(stored) is not None else "")
        self._decoys = tuple(stored for stored in self._by_user.values() if stored)

    def find(self, user: bytes) -> tuple[str, bool]:
        """The stored form to check a password of `user` against, and whether the result counts.

        For an unknown user this is a decoy, always the same one, so that unknown users take as long as known ones. The
        text is empty if no user can sign in.
        """
        if stored := self._by_user.get(user):
            return stored, True
        if not self._decoys:
            return "", False
        number = int.from_bytes(blake2b(user, key=self._salt, digest_size=8).digest(), "big")
        return self._decoys[number % len(self._decoys)], False


class LoginTables:
    """The login tables of the newest model, by key. A table is made when the first request needs it."""

    __slots__ = ("_logins", "_made", "_salt")

    def __init__(self, salt: bytes) -> None:
        self._salt = salt
        self._logins: dict[str, Logins] = {}
        self._made: dict[str, tuple[Logins, LoginTable]] = {}

    def update(self, model: RoutingModel) -> None:
        """Uses the logins of `model` from now on. Tables of unchanged Secrets stay."""
        self._logins = {logins.key: logins for logins in model.logins}
        self._made = {key: made for key, made in self._made.items() if self._logins.get(key) == made[0]}

    def table(self, key: str) -> LoginTable | None:
        """The table of a key; None if the model does not hold it."""
        if (made := self._made.get(key)) is not None:
            return made[1]
        if (logins := self._logins.get(key)) is None:
            return None
        table = LoginTable(logins, self._salt)
        self._made[key] = logins, table
        return table
