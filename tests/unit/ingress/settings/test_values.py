"""The grammar of each form of value."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import LoadBalancing
from ingress.settings.values import (
    InvalidValue,
    blank_or_boolean,
    boolean,
    duration,
    duration_or_none,
    go_boolean,
    header_buffers,
    integer,
    load_balancing,
    path_prefixes,
    percent,
    protocols,
    retry_words,
    seconds,
    size,
)

PARSERS: list[Callable[[str], object]] = [
    boolean,
    go_boolean,
    integer(0),
    percent,
    seconds(1),
    size,
    header_buffers,
    duration,
    duration_or_none,
    load_balancing,
    retry_words,
]


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (duration, "30s", 30.0),
        (duration, "500ms", 0.5),
        (duration, "2m", 120.0),
        (duration, "1h", 3600.0),
        (duration_or_none, "0s", 0.0),
        (duration_or_none, "2m", 120.0),
        (load_balancing, "least_request", LoadBalancing.LEAST_REQUEST),
        (path_prefixes, "/b, /a,,/b ", ("/a", "/b")),
        (path_prefixes, "", ()),
        (retry_words, " timeout  error timeout", ("error", "timeout")),
        (retry_words, "off", ("off",)),
        (boolean, "true", True),
        (boolean, "false", False),
        (go_boolean, "T", True),
        (go_boolean, "1", True),
        (go_boolean, "FALSE", False),
        (blank_or_boolean, "", False),
        (blank_or_boolean, "t", True),
        (integer(0), "0", 0),
        (integer(0), "+7", 7),
        (percent, "100", 100),
        (seconds(1), "60", 60.0),
        (size, "0", 0),
        (size, "512", 512),
        (size, "8k", 8192),
        (size, "1M", 1024**2),
        (size, "2g", 2 * 1024**3),
        (size, "9b", 9),
        (header_buffers, "4 8k", (4, 8192)),
        (header_buffers, " 2  16K ", (2, 16384)),
    ],
)
def test_a_valid_value_is_read(parse: Callable[[str], object], text: str, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (boolean, "True"),
        (boolean, ""),
        (go_boolean, "yes"),
        (integer(1), "0"),
        (integer(0), "-1"),
        (integer(0), "1.0"),
        (integer(0), "٣"),
        (integer(0), "1" * 5000),
        (percent, "101"),
        (percent, "-1"),
        (percent, "50%"),
        (seconds(1), "30s"),
        (seconds(1), "0"),
        (size, "1t"),
        (size, "-1"),
        (size, "1.5m"),
        (size, "\u212a"),
        (size, "99999999999g"),
        (size, "9007199254740993"),
        (header_buffers, "4"),
        (header_buffers, "0 8k"),
        (header_buffers, "4 0"),
        (header_buffers, "999999999 999999g"),
        (protocols, ",".join(f"p{number}" for number in range(17))),
        (protocols, "a" * 65),
    ],
)
def test_an_invalid_value_is_refused(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(InvalidValue):
        parse(text)


@pytest.mark.parametrize("parse", PARSERS)
@given(text=st.text())
def test_no_text_raises_anything_else(parse: Callable[[str], object], text: str) -> None:
    try:
        parse(text)
    except InvalidValue as refused:
        assert str(refused)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        *((duration, text) for text in ("", "0s", "5", "-1s", "1.5s", "1d", "1 s", "1S")),
        *((duration_or_none, text) for text in ("", "0", "0d", "-1s")),
        *((load_balancing, text) for text in ("", "EWMA", "ip_hash", "round-robin")),
        *((retry_words, text) for text in ("", "error,timeout", "http_501", "Error")),
    ],
)
def test_what_is_not_of_the_form_is_refused(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(InvalidValue):
        parse(text)
