"""The settings of the data plane: buffers become bounds of a head, and four keys become one field."""

from __future__ import annotations

import pytest

from balancer.model.settings import ProxySettings
from ingress.settings.table.connections import Hsts, proxy_settings
from tests.unit.ingress.said import said


def test_a_line_fits_in_one_buffer_and_a_head_in_all() -> None:
    expected = ProxySettings(keep_alive_seconds=3.0, head_line_bytes=1024, head_bytes=2048)
    assert proxy_settings(said({"large-client-header-buffers": "2 1k", "keep-alive": "3"})) == expected


@pytest.mark.parametrize(
    ("hsts", "header"),
    [
        (Hsts(), ProxySettings().hsts),
        (Hsts(enabled=False), None),
        (Hsts(max_age_seconds=1, include_subdomains=False), "max-age=1"),
        (Hsts(max_age_seconds=1, preload=True), "max-age=1; includeSubDomains; preload"),
    ],
)
def test_the_parts_of_hsts_make_one_field(hsts: Hsts, header: str | None) -> None:
    assert hsts.header() == header
