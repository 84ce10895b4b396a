"""A publication survives the way to a worker whole; anything else is refused with one error."""

from __future__ import annotations

from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balancer import model
from balancer.codec import CodecError, decode, encode
from balancer.model import Publication
from tests import builders as build

NUMBERS = {int: st.integers(0, 2**40), float: st.floats(0, 1e9)}


def register(struct: type[msgspec.Struct]) -> None:
    """Every field from its type, so a field that is added later is covered, too."""
    fields = {name: values_of(hint) for name, hint in get_type_hints(struct).items()}
    st.register_type_strategy(struct, st.builds(struct, **fields))


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Tuples stay short: what is in them is what is tested, and models nest deeply."""
    inner = get_args(hint)
    if get_origin(hint) is tuple and Ellipsis in inner:
        return st.lists(st.deferred(lambda: values_of(inner[0])), max_size=2).map(tuple)
    if get_origin(hint) is tuple:
        return st.tuples(*map(values_of, inner))
    if get_origin(hint) is UnionType:
        return st.one_of(*map(values_of, inner))
    return NUMBERS[hint] if hint in NUMBERS else st.from_type(hint)


for value_type in vars(model).values():
    if isinstance(value_type, type) and issubclass(value_type, msgspec.Struct):
        register(value_type)

PUBLICATION = build.publication(7, build.model(build.backend(of=build.endpoints("ab"))))


@settings(max_examples=40)
@given(st.from_type(Publication))
def test_what_was_encoded_decodes_to_an_equal_publication(publication: Publication) -> None:
    assert decode(encode(publication)) == publication


def test_bytes_of_another_version_are_refused() -> None:
    with pytest.raises(CodecError, match="version"):
        decode(encode(PUBLICATION).replace(b"zonal", b"other", 1))


def test_bytes_of_no_publication_are_refused() -> None:
    prefix = encode(PUBLICATION).partition(b"\n")[0] + b"\n"
    with pytest.raises(CodecError):
        decode(prefix + msgspec.msgpack.encode({"generation": "seven"}))


HEAD = b"\x82\xaageneration\x01\xa5model\x81"


@pytest.mark.parametrize(
    "field",
    [
        b"\xb3default_certificate\xa2\xff\xff",
        b"\xa7unknown" + b"\x91" * 100_000 + b"\x01",
        b"\xa5hosts\xdd\xff\xff\xff\xff",
    ],
    ids=["text that is not UTF-8", "a field nested without end", "a list of four billion"],
)
def test_bytes_that_break_off_decoding_are_refused_as_all_garbage_is(field: bytes) -> None:
    prefix = encode(PUBLICATION).partition(b"\n")[0] + b"\n"
    with pytest.raises(CodecError):
        decode(prefix + HEAD + field)


@given(st.integers(0, len(encode(PUBLICATION)) - 1), st.integers(0, 255))
def test_a_byte_gone_wrong_gives_a_publication_or_the_one_error(place: int, octet: int) -> None:
    data = bytearray(encode(PUBLICATION))
    data[place] = octet
    try:
        assert isinstance(decode(bytes(data)), Publication)
    except CodecError as error:
        assert str(error)


@given(st.integers(0, len(encode(PUBLICATION)) - 1))
def test_a_publication_cut_short_is_refused(length: int) -> None:
    with pytest.raises(CodecError):
        decode(encode(PUBLICATION)[:length])


@given(st.binary(max_size=64), st.booleans())
def test_garbage_is_refused_and_raises_nothing_else(garbage: bytes, with_prefix: bool) -> None:
    prefix = encode(PUBLICATION).partition(b"\n")[0] + b"\n"
    with pytest.raises(CodecError):
        decode(prefix + garbage if with_prefix else garbage)
