"""What holds secrets is marked, whatever is added to the model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_type_hints

import msgspec

from balancer.model.certificates import Authority, Certificate, ClientCertificate
from balancer.model.endpoints import Backend, EndpointTls
from balancer.model.handshakes import Handshake
from balancer.model.publication import RoutingModel
from balancer.model.routes import Canary, Route
from balancer.model.secrecy import SECRET, is_secret, shown_fields

# Names of fields whose values are secrets, whatever their type.
SOUNDS_SECRET = re.compile(r"pem|private|password|passwd|token|credential|htpasswd|users")


def types_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type):
        yield hint
    for each in get_args(hint):
        yield from types_in(each)


def structs_below(kind: type[msgspec.Struct], known: set[type[msgspec.Struct]]) -> set[type[msgspec.Struct]]:
    """`kind` and every struct that its fields may hold."""
    known.add(kind)
    for hint in get_type_hints(kind, include_extras=True).values():
        for each in types_in(hint):
            if issubclass(each, msgspec.Struct) and each not in known:
                structs_below(each, known)
    return known


def unmarked(kind: type[msgspec.Struct]) -> list[str]:
    """The fields of `kind` that look as if they held a secret and do not say so."""
    hints = get_type_hints(kind, include_extras=True)
    return [
        name
        for name in kind.__struct_fields__
        if (SOUNDS_SECRET.search(name) or bytes in types_in(hints[name])) and not is_secret(hints[name])
    ]


MODEL_STRUCTS = sorted(structs_below(RoutingModel, set()) | {Handshake}, key=lambda kind: kind.__name__)


def test_the_structs_of_the_model_are_found() -> None:
    assert {RoutingModel, Route, Canary, Backend, EndpointTls, Certificate, Authority, ClientCertificate} <= set(
        MODEL_STRUCTS
    )


def test_whatever_looks_like_a_secret_is_marked() -> None:
    assert MODEL_STRUCTS
    assert {kind.__name__: fields for kind in MODEL_STRUCTS if (fields := unmarked(kind))} == {}


class Careless(msgspec.Struct, frozen=True):
    blob: bytes = b""
    blobs: tuple[bytes | None, ...] = ()
    api_token: str = ""
    marked: Annotated[bytes | None, SECRET] = None
    name: str = ""


def test_a_field_that_looks_like_a_secret_and_is_not_marked_is_found() -> None:
    assert unmarked(Careless) == ["blob", "blobs", "api_token"]


def test_every_field_is_shown_but_the_marked_ones() -> None:
    assert shown_fields(Careless) == ("blob", "blobs", "api_token", "name")
    assert shown_fields(Certificate) == ("key", "expires_at_epoch_seconds")


def test_a_mark_changes_nothing_on_the_way_to_a_worker() -> None:
    sent = Certificate("shop/tls", b"chain", b"key", 1.0)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=Certificate) == sent
