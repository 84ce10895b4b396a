"""Reads what is said about a Node: whether it is ready, the CPU that its pods may use, and whether it goes away.

Knows the few fields of v1 NodeSpec and NodeStatus that zonal reads. Does not know zones.
"""

from __future__ import annotations

import msgspec

from ingress.objects.quantities import milli

LEAVING_TAINTS = frozenset(
    {
        "node.kubernetes.io/out-of-service",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.cloudprovider.kubernetes.io/shutdown",
        "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidateOfClusterAutoscaler",
        "karpenter.sh/disrupted",
        "cloud.google.com/impending-node-termination",
    }
)
"""The taints of nodes that go away, may soon, or are lost. Kubernetes, its autoscalers and clouds set them."""


class NodeTaint(msgspec.Struct, frozen=True):
    """v1 Taint. Its effect and value say nothing about whether the node goes away."""

    key: str = ""


class NodeSpec(msgspec.Struct, frozen=True):
    """v1 NodeSpec, with only those taints that are in `LEAVING_TAINTS`. Others change without news."""

    taints: tuple[NodeTaint, ...] = ()

    def __post_init__(self) -> None:
        """Drops all other taints."""
        if self.taints:
            kept = tuple(taint for taint in self.taints if taint.key in LEAVING_TAINTS)
            msgspec.structs.force_setattr(self, "taints", kept)


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
