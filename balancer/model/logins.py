"""Users and the stored forms of their passwords in the model, keyed by the Secret that holds them."""

from __future__ import annotations

from typing import Annotated

import msgspec

from balancer.model.secrecy import SECRET


class Logins(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The users of one Secret, in its order, each with the stored form of the password.

    Texts hold the bytes of the Secret as Latin-1. `key` is `namespace/name` of the Secret and how it was read, because
    a Secret may be read in two ways.
    """

    key: str
    hashes: Annotated[tuple[tuple[str, str], ...], SECRET]

    def __repr__(self) -> str:
        return f"Logins(key={self.key!r})"
