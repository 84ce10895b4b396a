"""Reads what a Node reports about itself: whether it is ready, and the CPU that its pods may use.

Knows the few fields of v1 NodeStatus that zonal reads. Does not know zones.
"""

from __future__ import annotations

import msgspec

from ingress.objects.quantities import milli


class NodeCondition(msgspec.Struct, frozen=True):
    """v1 NodeCondition without its times, which are heartbeats."""

    type: str = ""
    status: str = ""


class Allocatable(msgspec.Struct, frozen=True):
    """What pods may use of a Node. A manifest may contain bare numbers."""

    cpu: str | int | float = ""


class NodeStatus(msgspec.Struct, frozen=True):
    """v1 NodeStatus."""

    conditions: tuple[NodeCondition, ...] = ()
    allocatable: Allocatable = Allocatable()

    @property
    def ready(self) -> bool:
        """Whether the condition Ready is True. Without the condition the Node is not ready."""
        return any(condition.type == "Ready" and condition.status == "True" for condition in self.conditions)

    @property
    def cpu_milli(self) -> int:
        """Allocatable CPU in thousandths of a core; 0 if it is missing or not a quantity."""
        return max(0, milli(self.allocatable.cpu) or 0)
