"""Structs whose attributes compiled modules read at their places in memory, which `layouts.pxd` tells."""

from balancer.model.policies import RoutePolicy as RoutePolicyLayout
from balancer.model.routes import Route as RouteLayout
from balancer.model.settings import ProxySettings as ProxySettingsLayout

__all__ = ("ProxySettingsLayout", "RouteLayout", "RoutePolicyLayout")
