"""The cluster's policy, and the Host that endpoints get."""

from __future__ import annotations

import pytest

from balancer.model.policies import RoutePolicy
from ingress.settings.table.routes import cluster_policy, virtual_host
from ingress.settings.values import InvalidValue
from tests.unit.ingress.said import said


def test_the_clusters_policy_takes_a_word_beside_the_others() -> None:
    assert cluster_policy(said({"proxy-next-upstream-tries": "9"})) == RoutePolicy(tries=9)
    policy = cluster_policy(said({"retry-non-idempotent": "true", "proxy-next-upstream": "timeout"}))
    assert policy == RoutePolicy(retry_on=("non_idempotent", "timeout"))


@pytest.mark.parametrize(
    "text", ["", "$host", "cart.test\r\nX: y", "cart.test:", "cart.test:http", "cart.test/x", "cart.test:123456"]
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        virtual_host(text)


@pytest.mark.parametrize("text", ["cart.test", "Cart.test:8080", "10.0.0.1"])
def test_a_virtual_host_is_sent_as_it_is_written(text: str) -> None:
    assert virtual_host(text) == text
