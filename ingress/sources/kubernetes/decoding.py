"""Decodes the bytes of lists and watches into records, without the client's generated models.

Knows the shapes of lists, watch events and errors. A bad object harms no other object, and no problem text quotes a
value. Does not know how the bytes arrive, nor what follows from an event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from ingress.objects.converting import ObjectError, decode_item, placed, record_of
from ingress.objects.kinds import CLUSTER_WIDE, Kind, KubernetesObject
from ingress.objects.names import LABEL, SUBDOMAIN

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends a streaming list (KEP-3157)."""

# Fits on one line of a log or a finding.
_MESSAGE_CHARACTERS: Final = 300


class DecodingError(ValueError):
    """A page of a list or a line of a watch is not what the API sends. The text of the error quotes nothing of it."""


class Unreadable(msgspec.Struct, frozen=True):
    """An object that exists but cannot be read. Its names are empty if they cannot be read either."""

    namespace: str
    name: str
    problem: str


class Identity(msgspec.Struct, frozen=True):
    """One version of one object. `version` is its resourceVersion. Fields are empty if they cannot be read."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    version: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name


class Item(msgspec.Struct, frozen=True):
    """An object of a list or an event, readable or not."""

    identity: Identity
    content: KubernetesObject | Unreadable


class Passed(msgspec.Struct, frozen=True):
    """An object that is not wanted: it exists, and nothing but its metadata was decoded."""

    identity: Identity


Keeps = Callable[[Identity], bool]
"""Whether an object is wanted whole. Called when only the metadata is decoded."""


class Page(msgspec.Struct, frozen=True):
    """A page of a list. Its items are still bytes. The last page has no `token`."""

    items: tuple[msgspec.Raw, ...]
    version: str
    token: str


class Changed(msgspec.Struct, frozen=True):
    """ADDED or MODIFIED."""

    item: Item | Passed


class Deleted(msgspec.Struct, frozen=True):
    """DELETED. The version of the identity is that of the deletion."""

    identity: Identity


class Bookmark(msgspec.Struct, frozen=True):
    """Everything up to `version` was sent. `ends_list` marks the end of a streaming list."""

    version: str
    ends_list: bool = False


class Failure(msgspec.Struct, frozen=True):
    """ERROR: the stream is over. `code` is an HTTP status, or 0 if there is none."""

    code: int
    message: str


WatchEvent = Changed | Deleted | Bookmark | Failure


class _ItemMetadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    annotations: dict[str, str | None] | None = None


class _NamedItem(msgspec.Struct, frozen=True):
    metadata: _ItemMetadata = _ItemMetadata()


class _ListMetadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str | None = None
    token: str | None = msgspec.field(default=None, name="continue")


class _List(msgspec.Struct, frozen=True):
    metadata: _ListMetadata
    items: tuple[msgspec.Raw, ...] | None = None


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _StatusObject(msgspec.Struct, frozen=True):
    code: int | None = None
    message: str | None = None


_LIST = msgspec.json.Decoder(_List)
_EVENT = msgspec.json.Decoder(_Event)
_NAMED = msgspec.json.Decoder(_NamedItem)
_STATUS = msgspec.json.Decoder(_StatusObject)
_ANYTHING = msgspec.json.Decoder()
_OBJECTS: Final[Mapping[Kind, msgspec.json.Decoder[KubernetesObject]]] = {
    kind: msgspec.json.Decoder(record_of(kind)) for kind in Kind
}


def decode_page(body: bytes) -> Page:
    """A page of a list. Raises `DecodingError`."""
    try:
        page = _LIST.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise DecodingError("the answer is not a list of objects") from None
    return Page(page.items or (), page.metadata.resource_version or "", page.metadata.token or "")


def decode_wanted(kind: Kind, raw: msgspec.Raw | bytes, keeps: Keeps | None) -> Item | Passed:
    """Decodes an object as `decode_item_of` does if `keeps` wants it whole. Without `keeps` every object is wanted."""
    if keeps is not None and not keeps(identity := _identity(kind, raw)):
        return Passed(identity)
    return decode_item_of(kind, raw)


def decode_item_of(kind: Kind, raw: msgspec.Raw | bytes) -> Item:
    """An item of a list or the object of an event. An object that cannot be read becomes `Unreadable`."""
    try:
        content = placed(_OBJECTS[kind].decode(raw))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ObjectError):
        return _with_care(kind, raw)
    metadata = content.metadata
    return Item(Identity(metadata.namespace, metadata.name, metadata.uid, metadata.resource_version), content)


def decode_event(kind: Kind, line: bytes, keeps: Keeps | None = None) -> WatchEvent | None:
    """A line of a watch; None for unknown types. Raises `DecodingError`."""
    try:
        event = _EVENT.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise DecodingError("a line of the watch is not an event") from None
    match event.type:
        case "ADDED" | "MODIFIED":
            return Changed(decode_wanted(kind, event.object, keeps))
        case "DELETED":
            return Deleted(_identity(kind, event.object))
        case "BOOKMARK":
            return _bookmark(event.object)
        case "ERROR":
            return _failure(event.object)
    return None


def message_of(body: bytes) -> str:
    """The message of a Status as one short line; empty for any other body, such as the HTML page of a proxy."""
    try:
        status = _STATUS.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    return " ".join((status.message or "").split())[:_MESSAGE_CHARACTERS]


def _with_care(kind: Kind, raw: msgspec.Raw | bytes) -> Item:
    # The slower decoder treats null as absent, because Go writes nil lists as null. It can also say what is wrong.
    identity = _identity(kind, raw)
    try:
        document = _ANYTHING.decode(raw)
        if not isinstance(document, Mapping):
            raise ObjectError(f"{kind.value} is malformed: it is not an object")
        return Item(identity, decode_item(kind, document))
    except ObjectError as error:
        problem = str(error)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        problem = f"{kind.value} is malformed: it is not JSON"
    return Item(identity, Unreadable(identity.namespace, identity.name, problem))


def _identity(kind: Kind, raw: msgspec.Raw | bytes) -> Identity:
    metadata = _metadata(raw)
    name = metadata.name or ""
    namespace = "" if kind in CLUSTER_WIDE else metadata.namespace or "default"
    # Invalid names would end up in logs and findings.
    if not SUBDOMAIN.fullmatch(name) or (namespace and not LABEL.fullmatch(namespace)):
        namespace = name = ""
    return Identity(namespace, name, metadata.uid or "", metadata.resource_version or "")


def _metadata(raw: msgspec.Raw | bytes) -> _ItemMetadata:
    try:
        return _NAMED.decode(raw).metadata
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _metadata_with_care(raw)


def _metadata_with_care(raw: msgspec.Raw | bytes) -> _ItemMetadata:
    # One bad label must not hide the name.
    try:
        document = _ANYTHING.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _ItemMetadata()
    fields = document.get("metadata") if isinstance(document, Mapping) else None
    if not isinstance(fields, Mapping):
        return _ItemMetadata()
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    return _ItemMetadata(texts.get("name"), texts.get("namespace"), texts.get("uid"), texts.get("resourceVersion"))


def _bookmark(raw: msgspec.Raw) -> Bookmark:
    metadata = _metadata(raw)
    ends_list = (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true"
    return Bookmark(metadata.resource_version or "", ends_list)


def _failure(raw: msgspec.Raw) -> Failure:
    try:
        code = _STATUS.decode(raw).code
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        code = None
    return Failure(code or 0, message_of(bytes(raw)))
