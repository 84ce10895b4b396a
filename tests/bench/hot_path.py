"""Times the synchronous steps that every proxied request takes: read, match, pick, write, count.

Responsible for figures to compare on one machine before and after a change. It must not judge them: a step is timed
alone with warm caches, so the sum is a lower bound of the real cost and no figure of a whole proxy.
"""

from __future__ import annotations

import platform
import timeit
from collections.abc import Callable

from balancer.backend import BackendRuntime
from balancer.http1.fields import ForwardedFields, client_response_head, endpoint_request_head
from balancer.http1.heads import RequestHead, RequestHeadReader, ResponseHead
from balancer.http1.responses import ResponseHeadReader
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import SlotTable
from balancer.model import (
    Backend,
    BackendKey,
    Endpoint,
    Host,
    OwnZone,
    PathKind,
    ProxySettings,
    Route,
    RoutingModel,
    Zone,
    ZonePolicy,
    ZonePolicyName,
)
from balancer.routing import RouteTable, compile_routes

# The least disturbed of five is what the code costs; the others are what the machine did meanwhile.
REPEATS = 5
# Long enough that one pass of the clock and of the collector does not show.
PASS_SECONDS = 0.2

HOSTS = 100
ROUTES_PER_HOST = 10
ENDPOINTS_PER_ZONE = 4

Step = Callable[[], object]

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
    """Print one line for each step: its name and microseconds a call."""
    print(f"Python {platform.python_version()}, best of {REPEATS}, microseconds a call")
    for name, step in steps().items():
        print(f"{name:<34} {best_microseconds(step):8.2f}")


def steps() -> dict[str, Step]:
    """What is timed, in the order of a request."""
    settings = ProxySettings()
    requests, responses = RequestHeadReader(settings), ResponseHeadReader()
    short, browser = requests.read(SHORT_REQUEST), requests.read(BROWSER_REQUEST)
    response = responses.read(RESPONSE, b"GET")
    forwarded = ForwardedFields(peer="192.0.2.1", secure=False)
    return {
        "read request head (4 lines)": lambda: requests.read(SHORT_REQUEST),
        "read request head (17 lines)": lambda: requests.read(BROWSER_REQUEST),
        "match route": matching(compile_routes(model()), short),
        "pick endpoint, off": picking(ZonePolicy()),
        "pick endpoint, prefer-zone": picking(ZonePolicy(name=ZonePolicyName.PREFER_ZONE)),
        "write request head (4 lines)": writing_request(short, forwarded),
        "write request head (17 lines)": writing_request(browser, forwarded),
        "read response head": lambda: responses.read(RESPONSE, b"GET"),
        "write response head": writing_response(response),
        "count request": counting(),
    }


def matching(table: RouteTable, request: RequestHead) -> Step:
    if table.match(request.host_name, request.path) is None:
        raise RuntimeError("the benchmark's request must match a route")
    return lambda: table.match(request.host_name, request.path)


def picking(policy: ZonePolicy) -> Step:
    """A pick as a request makes it: from the runtime on."""
    own_zone = OwnZone(zone=Zone("zone-a"), source="flag")
    runtime = BackendRuntime.fresh(backend(policy), own_zone=own_zone, random_below=lambda _: 0)
    return lambda: runtime.balancer().pick()


def writing_request(request: RequestHead, forwarded: ForwardedFields) -> Step:
    return lambda: endpoint_request_head(request, forwarded=forwarded, request_id=b"0" * 32, underscores=False)


def writing_response(response: ResponseHead) -> Step:
    return lambda: client_response_head(response, client_minor=1, chunked=False, keep_alive=True, hsts=None)


def counting() -> Step:
    recorder = Recorder(SlotTable(bytearray(64 * 1024)))

    def count() -> None:
        recorder.request(
            namespace="shop",
            ingress="shop",
            service="storefront",
            from_zone="zone-a",
            to_zone="zone-a",
            locality="local",
            status=200,
            seconds=0.004,
            endpoint_seconds=0.003,
            request_bytes=0,
            response_bytes=107,
            reason="zone_local",
        )

    return count


def model() -> RoutingModel:
    """A mid-sized cluster; the request goes to the middle of it."""
    hosts = (
        Host(name=f"host-{number}.example", routes=tuple(route(place) for place in range(ROUTES_PER_HOST)))
        for number in range(HOSTS)
    )
    return RoutingModel(hosts=tuple(sorted(hosts, key=lambda host: host.name)), backends=(backend(ZonePolicy()),))


def route(place: int) -> Route:
    return Route(
        path=f"/section-{place}",
        kind=PathKind.PREFIX,
        backend=BackendKey("shop/storefront:http"),
        namespace="shop",
        ingress="shop",
        service="storefront",
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
    timer = timeit.Timer(step)
    calls, seconds = timer.autorange()
    calls = max(1, round(calls * PASS_SECONDS / seconds))
    return min(timer.repeat(repeat=REPEATS, number=calls)) / calls * 1e6


if __name__ == "__main__":
    main()
