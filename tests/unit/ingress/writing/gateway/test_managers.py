"""Who else writes a status is read from the fields that the API server manages."""

from __future__ import annotations

import msgspec

from ingress.writing.gateway.managers import other_manager


def listed(*entries: dict[str, str]) -> bytes:
    return msgspec.json.encode({"items": [{"metadata": {"managedFields": entries}}]})


def test_the_last_other_one_is_named() -> None:
    entries = (
        {"manager": "zonal", "subresource": "status", "time": "2026-01-04T00:00:00Z"},
        {"manager": "first", "subresource": "status", "time": "2026-01-01T00:00:00Z"},
        {"manager": "second", "subresource": "status", "time": "2026-01-02T00:00:00Z"},
        {"manager": "kubectl", "time": "2026-01-03T00:00:00Z"},
    )
    assert other_manager(listed(*entries), own="zonal") == "second"


def test_nobody_is_named_where_nobody_is_known() -> None:
    for body in (
        listed(),
        b'{"items":null}',
        b'{"items":[{"metadata":{"managedFields":null}}]}',
        b"{}",
        b"no",
        b"\xff",
    ):
        assert other_manager(body, own="zonal") == ""
