"""How a backend keeps its endpoints well and loaded: the settings that ConfigMap, Service and Ingress may state alike.

Responsible for the keys, which are the same everywhere but for their prefix, and for putting what one source says over
what another said. It must not know which source that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from balancer.model import Backend, Ejection, HealthCheck, LoadBalancing
from ingress.values import Draft, Row, boolean, check_path, duration, integer, load_balancing, percent


class BackendSettings(msgspec.Struct, frozen=True):
    """The fields of a `Backend` by the same names; `health_check` with an empty path is none."""

    load_balancing: LoadBalancing = LoadBalancing.ROUND_ROBIN
    ejection: Ejection = Ejection()
    health_check: HealthCheck = HealthCheck(path="")
    max_concurrency: int = 0
    max_concurrency_per_endpoint: int = 0
    panic_percent: int = 50

    def overridden(self, draft: Draft) -> BackendSettings:
        """These settings with what the sections `ejection`, `check` and `backend` of a draft say."""
        if draft.keys().isdisjoint(_SECTIONS):
            return self
        return msgspec.structs.replace(
            self,
            ejection=msgspec.structs.replace(self.ejection, **draft.get("ejection", {})),
            health_check=msgspec.structs.replace(self.health_check, **draft.get("check", {})),
            **draft.get("backend", {}),
        )

    def applied(self, backend: Backend) -> Backend:
        """`backend` kept by these settings."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        return msgspec.structs.replace(backend, **{**fields, "health_check": self._check()})

    def _check(self) -> HealthCheck | None:
        return self.health_check if self.health_check.path else None


_SECTIONS = frozenset({"ejection", "check", "backend"})

BACKEND_ROWS: Mapping[str, Row] = {
    "ejection-consecutive-errors": Row("ejection", "consecutive_errors", integer(0)),
    "ejection-5xx": Row("ejection", "on_5xx", boolean),
    "ejection-time": Row("ejection", "seconds", duration),
    "ejection-max-percent": Row("ejection", "max_percent", percent),
    "health-check-path": Row("check", "path", check_path),
    "health-check-interval": Row("check", "interval_seconds", duration),
    "health-check-timeout": Row("check", "timeout_seconds", duration),
    "health-check-threshold": Row("check", "threshold", integer(1)),
    "max-concurrency-per-endpoint": Row("backend", "max_concurrency_per_endpoint", integer(0)),
    "max-concurrency": Row("backend", "max_concurrency", integer(0)),
    "zone-panic-threshold": Row("backend", "panic_percent", percent),
}
"""Our own keys, without a prefix: how each is read and where it goes."""

LOAD_BALANCE_ROW = Row("backend", "load_balancing", load_balancing)
"""ingress-nginx' key `load-balance`, which a Service cannot state."""
