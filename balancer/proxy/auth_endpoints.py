"""Finds endpoints of backends that judge requests of others: of the own zone where there is one."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

from balancer.matching.gates.external_auth.backend_gate import AuthEndpoint
from balancer.model.endpoints import BackendKey
from balancer.picking.backend import BackendRuntime
from balancer.proxy.copying import endpoint_for
from balancer.proxy.succession import handshake_of


def auth_endpoint(
    backends: Mapping[BackendKey, BackendRuntime], backend: BackendKey, *, secure: bool
) -> AuthEndpoint | None:
    """An endpoint of `backend`, for a client that speaks TLS or not; None: there is none.

    An endpoint that is asked is not judged by that, as one that gets copies is not.
    """
    runtime = backends.get(backend)
    label = None if runtime is None else endpoint_for(runtime, time.perf_counter(), random.randrange)
    if runtime is None or label is None:
        return None
    return AuthEndpoint(label, handshake_of(runtime, secure=secure), runtime.http2)
