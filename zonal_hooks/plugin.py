"""The pytest fixture `zonal_hook`, which pytest finds by itself where zonal is installed.

def test_a_stranger_is_refused(zonal_hook):
    tenant = zonal_hook("tenant.py", settings={"tenants": ["gold"]})
    assert tenant.request("GET https://shop.test/", {"x-tenant": "tin"}).status == 403
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from zonal_hooks.testing import TriedHook, try_file


@pytest.fixture
def zonal_hook(request: pytest.FixtureRequest) -> Callable[..., TriedHook]:
    """Loads a hook: a path relative to the folder of the test, and its settings."""
    folder = Path(str(request.path)).parent

    def load(path: str | Path, settings: Mapping[str, Any] | str = "") -> TriedHook:
        return try_file(folder / path, settings)

    return load
