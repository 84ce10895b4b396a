"""Requests and responses as hooks see them: values that cannot change, and edits that are recorded."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from zonal_hooks.answers import FIELDS_MOST
from zonal_hooks.headers import Field, Headers, WrittenName, checked_value, written_name

EDITED_BYTES_MOST: Final = 16 * 1024
"""How many bytes of names and values a hook may write to one message."""

AFFINITY_KEY_CHARACTERS_MOST: Final = 256
ZONE_POLICIES: Final = ("off", "prefer-zone")
"""The zone policies that a hook may choose for a request."""

_OVER = "the hook has answered: its edits are over"

Edit = tuple[str, WrittenName, bytes]
"""`set`, `add` or `remove`, the name, and the value, which is empty for `remove`."""


class Edits(msgspec.Struct, frozen=True, array_like=True):
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


class Editable(msgspec.Struct, kw_only=True, eq=False):
    """Records edits of a head. They count when the hook returns.

    Messages are Structs because one is made for each call: that takes half of the time of a class.
    """

    _edits: list[Edit] | None = msgspec.field(default_factory=list)
    _bytes: int = 0

    def set_header(self, name: str, value: str) -> None:
        """Gives a field this value, in place of all others that it has.

        Raises ValueError for what cannot stand in a field, and for names that frame a message.
        """
        edits, written, kept = self._edits, written_name(name), checked_value(value)
        if edits or edits is None:
            return self._record("set", written, kept)
        self._bytes = len(written.written) + len(kept)  # the first edit has room
        edits.append(("set", written, kept))

    def add_header(self, name: str, value: str) -> None:
        """Adds a field beside others of its name. Raises as `set_header` does."""
        self._record("add", written_name(name), checked_value(value))

    def remove_header(self, name: str) -> None:
        """Takes every field of a name away. Raises as `set_header` does."""
        self._record("remove", written_name(name), b"")

    def _record(self, what: str, name: WrittenName, value: bytes) -> None:
        edits = self._edits
        if edits is None:
            raise RuntimeError(_OVER)
        written = self._bytes + len(name.written) + len(value)
        if len(edits) >= FIELDS_MOST or written > EDITED_BYTES_MOST:
            raise ValueError(f"a hook writes at most {FIELDS_MOST} fields and {EDITED_BYTES_MOST} bytes to a message")
        self._bytes = written
        edits.append((what, name, value))

    def end(self) -> None:
        """The message records no more."""
        self._edits = None


class Message(Editable, eq=False):
    """What requests and responses have in common."""

    _fields: tuple[Field, ...]

    @property
    def headers(self) -> Headers:
        """The fields as they came, without edits."""
        return Headers(self._fields)

    @property
    def raw(self) -> tuple[Field, ...]:
        """The fields as they came, as bytes."""
        return self._fields

    def take(self) -> tuple[list[Edit] | None, Choice]:
        """Ends the edits, and takes them with what a `pick` hook has chosen: nothing, unless this is a request."""
        edits, self._edits = self._edits, None
        return edits, NO_CHOICE


class Request(Message, eq=False):
    """A request between the match of its route and the choice of an endpoint.

    `client` is the address of the client as the proxy believes it, `route` the object whose rules hold
    (`namespace/name`). `body` is None unless a hook of the route asks for bodies; then a request without one has `b""`.

    It is made of its fields, the method, the Host as `_authority`, the normalised `_path`, and so on. `_target` is what
    goes on to the endpoint.
    """

    _method: bytes
    _authority: bytes
    _path: bytes
    _target: bytes
    client: str = ""
    is_tls: bool = False
    _id: bytes = b""
    route: str = ""
    body: bytes | None = None
    _choice: Choice | None = None

    @property
    def parts(self) -> tuple[tuple[Field, ...], bytes, bytes, bytes, bytes, str, bool, bytes, str, bytes | None]:
        """What a request is made of, in the order of the arguments, without a choice."""
        head = (self._fields, self._method, self._authority, self._path, self._target)
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

    def take(self) -> tuple[list[Edit] | None, Choice]:
        edits, choice, self._edits = self._edits, self._choice, None
        if choice is None:  # as nearly always
            return edits, NO_CHOICE
        self._choice = None
        return edits, choice

    def _chosen(self) -> Choice:
        if self._edits is None:
            raise RuntimeError(_OVER)
        if self._choice is None:
            raise RuntimeError("only a `pick` hook chooses an endpoint")
        return self._choice


class Response(Message, eq=False):
    """The head of a response on its way to the client. `request` is the request that it answers, for reading only."""

    status: int
    request: Request


def folded(edits: list[Edit]) -> Edits:
    """What `edits` amount to when they are done in their order."""
    if len(edits) == 1:  # as nearly always
        what, name, value = edits[0]
        if what == "set":
            return Edits(name.removes, ((name.written, value),))
        gone = frozenset[bytes]() if what == "add" else name.removes
        return Edits(gone, () if what == "remove" else ((name.written, value),))
    removed: set[bytes] = set()
    added: list[Field] = []
    for what, name, value in edits:
        if what != "add":
            removed |= name.removes
            if added:
                added = [field for field in added if field[0].lower() not in name.removes]
        if what != "remove":
            added.append((name.written, value))
    return Edits(frozenset(removed), tuple(added))
