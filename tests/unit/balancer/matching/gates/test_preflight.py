"""Preflights: which OPTIONS requests are answered by the gate."""

from __future__ import annotations

import msgspec
import pytest

from balancer.http.origin import Origin
from balancer.matching.gates.preflight import PreflightGate
from balancer.matching.gates.verdicts import Asked, Go, Reply, Verdict
from balancer.model.entry_points import HTTP
from balancer.model.gates import CorsPreflight
from tests.questions import question_of


def verdict(method: str, origin: str, *origins: str) -> Verdict:
    request = msgspec.structs.replace(
        question_of("http://shop.test/", [f"Origin: {origin}"]).request, method=method.encode()
    )
    asked = Asked(request, Origin(peer="10.0.0.1", entry_point=HTTP), False)
    return PreflightGate(CorsPreflight(origins)).judge(asked, lambda _: None)


@pytest.mark.parametrize("origins", [("*",), ("https://a.test",)])
def test_options_of_an_allowed_origin_are_answered(origins: tuple[str, ...]) -> None:
    assert verdict("OPTIONS", "https://a.test", *origins) == Reply(204, (), b"")


@pytest.mark.parametrize(("method", "origin"), [("GET", "https://a.test"), ("OPTIONS", "https://b.test")])
def test_every_other_request_goes_on(method: str, origin: str) -> None:
    assert verdict(method, origin, "https://a.test") == Go()
