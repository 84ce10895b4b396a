"""Says that there are more replicas than tell each other. Which ones that are, `ingress/replicas` decides."""

from __future__ import annotations

from typing import Final

from ingress.findings import Finding, Severity

REASON: Final = "FleetTooLarge"


def finding_of_crowd(replicas_most: int) -> Finding:
    """The finding. The text does not follow the number of replicas, because each new text would be another Event."""
    return Finding(
        kind="Option",
        namespace="",
        name="--peer-port",
        reason=REASON,
        message=f"There are more replicas than the {replicas_most + 1} that tell each other: use fewer, larger ones, "
        "or divide them into several ingresses, each with a Service and --publish-service of its own.",
        effect="The replicas beyond decide as each of them does alone; limits with limit-scope: fleet let more pass.",
        severity=Severity.DEGRADED,
    )
