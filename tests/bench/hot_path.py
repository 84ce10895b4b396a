"""Times the synchronous steps that every proxied request takes, and whole requests without system and event loop.

Responsible for figures to compare on one machine before and after a change. It must not judge them: a step is timed
alone with warm caches, so the sum is a lower bound of the real cost and no figure of a whole proxy.
"""

from __future__ import annotations

import asyncio
import os
import platform
import time
import timeit
from collections.abc import Callable

import msgspec

from balancer.connections.single_pools import ConnectionPool
from balancer.http.edits import HeadEdit
from balancer.http.messages import HTTP_1_1, RequestHead
from balancer.http.origin import Origin
from balancer.http.streams import Outgoing
from balancer.http1.collecting import HeadCollector
from balancer.http1.fields import client_response_head, endpoint_request_head, lines_of
from balancer.http1.heads import Http1Response, RequestHeadReader
from balancer.http1.responses import ResponseHeadReader
from balancer.logs.accesslines import AccessLogFormat, AccessRecord, line_format
from balancer.matching.gates.hooks import HookAsked, HookGate, HookScene
from balancer.matching.routing import RouteTable, compile_routes
from balancer.metrics.recorder import Recorder, RequestLabels
from balancer.metrics.slots import SlotTable
from balancer.model.endpoints import Backend, BackendKey, Endpoint
from balancer.model.entry_points import HTTP
from balancer.model.hooks import HookCode, HookPhase, HookRule
from balancer.model.publication import RoutingModel
from balancer.model.rewriting import Rewriting
from balancer.model.routes import Branch, Host, Owner, PathKind, Route, ServiceName
from balancer.model.settings import ProxySettings
from balancer.model.zones import OwnZone, Zone, ZonePolicy, ZonePolicyName
from balancer.picking.backend import BackendRuntime
from balancer.picking.outcomes import outcome_of
from balancer.proxy.account import Account, new_request_id
from balancer.runtime.loops import loop_factory
from balancer.workers.hook_callers import HookCounts, LocalHooks
from tests.bench import gateway_steps
from tests.bench.hot_request import Rig, StillTransport, numbered
from zonal_hooks.loading import digest_of

# The least disturbed of five is what the code costs; the others are what the machine did meanwhile.
REPEATS = 5
# Long enough that one pass of the clock and of the collector does not show.
PASS_SECONDS = 0.2
NAME_WIDTH = 62

HOSTS = 100
ROUTES_PER_HOST = 10
ENDPOINTS_PER_ZONE = 4

# No connection of the whole requests is used up.
UNBOUNDED = 1_000_000_000

Step = Callable[[], object]

TENANT_HOOK = 'if request.headers.get("user-agent") != "": request.set_header("x-tenant-tier", "gold")'

SHORT_REQUEST = b"GET /section-7/page HTTP/1.1\r\nHost: host-50.example\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"
BROWSER_REQUEST = (
    b"GET /section-7/page?item=42 HTTP/1.1\r\nHost: host-50.example\r\nConnection: keep-alive\r\n"
    b"Cache-Control: max-age=0\r\nUpgrade-Insecure-Requests: 1\r\n"
    b"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36\r\n"
    b"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"
    b"Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\nSec-Fetch-Dest: document\r\n"
    b'Sec-CH-UA: "Chromium";v="130"\r\nSec-CH-UA-Mobile: ?0\r\nSec-CH-UA-Platform: "Linux"\r\n'
    b"Accept-Encoding: gzip, deflate, br\r\nAccept-Language: en-GB,en;q=0.9\r\nCookie: session=0123456789abcdef\r\n\r\n"
)
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 107\r\nServer: bench\r\n\r\n"


def main() -> None:
    """Print one line for each step, then for whole requests: name and microseconds."""
    print(f"Python {platform.python_version()}, best of {REPEATS}, microseconds of this process a call")
    with asyncio.Runner(loop_factory=loop_factory("auto")) as runner, open(os.devnull, "wb") as sink:
        runner.run(measure(sink.fileno()))


async def measure(sink: int) -> None:
    """Inside a loop, which some steps ask for the time; it does not turn while one is timed."""
    rig = Rig(model(), sink=sink, logs=False, response=RESPONSE)
    for name, step in steps(rig).items():
        print(f"{name:<{NAME_WIDTH}} {best_microseconds(step):8.2f}")
    for name, step in gateway_steps.steps(model(), route).items():
        print(f"{'Gateway API: ' + name:<{NAME_WIDTH}} {best_microseconds(step):8.2f}")
    for name, each in gateway_steps.models(model(), route).items():
        rig = Rig(each, sink=sink, logs=True, response=RESPONSE)
        rig.serve()
        taken = best_microseconds(asking(rig, lambda: gateway_steps.REQUEST))
        print(f"{'Gateway API: whole request, ' + name:<{NAME_WIDTH}} {taken:8.2f}")
    for name, (request, logs) in whole_requests().items():
        rig = Rig(model(), sink=sink, logs=logs, response=RESPONSE)
        rig.serve()
        print(f"{name:<{NAME_WIDTH}} {best_microseconds(asking(rig, request)):8.2f}")


