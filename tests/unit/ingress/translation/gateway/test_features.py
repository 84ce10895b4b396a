"""The table of features."""

from __future__ import annotations

from ingress.translation.gateway.features import FEATURES, ROUTES_BY_PROTOCOL, Needed, supported_features


def test_features_are_sorted_and_occur_once() -> None:
    names = [each.name for each in FEATURES]
    assert names == sorted(set(names))


def test_what_needs_something_is_claimed_only_where_that_is() -> None:
    always = supported_features(())
    assert "HTTPRoute" in always
    assert not {"HTTPRouteRetry", "GatewayStaticAddresses", "GatewayInfrastructurePropagation"} & set(always)
    assert set(supported_features([Needed.EXPERIMENTAL])) - set(always) == {
        "HTTPRouteRetry",
        "HTTPRouteRetryBackendTimeout",
        "HTTPRouteRetryConnectionError",
    }
    assert supported_features(tuple(Needed)) == tuple(each.name for each in FEATURES)


def test_each_protocol_takes_a_kind_of_routes() -> None:
    assert all(ROUTES_BY_PROTOCOL.values())
    assert "UDP" not in ROUTES_BY_PROTOCOL
