"""Says what is wrong with the build of the data plane that runs here."""

from __future__ import annotations

from balancer.runtime.build import PLAIN
from ingress.findings import Finding, Severity

REASON = "PureBuild"
SLOW_ENGINE = "SlowHttp2Engine"
SLOW_TLS = "SlowTls"


def findings_of_build(
    build: str, *, is_checkout: bool, shortfall: str, shortfall_of_tls: str = ""
) -> tuple[Finding, ...]:
    """A finding if an installation runs the plain source, and one each if HTTP/2 or TLS is slower than it could be.

    A checkout is meant to run the plain source. `shortfall` says why the engine of HTTP/2 is slower, and is empty if it
    is not; `shortfall_of_tls` says so of TLS. Requests get the same answers, so no alert watches for the severity.
    """
    findings: tuple[Finding, ...] = ()
    if build == PLAIN and not is_checkout:
        findings += (
            _finding(
                "data-plane",
                REASON,
                "The plain source runs. Install the wheel for this platform, and leave ZONAL_PURE unset.",
                "requests take up to two and a half times the CPU of the compiled build",
            ),
        )
    if shortfall:
        findings += (
            _finding(
                "http2-engine",
                SLOW_ENGINE,
                f"{shortfall}. Install the version of ngh2 that zonal's wheel requires.",
                "requests over HTTP/2 take a third more CPU, or more",
            ),
        )
    if shortfall_of_tls:
        findings += (
            _finding(
                "tls",
                SLOW_TLS,
                f"{shortfall_of_tls}. Run a Python whose ssl uses the OpenSSL of the system, as those of Debian do.",
                "requests over TLS take more CPU than they have to",
            ),
        )
    return findings


def _finding(name: str, reason: str, message: str, effect: str) -> Finding:
    return Finding("Build", "", name, reason, message, effect, Severity.COSMETIC)
