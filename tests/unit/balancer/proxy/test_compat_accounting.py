"""With the metrics of ingress-nginx a request counts twice: under zonal's names as ever, and under the others."""

from __future__ import annotations

import asyncio
import os

from balancer.http1.heads import RequestHeadReader
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics import recorder as own
from balancer.metrics.definitions import REQUESTS
from balancer.metrics.nginx import series as nginx
from balancer.metrics.slots import SlotTable, read
from balancer.model.settings import ProxySettings
from balancer.proxy.account import Account
from balancer.proxy.compat_accounting import CompatAccounting
from tests import builders
from tests.matches import destination

HEAD = b"POST /api/x?y HTTP/1.1\r\nHost: shop.test\r\n\r\n"

Counts = dict[int, dict[tuple[str, ...], tuple[float, ...]]]


def account(*, routed: bool = True, attempts: int = 1, status: int = 200) -> Account:
    made = Account("192.0.2.7", RequestHeadReader(ProxySettings()).read(HEAD), 0.0)
    made.destination = destination(builders.route("/api")) if routed else None
    made.status, made.request_bytes, made.response_bytes = status, 10, 20
    made.endpoint_seconds, made.tried = 0.5, ("10.0.0.1:80",) * attempts
    return made


def counted(*accounts: Account) -> Counts:
    """The values of every series by the number of its metric and its labels."""
    buffer = bytearray(256 * 1024)

    async def close() -> None:
        recorder = own.Recorder(SlotTable(buffer))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        log = AccessLog(nowhere, AccessLogFormat.OFF, recorder.access_log_dropped)
        for each in accounts:
            CompatAccounting(recorder=recorder, access_log=log).close(each, from_zone="zone-a")
        log.close(5)
        os.close(nowhere)

    asyncio.run(close())
    found: Counts = {}
    for entry in read(buffer):
        found.setdefault(entry.key.metric, {})[entry.key.labels] = entry.values
    return found


def test_a_request_counts_under_both_names() -> None:
    counts = counted(account())
    (value,) = counts[own.NUMBERS[REQUESTS.name]].values()
    assert value == (1.0,)
    labels = ("200", "POST", "/api", "shop", "web", "cart", "")
    assert counts[nginx.NUMBERS[nginx.REQUESTS.name]] == {labels: (1.0,)}
    assert counts[nginx.NUMBERS[nginx.REQUEST_SIZE.name]][labels][-1] == len(HEAD) + 10
    assert counts[nginx.NUMBERS[nginx.RESPONSE_SECONDS.name]][labels][-1] == 0.5


def test_a_request_with_several_attempts_has_no_time_of_an_endpoint() -> None:
    (values,) = counted(account(attempts=2))[nginx.NUMBERS[nginx.RESPONSE_SECONDS.name]].values()
    assert set(values) == {0.0}


def test_a_status_that_nobody_lists_counts_as_its_class() -> None:
    (labels,) = counted(account(status=599))[nginx.NUMBERS[nginx.REQUESTS.name]]
    assert labels[0] == "5xx"


def test_a_request_without_a_route_or_a_head_has_no_series() -> None:
    headless = account()
    headless.request = None
    assert nginx.NUMBERS[nginx.REQUESTS.name] not in counted(account(routed=False), headless)
