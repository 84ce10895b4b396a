"""Who has no Gateway pays nothing for Gateway API, and an HTTPRoute with path and host costs what an Ingress does.

Counted in bytecode instructions of our own code, which no other work on the machine changes. A compiled build has
nearly none on either side.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import msgspec

from balancer.http1.heads import RequestHeadReader
from balancer.live import LiveTable
from balancer.matching.routing import compile_routes
from balancer.model.publication import Publication, RoutingModel
from balancer.model.routes import INGRESS
from balancer.model.settings import ProxySettings
from ingress.settings.context import TranslationContext
from ingress.translation.assembly import translate
from tests.bench.gateway_steps import REQUEST, by_fields, by_query, choosing, matching, models, table_of, with_gateway
from tests.bench.hot_path import RESPONSE, SHORT_REQUEST, model, route
from tests.bench.hot_request import Rig
from tests.unit.ingress.cluster import ingress, ingress_class, inventory, rule, service

_OF_GATEWAYS = f"{os.sep}translation{os.sep}gateway{os.sep}"
_SAME = 1.02
_NEARLY_SAME = 1.03
_HOST_INSTRUCTIONS = 20
_ADDED = 0.08


def instructions(work: Callable[[], object]) -> Counter[str]:
    """The bytecode instructions that `work` takes, by file. A first turn, which fills caches, is not counted."""
    work()
    counts: Counter[str] = Counter()

    def trace(frame: FrameType, event: str, _arg: Any) -> Any:
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            counts[frame.f_code.co_filename] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return counts


async def test_a_request_of_an_http_route_costs_what_one_of_an_ingress_does() -> None:
    """The requests differ only in how their route is found."""
    head = RequestHeadReader(ProxySettings()).read(REQUEST)
    of_ingress, of_gateway = (
        instructions(matching(table, head)).total() for table in (compile_routes(model()), table_of(model()))
    )
    assert of_gateway - of_ingress <= (_NEARLY_SAME - 1) * _asked(model())


def test_of_a_hundred_candidates_those_whose_values_come_are_asked() -> None:
    head = RequestHeadReader(ProxySettings()).read(REQUEST)
    for conditions in (by_fields, by_query):
        few, many = (
            instructions(matching(table_of(model(), choosing(route, conditions, count)), head)).total()
            for count in (10, 100)
        )
        assert many == few


async def test_edits_and_rewrites_add_little_to_a_whole_request() -> None:
    """They go the way of all other requests. Before, one field more took a quarter of a request."""
    of, usual = models(model(), route), _asked(model())
    for name in ("fields edited", "another prefix"):
        assert _asked(of[name]) - usual <= _ADDED * usual, name


async def test_a_request_of_an_ingress_costs_the_same_beside_gateways() -> None:
    assert _asked(with_gateway(model())) <= _SAME * _asked(model())


def test_a_swap_of_an_ingress_beside_gateways_looks_at_each_host_once_more() -> None:
    """Hosts are divided among route configurations where there are several."""
    alone = model()
    more = (msgspec.structs.replace(each, name=f"more-{each.name}") for each in alone.hosts)
    twice = msgspec.structs.replace(alone, hosts=(*alone.hosts, *more))
    assert _swapped(with_gateway(alone)) - _swapped(twice) <= _HOST_INSTRUCTIONS * len(twice.hosts)


def test_a_translation_of_ingresses_does_next_to_nothing_for_gateway_api() -> None:
    few, many = (_translated(count) for count in (10, 60))
    of_few, of_many = (sum(counts[each] for each in counts if _OF_GATEWAYS in each) for counts in (few, many))
    assert (of_many - of_few) <= (_SAME - 1) / 2 * (many.total() - few.total())


def _asked(model: RoutingModel) -> int:
    """What a GET takes, from the bytes of the client to the line of the access log. Inside a loop."""
    with open(os.devnull, "wb") as sink:
        rig = Rig(model, sink=sink.fileno(), logs=True, response=RESPONSE)
        rig.serve()
        assert rig.ask(SHORT_REQUEST).startswith(b"HTTP/1.1 200 ")
        return instructions(lambda: rig.ask(SHORT_REQUEST)).total()


def _swapped(model: RoutingModel) -> int:
    """What a swap takes in which one host of an Ingress has changed."""
    live = LiveTable(lambda _: 0)
    live.swap(Publication(1, model))
    place = next(place for place, each in enumerate(model.hosts) if each.configuration == INGRESS)
    before, host, after = model.hosts[:place], model.hosts[place], model.hosts[place + 1 :]
    changed = (msgspec.structs.replace(host, routes=host.routes[:count]) for count in (5, 6))
    models = [msgspec.structs.replace(model, hosts=(*before, each, *after)) for each in changed]
    publications = iter([Publication(number, each) for number, each in enumerate(models, 2)])
    return instructions(lambda: live.swap(next(publications))).total()


def _translated(count: int) -> Counter[str]:
    """What a translation of so many Ingresses takes, by file."""
    ingresses = (ingress(f"web-{number}", rule(f"h{number}.test")) for number in range(count))
    cluster = inventory(ingress_class(), service("cart"), *ingresses)
    return instructions(lambda: translate(cluster, TranslationContext()))
