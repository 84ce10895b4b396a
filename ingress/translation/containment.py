"""Limits the damage of a bug in zonal to the object that triggers it.

Translation must not raise, whatever a cluster holds. If it does, the author of the object gets a finding and all other
objects are served. Does not know what is translated.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import PurePath
from typing import TypeVar

from ingress.findings import Report, Severity

_Made = TypeVar("_Made")


def contained(make: Callable[[], _Made], report: Report, *, effect: str, severity: Severity) -> _Made | None:
    """The result of `make`; None with a finding in `report` if it raises. The finding quotes nothing of the object."""
    try:
        return make()
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = f"zonal failed here ({type(error).__name__}, {PurePath(where.filename).name} line {where.lineno}): "
        report.add(
            reason="InternalError",
            message=message + "please report this bug, and change the object meanwhile.",
            severity=severity,
            effect=effect,
        )
        return None
