"""Requests and responses as hooks see them: values that cannot change, and edits that are recorded."""

from __future__ import annotations

from typing import Final, NamedTuple

from zonal_hooks.answers import FIELDS_MOST
from zonal_hooks.headers import Field, Headers, checked_name, checked_value

EDITED_BYTES_MOST: Final = 16 * 1024
"""How many bytes of names and values a hook may write to one message."""

AFFINITY_KEY_CHARACTERS_MOST: Final = 256
ZONE_POLICIES: Final = ("off", "prefer-zone")
"""The zone policies that a hook may choose for a request."""

_OVER = "the hook has answered: its edits are over"

Edit = tuple[str, bytes, bytes]
"""`set`, `add` or `remove`, the name as it is written, and the value, which is empty for `remove`."""


class Edits(NamedTuple):
    """What a hook changes about a head: names in lower case that end there, and then fields that are added."""

    removed: frozenset[bytes] = frozenset()
    added: tuple[Field, ...] = ()


class Choice(NamedTuple):
    """What a `pick` hook says about the endpoint: a zone policy, whether or which canary, and the key of a hash.

    None leaves each as it is. `canary` is a Service; True is the first canary of the route, False the main backend.
    """

    zone_policy: str | None = None
    canary: bool | str | None = None
    affinity_key: str | None = None


NO_CHOICE: Final = Choice()


class Message:
    """What requests and responses have in common. Edits are recorded, and count when the hook returns."""

    __slots__ = ("_bytes", "_edits", "_fields")

    def __init__(self, fields: tuple[Field, ...]) -> None:
        self._fields = fields
        self._edits: list[Edit] | None = []
        self._bytes = 0

    @property
    def headers(self) -> Headers:
        """The fields as they came, without edits."""
        return Headers(self._fields)

    @property
    def raw(self) -> tuple[Field, ...]:
        """The fields as they came, as bytes."""
        return self._fields

    def set_header(self, name: str, value: str) -> None:
        """Gives a field this value, in place of all others that it has.

        Raises ValueError for what cannot stand in a field, and for names that frame a message.
        """
        self._record("set", checked_name(name), checked_value(value))

    def add_header(self, name: str, value: str) -> None:
        """Adds a field beside others of its name. Raises as `set_header` does."""
        self._record("add", checked_name(name), checked_value(value))

    def remove_header(self, name: str) -> None:
        """Takes every field of a name away. Raises as `set_header` does."""
        self._record("remove", checked_name(name), b"")

    def _record(self, what: str, name: bytes, value: bytes) -> None:
        edits = self._edits
        if edits is None:
            raise RuntimeError(_OVER)
        written = self._bytes + len(name) + len(value)
        if len(edits) >= FIELDS_MOST or written > EDITED_BYTES_MOST:
            raise ValueError(f"a hook writes at most {FIELDS_MOST} fields and {EDITED_BYTES_MOST} bytes to a message")
        self._bytes = written
        edits.append((what, name, value))

    def end(self) -> list[Edit]:
        """Takes the edits. The message records no more."""
        edits, self._edits = self._edits, None
        return edits or []


