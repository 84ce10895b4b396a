"""What a Node says about itself: whether it is ready, and the CPU that its pods may use.

Responsible for the few fields of v1 NodeStatus that we read. It must not know zones.
"""

from __future__ import annotations

import msgspec

from ingress.quantities import milli


class NodeCondition(msgspec.Struct, frozen=True):
    """v1 NodeCondition without its times, which are heartbeats."""

    type: str = ""
    status: str = ""


class Allocatable(msgspec.Struct, frozen=True):
    """What pods may use of a Node; a manifest may state bare numbers."""

    cpu: str | int | float = ""


class NodeStatus(msgspec.Struct, frozen=True):
    """v1 NodeStatus."""

    conditions: tuple[NodeCondition, ...] = ()
    allocatable: Allocatable = Allocatable()

    @property
    def ready(self) -> bool:
        """Whether the condition Ready is True; without the condition it is not."""
        return any(condition.type == "Ready" and condition.status == "True" for condition in self.conditions)

    @property
    def cpu_milli(self) -> int:
        """Allocatable CPU in thousandths of a core, 0 where it is not stated or is no quantity."""
        return max(0, milli(self.allocatable.cpu) or 0)
