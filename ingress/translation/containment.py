"""What a mistake of ours costs: the object that brought it to light, and no other.

Translation is not to raise for what a cluster holds. Should it do so all the same, whoever wrote the object gets a
finding and everybody else is served. It must not know what is translated.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import PurePath
from typing import TypeVar

from ingress.findings import Report

_Made = TypeVar("_Made")


def contained(make: Callable[[], _Made], report: Report, *, effect: str) -> _Made | None:
    """What `make` gives; None, with a finding in `report`, if it raises. The finding quotes nothing of the object."""
    try:
        return make()
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = f"zonal failed on it ({type(error).__name__}, {PurePath(where.filename).name} line {where.lineno}): "
        report.add(reason="InternalError", message=message + "report this, and change it meanwhile.", effect=effect)
        return None
