"""What picks, destinations and the recorder note of requests changes no count and no line, and does not grow."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind
from balancer.http.messages import RequestHead
from balancer.http1.heads import RequestHeadReader
from balancer.matching.destinations import Destination, PathCount
from balancer.metrics.definitions import ERRORS, REQUESTS, RESPONSES, ZONE_BYTES, ZONE_COST, ZONE_DECISIONS
from balancer.model.settings import ProxySettings
from balancer.picking.backend import BackendRuntime
from balancer.picking.members import Pick
from balancer.proxy.account import Account
from balancer.proxy.accounting import Accounting
from balancer.zones.reasons import Reason
from tests import builders
from tests.unit.balancer.proxy.standing import Ledger

PLACES = (
    ("/", "shop/cart:80", "web"),
    ("/a", "shop/cart:80", "web"),
    ("/b", "shop/pay:http", 'a"\\b'),
    ("/c", None, ""),
)
METRICS = (REQUESTS, RESPONSES, ZONE_BYTES, ZONE_COST, ZONE_DECISIONS, ERRORS)


class Asked(NamedTuple):
    """One request: which destination and endpoint it has, and how that answers."""

    place: int
    endpoint: int
    status: int
    from_zone: str
    is_retried_elsewhere: bool
    error: ErrorKind | None
    sent: int
    received: int
    has_endpoint: bool


ASKED = st.builds(
    Asked,
    place=st.integers(0, len(PLACES) - 1),
    endpoint=st.integers(0, 1),
    status=st.sampled_from([200, 200, 304, 404, 503, 599, 999]),
    from_zone=st.sampled_from(["zone-a", "zone-a", "zone-b"]),
    is_retried_elsewhere=st.booleans(),
    error=st.sampled_from([None, None, None, ErrorKind.ENDPOINT_CLOSED]),
    sent=st.integers(0, 1000),
    received=st.integers(0, 1000),
    has_endpoint=st.booleans(),
)


def request() -> RequestHead:
    return RequestHeadReader(ProxySettings()).read(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")


def picks() -> tuple[Pick, ...]:
    """Those of two endpoints in two zones, in turn."""
    runtime = BackendRuntime.fresh(
        builders.backend(of=builders.endpoints("ab")),
        own_zone=builders.own_zone("zone-a"),
        random_below=lambda limit: limit - 1,
    )
    balancer = runtime.balancer()
    made = [pick for pick in (balancer.pick(), balancer.pick()) if pick is not None]
    return tuple(sorted(made, key=lambda pick: pick.to_zone))


def destinations() -> tuple[Destination, ...]:
    made = []
    for path, to, owner in PLACES:
        route = builders.route(path, to=to, ingress=owner)
        made.append(Destination(route, route.main, PathCount("shop.test")))
    return tuple(made)


def account_of(asked: Asked, to: Destination, pick: Pick) -> Account:
    account = Account("192.0.2.7", request(), time.perf_counter())
    account.request_id, account.destination = b"abc", to
    account.status, account.error = asked.status, asked.error
    account.request_bytes, account.response_bytes = asked.sent, asked.received
    if asked.has_endpoint:
        account.pick = pick.for_reason(Reason.RETRY_OTHER_ZONE) if asked.is_retried_elsewhere else pick
        account.tried, account.endpoint_seconds = (pick.member.label,), 0.25
        account.endpoint_status = asked.status
    return account


class Said(NamedTuple):
    """What was counted, and the lines without their times."""

    counts: Counter[Any]
    lines: list[list[tuple[str, Any]]]


def said(accounts: Iterable[tuple[Account, str]]) -> Said:
    async def close() -> Said:
        ledger = Ledger()
        try:
            accounting = Accounting(recorder=ledger.recorder, access_log=ledger.access_log)
            for account, from_zone in accounts:
                accounting.close(account, from_zone)
            counts: Counter[Any] = Counter()
            for metric in METRICS:
                counts.update({(metric.name, labels): value for labels, value in ledger.metric(metric).items()})
            counts.update({labels: sum(values) + values[1] * 1000 for labels, values in ledger.routes().items()})
            lines = [[pair for pair in line.items() if pair[0] not in {"time", "duration"}] for line in ledger.log()]
            return Said(counts, lines)
        finally:
            ledger.release()

    return asyncio.run(close())  # an access log belongs to a loop


@given(st.lists(ASKED, max_size=8))
def test_lines_and_counts_are_those_of_requests_about_which_nothing_is_noted(requests: list[Asked]) -> None:
    shared, places = picks(), destinations()
    noted = said((account_of(each, places[each.place], shared[each.endpoint]), each.from_zone) for each in requests)
    counts: Counter[Any] = Counter()
    lines = []
    for each in requests:
        alone = said([(account_of(each, destinations()[each.place], picks()[each.endpoint]), each.from_zone)])
        counts += alone.counts
        lines += alone.lines
    assert +noted.counts == counts
    assert noted.lines == lines


def test_what_is_noted_with_a_pick_does_not_grow_with_its_destinations() -> None:
    """One tenant may have thousands of hosts."""
    pick = picks()[0]
    sizes = []
    for count in (1, 20):
        routes = [builders.route(f"/{number:03d}") for number in range(count)]
        asked = Asked(0, 0, 200, "zone-a", False, None, 0, 0, True)
        said((account_of(asked, Destination(route, route.main), pick), "zone-a") for route in routes for _ in range(2))
        note = pick.note
        sizes.append([len(each) for each in (note.from_zone, note.names, note.rest, note.slots, note.way)])
    assert sizes[0] == sizes[1]


def test_requests_to_destinations_in_turn_are_found_without_their_names() -> None:
    """The second request of each is counted in slots that are known, and its line is put together."""
    pick, places = picks()[0], destinations()[:3]
    asked = [Asked(place, 0, 200, "zone-a", False, None, 1, 1, True) for place in (0, 1, 2, 0, 1, 2)]
    said((account_of(each, places[each.place], pick), each.from_zone) for each in asked)
    assert all(place.note.names for place in places)
    assert pick.note.destination is places[2]
    assert pick.note.slots is places[2].note.slots
    assert pick.note.names == places[2].note.names + pick.note.way
