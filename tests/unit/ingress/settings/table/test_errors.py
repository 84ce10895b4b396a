"""Options about errors: how each is read."""

from __future__ import annotations

import pytest

from ingress.settings.configmap import read_configmap
from ingress.settings.table.errors import StatusList, service_name, statuses
from ingress.settings.values import InvalidValue


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", StatusList()),
        ("503, 404,404", StatusList((404, 503))),
        ("404;503", StatusList((), ("404;503",))),
        ("200,404,600,4040,-404", StatusList((404,), ("200", "600", "4040", "-404"))),
        ("301", StatusList((301,))),
    ],
)
def test_statuses(text: str, expected: StatusList) -> None:
    assert statuses(text) == expected


@pytest.mark.parametrize("text", ["shop/err", "Err", "a.b", "a;"])
def test_a_service_is_one_of_the_namespace(text: str) -> None:
    assert (service_name(" err "), service_name(" ")) == ("err", "")
    with pytest.raises(InvalidValue):
        service_name(text)


def test_the_configmap_keeps_the_statuses_that_are_some() -> None:
    settings, (finding,) = read_configmap({"custom-http-errors": "404,abc", "disable-proxy-intercept-errors": "true"})
    assert settings.errors.pages.statuses == (404,)
    assert settings.errors.leaves_endpoints
    assert "abc" in finding.message
