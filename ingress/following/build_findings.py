"""Says what is wrong with the build of the data plane that runs here."""

from __future__ import annotations

from balancer.runtime.build import PLAIN
from ingress.findings import Finding, Severity

REASON = "PureBuild"


def findings_of_build(build: str, *, is_checkout: bool) -> tuple[Finding, ...]:
    """A finding if an installation runs the plain source. A checkout is meant to run it.

    Requests get the same answers, so no alert watches for the severity.
    """
    if build != PLAIN or is_checkout:
        return ()
    return (
        Finding(
            kind="Build",
            namespace="",
            name="data-plane",
            reason=REASON,
            message="The plain source runs. Install the wheel for this platform, and leave ZONAL_PURE unset.",
            effect="requests take two to three times the CPU of the compiled build",
            severity=Severity.COSMETIC,
        ),
    )