class Request(Message):
    """A request between the match of its route and the choice of an endpoint.

    `client` is the address of the client as the proxy believes it, `route` the object whose rules hold
    (`namespace/name`). `body` is None unless a hook of the route asks for bodies; then a request without one has `b""`.
    """

    __slots__ = ("_authority", "_choice", "_id", "_method", "_path", "_target", "body", "client", "is_tls", "route")

    def __init__(  # noqa: PLR0917 -- by position, because names cost every request
        self,
        method: bytes,
        authority: bytes,
        path: bytes,
        target: bytes,
        fields: tuple[Field, ...],
        client: str = "",
        is_tls: bool = False,
        id: bytes = b"",
        route: str = "",
        body: bytes | None = None,
    ) -> None:
        """`authority` is the Host, `path` normalised, and `target` what goes on to the endpoint."""
        self._fields = fields
        self._edits = []
        self._bytes = 0
        self._method = method
        self._authority = authority
        self._path = path
        self._target = target
        self._id = id
        self._choice: Choice | None = None
        self.client = client
        self.is_tls = is_tls
        self.route = route
        self.body = body

    @property
    def parts(self) -> tuple[bytes, bytes, bytes, bytes, tuple[Field, ...], str, bool, bytes, str, bytes | None]:
        """What a request is made of, in the order of the arguments."""
        head = (self._method, self._authority, self._path, self._target, self._fields)
        return (*head, self.client, self.is_tls, self._id, self.route, self.body)

    @property
    def method(self) -> str:
        return self._method.decode("latin-1")

    @property
    def scheme(self) -> str:
        """`https` or `http`, as the client spoke."""
        return "https" if self.is_tls else "http"

    @property
    def host(self) -> str:
        """The Host in lower case, without port."""
        name = self._authority.decode("latin-1").lower()
        return name[: name.index("]") + 1] if name.startswith("[") and "]" in name else name.partition(":")[0]

    @property
    def path(self) -> str:
        """The path as routes match it: percent-encoding that needs none is decoded, and dots are resolved."""
        return self._path.decode("latin-1")

    @property
    def target(self) -> str:
        """Path and query as they go on to the endpoint."""
        return self._target.decode("latin-1")

    @property
    def query(self) -> str:
        """What follows the `?`; empty if nothing does."""
        return self._target.partition(b"?")[2].decode("latin-1")

    @property
    def id(self) -> str:
        """The request id of the client, or that which the proxy made."""
        return self._id.decode("latin-1")

    def set_zone_policy(self, name: str) -> None:
        """Chooses how zones count for this request: one of `ZONE_POLICIES`. For `pick` hooks."""
        if name not in ZONE_POLICIES:
            raise ValueError(f"a zone policy is one of {', '.join(ZONE_POLICIES)}")
        self._choice = self._chosen()._replace(zone_policy=name)

    def set_canary(self, canary: bool | str) -> None:
        """Chooses the first canary of the route (True), its main backend (False), or the canary with this Service.

        For `pick` hooks. A canary that the route does not have, or without endpoints, leaves the request where it is.
        """
        if not isinstance(canary, (bool, str)):
            raise TypeError("set_canary takes True, False or the name of a Service")
        self._choice = self._chosen()._replace(canary=canary)

    def set_affinity_key(self, key: str) -> None:
        """Requests with one key go to one endpoint, as with `upstream-hash-by`. For `pick` hooks."""
        if type(key) is not str or not 0 < len(key) <= AFFINITY_KEY_CHARACTERS_MOST:
            raise ValueError(f"an affinity key has 1 to {AFFINITY_KEY_CHARACTERS_MOST} characters")
        self._choice = self._chosen()._replace(affinity_key=key)

    def allow_choice(self) -> None:
        """The hook that runs now is a `pick` hook."""
        self._choice = NO_CHOICE

    def take_choice(self) -> Choice:
        """Takes what a `pick` hook has chosen."""
        choice, self._choice = self._choice, None
        return choice or NO_CHOICE

    def _chosen(self) -> Choice:
        if self._edits is None:
            raise RuntimeError(_OVER)
        if self._choice is None:
            raise RuntimeError("only a `pick` hook chooses an endpoint")
        return self._choice


class Response(Message):
    """The head of a response on its way to the client. `request` is the request that it answers, for reading only."""

    __slots__ = ("request", "status")

    def __init__(self, status: int, fields: tuple[Field, ...], request: Request) -> None:
        super().__init__(fields)
        self.status = status
        self.request = request


def folded(edits: list[Edit]) -> Edits:
    """What `edits` amount to when they are done in their order."""
    if len(edits) == 1:  # as nearly always
        what, name, value = edits[0]
        if what == "set":
            return Edits(frozenset((name.lower(),)), ((name, value),))
        gone = frozenset[bytes]() if what == "add" else frozenset((name.lower(),))
        return Edits(gone, () if what == "remove" else ((name, value),))
    removed: set[bytes] = set()
    added: list[Field] = []
    for what, name, value in edits:
        if what != "add":
            lower = name.lower()
            removed.add(lower)
            if added:
                added = [field for field in added if field[0].lower() != lower]
        if what != "remove":
            added.append((name, value))
    return Edits(frozenset(removed), tuple(added))
