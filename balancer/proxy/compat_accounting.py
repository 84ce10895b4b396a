"""Counts requests under the names of ingress-nginx as well (`--compat-metrics nginx`).

Made at the start of a worker in place of `Accounting`, so that requests pay nothing where the option is off.
"""

from __future__ import annotations

import time

from balancer.logs.accesslog import AccessLog
from balancer.logs.tracing.outbox import SpanOutbox
from balancer.metrics.recorder import Recorder, exact_status
from balancer.proxy.account import Account
from balancer.proxy.accounting import Accounting, Logging


class CompatAccounting(Accounting):
    """Closes accounts, and counts those with a route a second time."""

    __slots__ = ("_nginx",)

    def __init__(self, *, recorder: Recorder, access_log: AccessLog, spans: SpanOutbox | None = None) -> None:
        super().__init__(recorder=recorder, access_log=access_log, spans=spans)
        self._nginx = recorder.for_nginx()

    def close(self, account: Account, from_zone: str, logging: Logging | None = None) -> None:
        """Counts and logs a request whose answer was written, or whose client left.

        Requests without a route are left out, as ingress-nginx leaves out those for hosts of no Ingress.
        """
        super().close(account, from_zone, logging)
        to, request = account.destination, account.request
        if to is None or request is None:
            return
        names, has_one_attempt = to.names, len(account.tried) <= 1
        self._nginx.request(
            (
                exact_status(account.status),
                request.method.decode("ascii"),
                to.route.path,
                names.namespace,
                names.ingress,
                names.service,
            ),
            seconds=time.perf_counter() - account.started,
            endpoint_seconds=account.endpoint_seconds if has_one_attempt else None,
            request_bytes=request.head_bytes + account.request_bytes,
            response_bytes=account.response_bytes,
        )
