"""Makes connections of hyper-h2 with the limits of zonal. They leave out the checks that `h2_engine` makes itself."""

from __future__ import annotations

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes, Settings

from balancer.http2.events import EngineLimits

_WINDOW_BYTES = 65_535  # of a connection, unless somebody says otherwise (RFC 9113 6.9.2)


def connected(is_server: bool, limits: EngineLimits) -> H2Connection:
    """A connection whose preface and settings are queued."""
    connection = H2Connection(
        H2Configuration(
            client_side=not is_server,
            header_encoding=None,
            validate_inbound_headers=False,  # our own rules do, and reset a stream instead of the connection
            normalize_inbound_headers=False,
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
    )
    window, listed = SettingCodes.INITIAL_WINDOW_SIZE, SettingCodes.MAX_HEADER_LIST_SIZE
    kind, value = (SettingCodes.MAX_CONCURRENT_STREAMS, limits.streams) if is_server else (SettingCodes.ENABLE_PUSH, 0)
    settings = {listed: limits.header_list_bytes, window: limits.stream_window, kind: value}
    connection.local_settings = Settings(client=not is_server, initial_values=settings)
    connection.decoder.max_header_list_size = 2 * limits.header_list_bytes
    connection.initiate_connection()
    if limits.connection_window > _WINDOW_BYTES:
        connection.increment_flow_control_window(limits.connection_window - _WINDOW_BYTES)
    return connection
