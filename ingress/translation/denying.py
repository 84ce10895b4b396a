"""Denies an Ingress what it asks for, where serving without it would be worse: all of its paths are closed."""

from __future__ import annotations

from typing import Final, NoReturn

from ingress.findings import Report, Severity

CLOSED: Final = "Every path of the Ingress answers 503."
"""The effect of what denies."""


class Denied(Exception):
    """What an Ingress asks for cannot be carried out, and serving without it would be worse. A finding says so."""


def deny(report: Report, message: str, *, reason: str) -> NoReturn:
    """Notes that every path of the Ingress is closed, and why. Raises `Denied`."""
    report.add(reason=reason, message=message, severity=Severity.CLOSED, effect=CLOSED)
    raise Denied
