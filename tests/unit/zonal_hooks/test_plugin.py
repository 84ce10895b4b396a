"""The fixture of pytest, as the tests of a hook use it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

import pytest

from zonal_hooks.testing import TriedHook

pytest_plugins = ("pytester",)


def test_the_fixture_loads_a_hook_beside_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        tenant="from zonal_hooks import Deny, hook\n@hook\ndef request(r): return Deny(451)\n",
        test_tenant="def test_it(zonal_hook):\n"
        "    assert zonal_hook('tenant.py').request('GET http://a.test/').status == 451\n",
    )
    is_found = bool(entry_points(group="pytest11", name="zonal_hooks"))  # else the checkout was installed before
    given = () if is_found else ("-p", "zonal_hooks.plugin")
    pytester.runpytest(*given, "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_fixture_has_a_type(request: pytest.FixtureRequest) -> None:
    from zonal_hooks import plugin

    assert plugin.__annotations__ == {}
    loader: Callable[..., TriedHook] = plugin.zonal_hook.__wrapped__(request)  # type: ignore[attr-defined]
    assert loader("tenant.py", {"tenants": ["a"]}).request("GET http://a.test/").status == 403