def steps(rig: Rig) -> dict[str, Step]:
    """What is timed, in the order of a request; docs/ARCHITECTURE.md names the steps likewise."""
    settings = ProxySettings()
    requests, responses = RequestHeadReader(settings), ResponseHeadReader()
    short, browser = requests.read(SHORT_REQUEST), requests.read(BROWSER_REQUEST)
    response = responses.read(RESPONSE, b"GET")
    alarm = rig.alarm()
    origin = Origin(peer="192.0.2.1", entry_point=HTTP)
    return {
        "open a client's connection": lambda: rig.open_client(StillTransport()),
        "collect a head (4 lines)": collecting(SHORT_REQUEST),
        "collect a head (17 lines)": collecting(BROWSER_REQUEST),
        "read a request head (4 lines)": lambda: requests.read(SHORT_REQUEST),
        "read a request head (17 lines)": lambda: requests.read(BROWSER_REQUEST),
        "recognise a request head": recognising(settings),
        "open an account": lambda: Account("192.0.2.1", short, time.perf_counter()),
        "make a request id": new_request_id,
        "match the route": matching(compile_routes(model()), short),
        "match an expression, and capture": matching(compile_routes(model(route=expression)), short),
        "rewrite the target": rewriting(compile_routes(model(route=expression)), short),
        "ask a hook that lets pass": hooking("pass", short, origin),
        "ask a hook that reads a field and sets one": hooking(TENANT_HOOK, short, origin),
        "pick an endpoint, off": picking(ZonePolicy()),
        "pick an endpoint, prefer-zone": picking(ZonePolicy(name=ZonePolicyName.PREFER_ZONE)),
        "write the endpoint's head, fields known": writing_request(short, origin, is_known=True),
        "write the endpoint's head (4 lines)": writing_request(short, origin, is_known=False),
        "write the endpoint's head (17 lines)": writing_request(browser, origin, is_known=False),
        "take an endpoint's connection, give it back": borrowing(rig.pools[0]),
        "set a deadline": lambda: alarm.set(60.0),
        "read a response head": lambda: responses.read(RESPONSE, b"GET"),
        "recognise a response head": lambda: responses.recognise(RESPONSE, b"GET"),
        "write the client's head": writing_response(response, is_known=False),
        "write the client's head, known": writing_response(response, is_known=True),
        "tell the endpoint's health": reporting(),
        "count the request": counting(),
        "make the log line": logging(),
    }


def whole_requests() -> dict[str, tuple[Callable[[], bytes], bool]]:
    """What comes, and whether it is logged, by name."""
    return {
        "whole request, recognised, no log": (lambda: SHORT_REQUEST, False),
        "whole request, recognised, log": (lambda: SHORT_REQUEST, True),
        "whole request, 17 lines, recognised, log": (lambda: BROWSER_REQUEST, True),
        "whole request, 5 lines, all different, log": (numbered(SHORT_REQUEST), True),
        "whole request, 18 lines, all different, log": (numbered(BROWSER_REQUEST), True),
    }


def asking(rig: Rig, request: Callable[[], bytes]) -> Step:
    """One whole request with its answer."""
    if not rig.ask(request()).startswith(b"HTTP/1.1 200 "):
        raise RuntimeError("the benchmark's request must be answered")
    return lambda: rig.ask(request())


def borrowing(pool: ConnectionPool) -> Step:
    def take_and_give_back() -> None:
        if (connection := pool.lease(False)) is not None:
            connection.release()

    return take_and_give_back


def collecting(head: bytes) -> Step:
    collector = HeadCollector(line_limit=8192, head_limit=32768)

    def collect() -> bytes | None:
        collector.add(head)
        return collector.take_head()

    return collect


def recognising(settings: ProxySettings) -> Step:
    reader = RequestHeadReader(settings)
    reader.read(SHORT_REQUEST)
    return lambda: reader.recognise(SHORT_REQUEST)


def matching(table: RouteTable, request: RequestHead) -> Step:
    if table.match(request.host_name, request.path) is None:
        raise RuntimeError("the benchmark's request must match a route")
    return lambda: table.match(request.host_name, request.path)


def rewriting(table: RouteTable, request: RequestHead) -> Step:
    match = table.match(request.host_name, request.path)
    if match is None or match.served.rewriting is None:
        raise RuntimeError("the benchmark's request must match a route that rewrites")
    rewriter, captures = match.served.rewriting, match.captures
    return lambda: rewriter.rewritten(request, "192.0.2.1", captures)


def hooking(body: str, request: RequestHead, origin: Origin) -> Step:
    """A hook in this process, from the request at the gates to what it changes."""
    text = f"from zonal_hooks import hook\n@hook()\nasync def request(request):\n    {body}\n"
    hooks = LocalHooks(HookCounts(Recorder(SlotTable(bytearray(64 * 1024)))))
    hooks.load([HookCode("tenant", digest_of(text), "tenant.py", text)])
    caller = hooks.caller(HookRule("tenant", digest_of(text), (HookPhase("request", 0.02),)))
    if caller is None:
        raise RuntimeError("the hook must be loaded")
    gate = HookGate(HookRule("tenant", "digest", (HookPhase("request", 0.02),)), caller)
    asked = HookAsked(request, origin, False, scene=HookScene("shop/web"))
    return lambda: gate.judge(asked, _never)


