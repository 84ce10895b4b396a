"""Options about the routes of an Ingress: time-outs, limits, other tries and tunnels.

Responsible for the options and for the structs that they fill. It must not know which source sets an option.
"""

from __future__ import annotations

import msgspec

from balancer.model.policies import RoutePolicy
from ingress.findings import Severity
from ingress.settings.request_values import virtual_host
from ingress.settings.table.option import OWN_PREFIX, Overrides, cluster_switch, ingress_option, route_option
from ingress.settings.unsupported import Loss
from ingress.settings.values import Word, integer, on_or_off, protocols, retry_words, seconds, size

# A tenant's connection may be idle for an hour at most. The ConfigMap, which belongs to the operator, may allow more.
TIMEOUT_LIMIT_SECONDS = 3600.0

SPOOL_MEMORY_LIMIT_BYTES = 1024 * 1024


class RetrySettings(msgspec.Struct, frozen=True):
    """What the ConfigMap says about further tries, beside `proxy-next-upstream`."""

    non_idempotent: bool = False


def cluster_policy(overrides: Overrides) -> RoutePolicy:
    """The policy of an Ingress that sets nothing. `overrides` are those of the ConfigMap."""
    policy = overrides.over(RoutePolicy())
    if not overrides.over(RetrySettings()).non_idempotent:
        return policy
    # nginx writes the word beside the others. An Ingress that lists words of its own does not get it.
    return msgspec.structs.replace(policy, retry_on=tuple(sorted({*policy.retry_on, "non_idempotent"})))


ROUTE_OPTIONS = (
    route_option(
        name="proxy-connect-timeout",
        fills=(RoutePolicy, "connect_timeout_seconds"),
        grammar=seconds(1),
        default="5",
        most=TIMEOUT_LIMIT_SECONDS,
        doc="seconds to connect to the last or only endpoint, else 504; others are left after a second at most",
    ),
    route_option(
        name="proxy-read-timeout",
        fills=(RoutePolicy, "read_timeout_seconds"),
        grammar=seconds(1),
        default="60",
        most=TIMEOUT_LIMIT_SECONDS,
        doc="most seconds between two reads from an endpoint, else 504",
    ),
    route_option(
        name="proxy-send-timeout",
        fills=(RoutePolicy, "send_timeout_seconds"),
        grammar=seconds(1),
        default="60",
        most=TIMEOUT_LIMIT_SECONDS,
        doc="most seconds between two writes to an endpoint or client that does not read",
    ),
    route_option(
        name="proxy-body-size",
        fills=(RoutePolicy, "max_body_bytes"),
        grammar=size,
        default="1m",
        doc="largest request body, else 413; `0` is unlimited",
    ),
    route_option(
        name="proxy-request-buffering",
        fills=(RoutePolicy, "spools_bodies"),
        grammar=on_or_off,
        default="off",
        doc="`on` receives the whole body before an endpoint is picked, so that a slow client does not hold an endpoint"
        " and another endpoint can be tried; ingress-nginx has it on by default. `off` streams. The files of one worker"
        " take 1 GiB at most, of which a namespace may hold as much as is left free; further bodies get 503",
    ),
    route_option(
        name="client-body-buffer-size",
        fills=(RoutePolicy, "spool_memory_bytes"),
        grammar=size,
        default="16k",
        most=SPOOL_MEMORY_LIMIT_BYTES,
        doc="with `proxy-request-buffering: on`, the part of a body that stays in memory; a longer body goes to a file."
        " The bodies of one worker take 64 MiB of memory at most, of which a namespace may hold as much as is left"
        " free; beyond that a body goes to a file earlier",
    ),
    route_option(
        name="proxy-busy-buffers-size",
        fills=None,
        grammar=lambda text: size(text) if text else None,
        doc="a size; accepted without effect, because zonal streams bodies without such buffers",
        if_invalid=Loss(Severity.COSMETIC, "no request notices"),
    ),
    route_option(
        name="proxy-next-upstream",
        fills=(RoutePolicy, "retry_on"),
        grammar=retry_words,
        default="error timeout",
        doc="words: `error`, `timeout`, `invalid_header`, `http_500`, `http_502`, `http_503`, `http_504`, `http_403`,"
        " `http_404`, `http_429`, `non_idempotent`, `off`. A request with a body that was sent is repeated if the body"
        " has up to 64 KiB",
        doc_on_ingress="without `non_idempotent` POST, PATCH and LOCK are sent once",
    ),
    route_option(
        name="proxy-next-upstream-tries",
        fills=(RoutePolicy, "tries"),
        grammar=integer(0),
        default="3",
        doc="endpoints tried for one request; `0` is all",
    ),
    route_option(
        name="proxy-next-upstream-timeout",
        fills=(RoutePolicy, "retry_seconds"),
        grammar=seconds(0),
        default="0",
        doc="seconds after which no other endpoint is tried; `0` is any time",
    ),
    cluster_switch(
        name="retry-non-idempotent",
        fills=(RetrySettings, "non_idempotent"),
        doc='`"true"` adds `non_idempotent` to `proxy-next-upstream`',
    ),
    route_option(
        name="proxy-http-version",
        fills=(RoutePolicy, "http_1_0"),
        grammar=Word({"1.1": False, "1.0": True}),
        default="1.1",
        doc="`1.0` or `1.1`: the version that endpoints are spoken to in. In 1.0 each request has a connection of its"
        " own, nothing may become a tunnel, and a body without a length is collected first; one of more than 1 MiB is"
        " answered with 413",
    ),
    route_option(
        name="upgrade-protocols",
        prefix=OWN_PREFIX,
        fills=(RoutePolicy, "upgrade_protocols"),
        grammar=protocols,
        default="websocket",
        doc="comma list of at most 16 protocols that may become tunnels; `h2c` never",
    ),
    ingress_option(
        name="upstream-vhost",
        fills=(RoutePolicy, "host"),
        grammar=virtual_host,
        doc="Host that endpoints get in place of the client's: a name, or a name and a port",
    ),
)
