"""Which options of TLS a listener may have."""

from __future__ import annotations

import pytest

from ingress.translation.gateway.listener_options import OLDEST_TLS, oldest_tls, options_problem


@pytest.mark.parametrize(("said", "meant"), [("TLSv1_3", "TLSv1_3"), ("1.3", "TLSv1_3"), ("TLSv1_2", "TLSv1_2")])
def test_a_version_may_be_demanded(said: str, meant: str) -> None:
    assert options_problem({OLDEST_TLS: said}) is None
    assert oldest_tls({OLDEST_TLS: said}) == meant


@pytest.mark.parametrize(
    "options",
    [{OLDEST_TLS: "TLSv1_1"}, {OLDEST_TLS: ""}, {"tls-min-version": "1.3"}, {OLDEST_TLS: "1.3", "other.io/x": "y"}],
)
def test_what_is_unknown_is_a_problem_that_names_it(options: dict[str, str]) -> None:
    problem = options_problem(options)
    assert problem is not None
    assert any(name in problem for name in options)


def test_nothing_is_demanded_by_nothing() -> None:
    assert options_problem({}) is None
    assert oldest_tls({}) == ""
