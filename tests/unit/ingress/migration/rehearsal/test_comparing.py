"""A request differs if another backend, another class of status or another protection would meet it."""

from __future__ import annotations

import pytest

from ingress.migration.rehearsal.comparing import Unlike, compared
from ingress.migration.rehearsal.foreseeing import Foreseen
from ingress.migration.rehearsal.lines import LoggedRequest, line_reader
from tests.unit.ingress.migration.rehearsal.logged import line

CART = Foreseen(names=frozenset({"shop-cart-80"}), place="/ of shop/web")


def logged(
    status: int = 200, upstream: str = "shop-cart-80", address: str = "10.0.0.1:80", method: str = "GET"
) -> LoggedRequest:
    found = line_reader()(line("/", status, upstream, address, method=method))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("request_", "foreseen"),
    [
        (logged(), CART),
        (logged(500), CART),
        (logged(308, "shop-cart-80", "-"), Foreseen(308)),
        (logged(301, "shop-cart-80", "-"), Foreseen(308)),
        (logged(404, "upstream-default-backend", "10.0.0.9:80"), Foreseen(404)),
        (logged(404, "", "-"), Foreseen(404)),
        (logged(503, "shop-cart-80", "-"), CART),
        (logged(499, "shop-cart-80", "-"), Foreseen(403)),
        (logged(200)._replace(passed=None), CART),
        (logged(308)._replace(passed=None), Foreseen(301)),
        (logged(401, "shop-cart-80", "-"), CART._replace(unknown=True)),
        (logged(204, "shop-cart-80", "-", "OPTIONS"), CART._replace(preflights=True)),
        (logged()._replace(upstream="shop-cart-80", alternative="shop-next-80"), CART),
    ],
)
def test_the_same(request_: LoggedRequest, foreseen: Foreseen) -> None:
    assert compared(request_, foreseen) is None


@pytest.mark.parametrize(
    ("request_", "foreseen", "kind"),
    [
        (logged(upstream="shop-api-80"), CART, Unlike.BACKEND),
        (logged(), Foreseen(503), Unlike.STATUS),
        (logged(), Foreseen(403), Unlike.PROTECTION),
        (logged(403, "shop-cart-80", "-"), CART, Unlike.PROTECTION),
        (logged(403, "shop-cart-80", "-"), Foreseen(301), Unlike.PROTECTION),
        (logged(308, "shop-cart-80", "-"), CART, Unlike.STATUS),
        (logged(200, "shop-cart-80", "-"), Foreseen(404), Unlike.STATUS),
        (logged(200)._replace(passed=None), Foreseen(503), Unlike.STATUS),
        (logged(upstream="shop-api-80")._replace(passed=None), CART, Unlike.BACKEND),
    ],
)
def test_differences(request_: LoggedRequest, foreseen: Foreseen, kind: Unlike) -> None:
    found = compared(request_, foreseen)
    assert found is not None
    assert found.kind is kind
    assert "zonal" in found.said
