"""The end of a path says which type an answer has, as in nginx's mime.types."""

from __future__ import annotations

import pytest

from balancer.matching.gates.answer_types import media_type_of


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (b"/robots.txt", b"text/plain"),
        (b"/a.JSON", b"application/json"),
        (b"/a.b/c", b"text/html"),
        (b"/", b"text/html"),
        (b"/a.unknown", b"text/html"),
        (b"/a.tar.js", b"application/javascript"),
    ],
)
def test_types(path: bytes, expected: bytes) -> None:
    assert media_type_of(path) == expected
