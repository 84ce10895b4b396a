"""Structs whose attributes compiled modules read at their places in memory, which `layouts.pxd` tells."""

from balancer.zones.cost import Tariff as TariffLayout

__all__ = ("TariffLayout",)
