"""Pages for operators, and what a browser may carry there from other sites."""

from __future__ import annotations

import pytest

from ingress.admin.guarding import foreign


def problem(host: str, *, origin: str | None = None, site: str = "none", mode: str = "cors") -> str | None:
    return foreign(host, origin=origin, site=site, mode=mode)


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1:10254", "10.1.2.3", "[::1]:10254", "localhost:10254", "LOCALHOST", "zonal.localhost", ""),
        *("zonal", "zonal-metrics.zonal.svc:10254", "zonal.zonal.svc.cluster.local", "node-1.internal."),
    ],
)
def test_addresses_and_names_that_no_stranger_can_have_are_fine(host: str) -> None:
    assert problem(host) is None


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:10254", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example."),
        *("xlocalhost.example", "evil.svc.example", "user@evil.example"),
    ],
)
def test_a_name_that_could_be_rebound_is_refused(host: str) -> None:
    assert problem(host) is not None


def test_only_its_own_origin_may_ask() -> None:
    assert problem("localhost:1", origin="http://localhost:1") is None
    assert problem("localhost:1", origin="http://localhost:2") is not None
    assert problem("localhost:1", origin="https://evil.example") is not None
    assert problem("localhost:1", origin="null") is not None


def test_another_site_may_lead_here_but_not_read() -> None:
    assert problem("localhost", site="same-origin") is None
    assert problem("localhost", site="cross-site") is not None
    assert problem("localhost", site="same-site") is not None
    assert problem("localhost", site="cross-site", mode="navigate") is None
