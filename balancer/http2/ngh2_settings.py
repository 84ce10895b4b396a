"""How zonal wants connections of nghttp2 to be: their configuration, and the settings that they say first."""

from __future__ import annotations

from functools import lru_cache

from ngh2 import Configuration, Setting

from balancer.http2.engine import SERVER
from balancer.http2.events import EngineLimits

WINDOW_BYTES = 65_535
"""Of a connection, and of a stream, unless somebody says otherwise (RFC 9113 6.9.2)."""

MANY = (2**32, 2**32)  # floods are counted in front of every engine in the same way


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
