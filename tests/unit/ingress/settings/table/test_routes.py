"""The cluster's policy."""

from __future__ import annotations

from balancer.model.policies import RoutePolicy
from ingress.settings.table.routes import cluster_policy
from tests.unit.ingress.said import said


def test_the_clusters_policy_takes_a_word_beside_the_others() -> None:
    assert cluster_policy(said({"proxy-next-upstream-tries": "9"})) == RoutePolicy(tries=9)
    policy = cluster_policy(said({"retry-non-idempotent": "true", "proxy-next-upstream": "timeout"}))
    assert policy == RoutePolicy(retry_on=("non_idempotent", "timeout"))