def _never(_: object) -> None:
    raise AssertionError("the hook answers at once")


def picking(policy: ZonePolicy) -> Step:
    """A pick as a request makes it: from the runtime on."""
    own_zone = OwnZone(zone=Zone("zone-a"), source="flag")
    runtime = BackendRuntime.fresh(backend(policy), own_zone=own_zone, random_below=lambda _: 0)
    return lambda: runtime.balancer().pick()


def writing_request(request: RequestHead, origin: Origin, *, is_known: bool) -> Step:
    """`is_known`: the fields are those of the request before."""

    def write() -> bytes:
        if not is_known:
            lines_of(request).onward = None
        return endpoint_request_head(Outgoing(request, origin, b"0" * 32))

    return write


def writing_response(response: Http1Response, *, is_known: bool) -> Step:
    """`is_known`: the head is that of the response before."""

    edit = HeadEdit(frozenset((b"server",)))

    def write() -> bytes:
        if not is_known:
            response.written.memo = None
        return client_response_head(response, HTTP_1_1, False, True, edit)

    return write


def reporting() -> Step:
    runtime = BackendRuntime.fresh(backend(ZonePolicy()), own_zone=OwnZone(None, "none"), random_below=lambda _: 0)
    pick = runtime.balancer().pick()
    if pick is None:
        raise RuntimeError("the benchmark's backend must have endpoints")
    return lambda: runtime.report(pick, outcome_of(None, 200), now=1.0, seconds=0.003)


def logging() -> Step:
    line_of = line_format(AccessLogFormat.JSON)
    if line_of is None:
        raise RuntimeError("there must be lines")
    # By position, as `accounting` makes it: the time of its end first.
    facts = ("192.0.2.1", "GET", "host-50.example", "/section-7/page", "HTTP/1.1", 200, 0, 107, 0.004, 0.003)
    names = ("shop", "shop", "storefront", ("10.0.0.0:8080",), "zone-a", "zone-a", "local", "zone_local", "0" * 32)
    return lambda: line_of(AccessRecord(time.time(), *facts, *names, 200, (), "http", 90, "bench", None))


def counting() -> Step:
    recorder = Recorder(SlotTable(bytearray(64 * 1024)))

    labels = RequestLabels("shop", "shop", "storefront", "zone-a", "zone-a", "local", 200, "zone_local")
    return lambda: recorder.request(labels, 0.004, 0.003, 0, 107)


def route(place: int) -> Route:
    owner = Owner("Ingress", "shop", "shop")
    branch = Branch(BackendKey("shop/storefront:http"), owner, ServiceName("shop", "storefront"))
    return Route(path=f"/section-{place}", kind=PathKind.PREFIX, owner=owner, branches=(branch,))


def expression(place: int) -> Route:
    """The same as a regular expression whose end is the target."""
    return msgspec.structs.replace(
        route(place),
        kind=PathKind.REGEX,
        expression=f"^/section-{place}(/|$)(.*)",
        rewriting=Rewriting("/$2", forwarded_prefix=f"/section-{place}"),
    )


def model(route: Callable[[int], Route] = route) -> RoutingModel:
    """A mid-sized cluster; the request goes to the middle of it."""
    hosts = (
        Host(name=f"host-{number}.example", routes=tuple(route(place) for place in range(ROUTES_PER_HOST)))
        for number in range(HOSTS)
    )
    return RoutingModel(
        hosts=tuple(sorted(hosts, key=lambda host: host.name)),
        backends=(backend(ZonePolicy()),),
        proxy=ProxySettings(keep_alive_requests=UNBOUNDED, endpoint_requests=UNBOUNDED),
    )


def backend(policy: ZonePolicy) -> Backend:
    """A backend with the same number of endpoints in each of three zones."""
    endpoints = (
        Endpoint(address=f"10.0.{place}.{number}", port=8080, zone=Zone(f"zone-{zone}"))
        for place, zone in enumerate("abc")
        for number in range(ENDPOINTS_PER_ZONE)
    )
    return Backend(
        key=BackendKey("shop/storefront:http"),
        namespace="shop",
        service="storefront",
        port="http",
        endpoints=tuple(sorted(endpoints)),
        zone_policy=policy,
    )


def best_microseconds(step: Step) -> float:
    """The shortest time of one call over `REPEATS` passes of about `PASS_SECONDS` each."""
    timer = timeit.Timer(step, timer=time.process_time)
    calls, seconds = timer.autorange()
    calls = max(1, round(calls * PASS_SECONDS / seconds))
    return min(timer.repeat(repeat=REPEATS, number=calls)) / calls * 1e6


if __name__ == "__main__":
    main()
