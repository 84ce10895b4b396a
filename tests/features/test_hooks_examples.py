"""The examples of hooks do what their first lines say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest

from tests.unit.sources import ROOT
from zonal_hooks.testing import TriedHook, try_file

EXAMPLES = ROOT / "deploy" / "examples" / "hooks"
URL = "GET https://shop.test/cart"
KEY = "k" * 32


@pytest.fixture
def example() -> Callable[..., TriedHook]:
    def load(name: str, **settings: Any) -> TriedHook:
        return try_file(EXAMPLES / name, settings)

    return load


def test_there_are_five() -> None:
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == {"tenant.py", "claims.py", "stamp.py", "maintenance.py", "ab_test.py"}


def test_a_tenant_is_let_in_with_its_tier(example: Callable[..., TriedHook]) -> None:
    tenant = example("tenant.py", tiers={"acme": "gold"})
    assert tenant.request(URL, {"X-Tenant": "acme", "X-Tenant-Tier": "mine"}).headers.all("x-tenant-tier") == ("gold",)
    assert tenant.request(URL, {"X-Tenant": "other"}).status == 403
    assert tenant.request(URL).status == 403


def test_claims_of_a_token_become_fields(example: Callable[..., TriedHook]) -> None:
    claims = example("claims.py", key=KEY, algorithms=["HS256"], audience="shop", headers={"sub": "x-user"})

    def asked(token: str) -> Any:
        return claims.request(URL, {"Authorization": f"Bearer {token}", "X-User": "root"})

    good = {"sub": "u7", "aud": "shop", "exp": datetime.now(UTC) + timedelta(hours=1)}
    assert asked(jwt.encode(good, KEY, "HS256")).headers.all("x-user") == ("u7",)
    for wrong in (
        jwt.encode(good, "x" * 32, "HS256"),
        jwt.encode({**good, "aud": "other"}, KEY, "HS256"),
        jwt.encode({**good, "exp": datetime.now(UTC) - timedelta(hours=1)}, KEY, "HS256"),
        jwt.encode(good, "", "none"),
        "garbage",
    ):
        told = asked(wrong)
        assert (told.status, told.headers["www-authenticate"]) == (401, 'Bearer error="invalid_token"')
    assert claims.request(URL, {"X-User": "root"}).status == 401


def test_a_response_is_stamped(example: Callable[..., TriedHook]) -> None:
    stamp = example("stamp.py", set={"x-frame-options": "DENY"}, remove=["server"])
    told = stamp.response(200, {"Server": "web", "X-Frame-Options": "ALLOW"})
    assert list(told.headers) == [("x-frame-options", "DENY")]


def test_maintenance_has_a_beginning_and_an_end(example: Callable[..., TriedHook]) -> None:
    now = datetime.now(UTC)

    def asked(begin: timedelta, end: timedelta, client: str = "192.0.2.1") -> Any:
        window = {"begin": (now + begin).isoformat(), "end": (now + end).isoformat()}
        return example("maintenance.py", let_in=["10.0.0.0/8"], **window).request(URL, client=client)

    hour = timedelta(hours=1)
    told = asked(-hour, hour)
    assert (told.status, told.body) == (503, b"We are back soon.")
    assert 3500 < int(told.headers["retry-after"]) < 3700
    assert asked(-hour, hour, "10.1.2.3").passed
    assert asked(hour, 2 * hour).passed
    assert asked(-2 * hour, -hour).passed


def test_a_share_of_the_clients_gets_the_canary(example: Callable[..., TriedHook]) -> None:
    half = example("ab_test.py", percent=50)
    said = [half.request(URL, {"Cookie": f"uid=u{number}"}).choice.canary for number in range(200)]
    assert 60 < said.count(True) < 140
    assert said == [half.request(URL, {"Cookie": f"uid=u{number}"}).choice.canary for number in range(200)]
    assert example("ab_test.py", percent=0).request(URL).choice.canary is False
    assert example("ab_test.py", percent=100).request(URL).choice.canary is True


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_says_how_it_is_selected(path: Path) -> None:
    name = path.stem.replace("_", "-")
    assert f'zonal-ingress.io/hooks: "{name}"' in path.read_text()
    assert f"zonal-ingress.io/hook-{name}: '{{" in path.read_text()
