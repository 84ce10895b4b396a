"""Holds the settings in use, for objects that outlive a swap."""

from __future__ import annotations

from balancer.model.settings import ProxySettings


class CurrentSettings:
    """The settings in use. An attribute and not a callable, because every request reads it."""

    __slots__ = ("proxy",)

    def __init__(self, proxy: ProxySettings) -> None:
        self.proxy = proxy
