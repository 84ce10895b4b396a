"""Which endpoint judges requests: one of the backend, spoken to as the backend is."""

from __future__ import annotations

import msgspec

from balancer.live import LiveTable
from balancer.model.endpoints import BackendKey
from balancer.proxy.auth_endpoints import auth_endpoint
from tests import builders


def test_an_endpoint_of_the_backend_is_found() -> None:
    live = LiveTable(lambda limit: 0)
    backend = msgspec.structs.replace(builders.backend(of=builders.endpoints("ab")), http2=True)
    live.swap(builders.publication(1, builders.model(backend)))
    found = auth_endpoint(live.view.backends, backend.key, secure=False)
    assert found is not None
    assert found.authority in live.view.backends[backend.key].members
    assert (found.tls, found.http2) == (None, True)


def test_without_a_backend_or_endpoints_there_is_none() -> None:
    live = LiveTable(lambda limit: 0)
    empty = builders.backend(of=())
    live.swap(builders.publication(1, builders.model(empty)))
    assert auth_endpoint(live.view.backends, empty.key, secure=True) is None
    assert auth_endpoint(live.view.backends, BackendKey("nobody"), secure=True) is None
