"""What every stream has in common: where requests come from, and calls that a version of HTTP must carry out."""

from __future__ import annotations

import inspect

import pytest

from balancer.http.origin import Origin
from balancer.http.streams import EndpointStream, Pool
from balancer.http1.endpoint import EndpointConnection
from balancer.model.entry_points import HTTP, HTTPS


@pytest.mark.parametrize(
    ("secure", "port", "https"),
    [(False, None, False), (True, None, True), (False, 443, True), (False, 80, False), (True, 80, True)],
)
def test_a_client_speaks_https_to_us_or_to_the_load_balancer_in_front(
    secure: bool, port: int | None, https: bool
) -> None:
    assert Origin(peer="192.0.2.7", entry_point=HTTPS if secure else HTTP, port=port).https is https


@pytest.mark.parametrize("stream", [(EndpointStream, EndpointConnection)])
def test_a_stream_carries_out_every_call(stream: tuple[type, type]) -> None:
    base, made = stream
    calls = [name for name, _ in inspect.getmembers(base, inspect.isroutine) if not name.startswith("_")]
    assert calls
    assert [name for name in calls if getattr(made, name) is getattr(base, name)] == []


async def test_a_pool_without_connections_offers_none() -> None:
    with pytest.raises(NotImplementedError):
        Pool().lease(False)
    with pytest.raises(NotImplementedError):
        await Pool().connect(1.0)
