"""Coded bodies: what went in comes out, at once where the client must be able to read each piece."""

from __future__ import annotations

import gzip
import os

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.filters import BROTLI_LEVEL_MOST, BodyFilter, BrotliFilter, GzipFilter

pieces_of_bodies = st.lists(st.binary(max_size=300), max_size=20)


def passed(body: BodyFilter, pieces: list[bytes]) -> bytes:
    return b"".join([*map(body.feed, pieces), body.end()])


@given(pieces_of_bodies, st.integers(1, 9), st.booleans())
def test_a_body_comes_out_of_gzip_as_it_went_in(pieces: list[bytes], level: int, flushes: bool) -> None:
    assert gzip.decompress(passed(GzipFilter(level, flushes=flushes), pieces)) == b"".join(pieces)


@given(pieces_of_bodies, st.integers(0, 11), st.booleans())
def test_a_body_comes_out_of_brotli_as_it_went_in(pieces: list[bytes], level: int, flushes: bool) -> None:
    assert brotli.decompress(passed(BrotliFilter(level, flushes=flushes), pieces)) == b"".join(pieces)


def test_a_flushed_piece_of_brotli_can_be_read_at_once() -> None:
    body, reader = BrotliFilter(4, flushes=True), brotli.Decompressor()
    assert reader.process(body.feed(b"data: 1\n\n")) == b"data: 1\n\n"
    assert reader.process(body.feed(b"data: 2\n\n")) == b"data: 2\n\n"


@pytest.mark.parametrize("make", [GzipFilter, BrotliFilter])
def test_bytes_that_cannot_be_compressed_grow_by_little(make: type[GzipFilter] | type[BrotliFilter]) -> None:
    noise = os.urandom(64 * 1024)
    assert len(passed(make(BROTLI_LEVEL_MOST, flushes=False), [noise])) < len(noise) + 256
