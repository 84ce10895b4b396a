"""How zonal wants connections of nghttp2 to be: their configuration, the settings that they say first, and which fields
the binding is told never to index.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

from ngh2 import Configuration, Header, NeverIndexedHeader, Setting

from balancer.http.messages import Fields
from balancer.http2.engine import SERVER
from balancer.http2.events import EngineLimits
from balancer.http2.fields import NEVER_ALIKE

WINDOW_BYTES = 65_535
"""Of a connection, and of a stream, unless somebody says otherwise (RFC 9113 6.9.2)."""

MANY = (2**32, 2**32)  # floods are counted in front of every engine in the same way
_name = itemgetter(0)  # of a field


@lru_cache(maxsize=4)  # of the few limits that are in use
def configuration(limits: EngineLimits) -> Configuration:
    """What the library is told of a connection: no bounds below those that zonal counts itself."""
    return Configuration(
        auto_window_update=False,
        peer_max_concurrent_streams=1,
        max_outbound_ack=1000,
        stream_reset_rate_limit=MANY,
        max_continuations=limits.continuations,
        glitch_rate_limit=MANY,
        max_inbound_header_list_size=2 * limits.header_list_bytes,
        max_inbound_header_count=2 * limits.header_fields,
    )


def settings_of(role: bool, limits: EngineLimits) -> dict[int, int]:
    """The settings that the peer of a connection in this role hears."""
    settings: dict[int, int] = {Setting.MAX_HEADER_LIST_SIZE: limits.header_list_bytes}
    if role is SERVER:
        settings[Setting.MAX_CONCURRENT_STREAMS] = limits.streams
        settings[Setting.NO_RFC7540_PRIORITIES] = 1
    else:
        settings[Setting.ENABLE_PUSH] = 0
    if limits.stream_window != WINDOW_BYTES:
        settings[Setting.INITIAL_WINDOW_SIZE] = limits.stream_window
    return settings


def marked(fields: Fields) -> Sequence[Header]:
    """The fields of a head as the library gets them."""
    return [NeverIndexedHeader(*field) if field[0] in NEVER_ALIKE else field for field in fields]


def marked_if_any(fields: Fields) -> Sequence[Header]:
    """`marked` for the head of an answer, which seldom has a field to mark. A request has one, its id."""
    return fields if NEVER_ALIKE.isdisjoint(map(_name, fields)) else marked(fields)
