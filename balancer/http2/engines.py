"""Makes the engine of a connection: chooses the library that reads and writes frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from importlib import import_module
from typing import NamedTuple

from balancer import BUILD
from balancer.http2.engine import SERVER, Engine
from balancer.http2.events import EngineLimits
from balancer.model.settings import Http2Settings

NGH2, H2 = "ngh2", "h2"
"""The names of the libraries: nghttp2, and hyper-h2, which is Python."""
BINDING = "binding"
"""nghttp2 by its Cython binding, as NGH2 is on the plain source. Compiled builds take it in comparisons only."""

_BINDING = ("balancer.http2.ngh2_engine", "Ngh2Engine")
_NATIVE = ("balancer.http2.native_engine", "NativeEngine")
_ENGINES = {NGH2: (_NATIVE, _BINDING) if BUILD else (_BINDING,), BINDING: (_BINDING,), H2: ()}


class EngineChoice(NamedTuple):
    """The class of engines that is taken, and why a faster one is not: empty if none was wanted."""

    make: Callable[[bool, EngineLimits], Engine]
    shortfall: str


def make_engine(role: bool, limits: EngineLimits, library: str = NGH2) -> Engine:
    """An engine in the `role` of CLIENT or SERVER. Its preface and settings are queued.

    A compiled build asks nghttp2 itself. hyper-h2 takes the place of ngh2 where that cannot be imported, as on
    interpreters other than CPython. The first engine of a process imports its library, so that a process to which
    nobody speaks HTTP/2 has none.
    """
    return _choice(library).make(role, limits)


def shortfall() -> str:
    """Why this process has a slower engine than the one that its build is made for; empty if it has that one.

    Imports the engine.
    """
    return _choice(NGH2).shortfall


@cache
def _choice(library: str) -> EngineChoice:
    """What is taken for a library."""
    return choose(_ENGINES[library])


def choose(engines: Iterable[tuple[str, str]]) -> EngineChoice:
    """The first of these classes, each by its module and its name, that can be imported; hyper-h2's if none can."""
    lacking = ""
    for module, name in engines:
        try:
            made: Callable[[bool, EngineLimits], Engine] = getattr(import_module(module), name)
        except ImportError as error:
            lacking = lacking or str(error)
            continue
        return EngineChoice(made, lacking)
    from balancer.http2.h2_engine import H2Engine

    return EngineChoice(H2Engine, lacking)


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
