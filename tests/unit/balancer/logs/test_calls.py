"""How the parts of an access log line are put together. `proxy.test_lines` sees the compiled function, too."""

from __future__ import annotations

import json

from balancer.logs.accesslines import FIELD_CHARACTERS_MAX
from balancer.logs.calls import LINE_MOST, json_line


def line_of(request_id: bytes = b"0f") -> bytes:
    names, rest = ',"namespace":"shop","id":"', '","head":'
    return json_line('{"time":"then"', ',"status":', 200, 0, 107, 42, 999_999, names, request_id, rest, 80, "}\n")


def test_numbers_and_texts_stand_in_their_order() -> None:
    assert json.loads(line_of(), object_pairs_hook=list) == [
        ("time", "then"),
        ("status", 200),
        ("bytes_in", 0),
        ("bytes_out", 107),
        ("duration", 0.000042),
        ("endpoint_duration", 0.999999),
        ("namespace", "shop"),
        ("id", "0f"),
        ("head", 80),
    ]


def test_a_line_that_is_too_long_for_the_log_is_empty() -> None:
    assert LINE_MOST == FIELD_CHARACTERS_MAX
    room = LINE_MOST - len(line_of(b""))
    assert len(line_of(b"0" * room)) == LINE_MOST
    assert not line_of(b"0" * (room + 1))
