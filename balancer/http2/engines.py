"""Makes the engine of a connection: chooses the library that reads and writes frames."""

from __future__ import annotations

from functools import lru_cache

from balancer.http2.engine import SERVER, Engine
from balancer.http2.events import EngineLimits
from balancer.model.settings import Http2Settings

NGH2, H2 = "ngh2", "h2"
"""The names of the libraries: nghttp2 in a Cython binding, and hyper-h2, which is Python."""


def make_engine(role: bool, limits: EngineLimits, library: str = NGH2) -> Engine:
    """An engine in the `role` of CLIENT or SERVER. Its preface and settings are queued.

    hyper-h2 takes the place of ngh2 where that cannot be imported, as on interpreters other than CPython.
    """
    if library == NGH2:
        try:
            from balancer.http2.ngh2_engine import Ngh2Engine
        except ImportError:
            pass
        else:
            return Ngh2Engine(role, limits)
    from balancer.http2.h2_engine import H2Engine

    return H2Engine(role, limits)


def make_server_engine(settings: Http2Settings) -> Engine:
    """The engine of a client's connection, with the limits and the library of `settings`."""
    return make_engine(SERVER, _limits(settings), settings.engine.value)


@lru_cache(maxsize=2)  # connections are many, settings one, or two while they change
def _limits(settings: Http2Settings) -> EngineLimits:
    return EngineLimits(
        streams=settings.streams,
        header_list_bytes=settings.head_bytes,
        header_fields=settings.head_lines_max,
        flood_frames=settings.idle_frames,
        flood_resets=settings.resets,
    )
