"""Findings reach the log and Events when they are old enough, also if nothing else changes."""

from __future__ import annotations

import asyncio
import logging

import pytest

from ingress.findings import Finding, Severity
from ingress.following.finding_telling import FindingTelling

NO_ENDPOINT = Finding("Service", "shop", "cart", "NoReadyEndpoint", "None is ready.", "503.", Severity.CLOSED)
WRONG = Finding("Ingress", "shop", "web", "InvalidIngress", "It is wrong.", "503.", Severity.CLOSED)


async def test_a_finding_that_lasts_is_told_without_another_change(caplog: pytest.LogCaptureFixture) -> None:
    told: list[tuple[Finding, ...]] = []
    lasted = asyncio.Event()

    def tell(findings: tuple[Finding, ...]) -> None:
        told.append(findings)
        if NO_ENDPOINT in findings:
            lasted.set()

    telling = FindingTelling(tell, age_seconds=0.05)
    telling.follow((NO_ENDPOINT, WRONG))
    assert told == [(WRONG,)]
    async with asyncio.timeout(10):
        await lasted.wait()
    assert told[-1] == (NO_ENDPOINT, WRONG)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert ["InvalidIngress" in line for line in warnings] == [True, False]
    telling.close()


async def test_what_passes_leaves_no_line(caplog: pytest.LogCaptureFixture) -> None:
    told: list[tuple[Finding, ...]] = []
    telling = FindingTelling(told.append, age_seconds=3600.0)
    telling.follow((NO_ENDPOINT,))
    telling.follow(())
    telling.close()
    assert told == [(), ()]
    assert caplog.records == []
