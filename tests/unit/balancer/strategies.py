"""Hypothesis strategies for backends as they really change: few addresses, few zones, any conditions."""

from __future__ import annotations

from hypothesis import strategies as st

from balancer.model.endpoints import Backend, Endpoint
from balancer.model.zones import ZONES_OFF, OwnZone, ZonePolicy, ZonePolicyName
from tests.builders import backend, endpoint, own_zone

zones = st.sampled_from(["zone-a", "zone-b", "zone-c", None])
own_zones: st.SearchStrategy[OwnZone] = zones.map(own_zone)
policies: st.SearchStrategy[ZonePolicy] = st.one_of(
    st.just(ZONES_OFF),
    st.builds(
        ZonePolicy,
        name=st.just(ZonePolicyName.PREFER_ZONE),
        min_endpoints=st.integers(1, 3),
        min_percent=st.sampled_from([0, 25, 50, 100]),
    ),
)


@st.composite
def endpoints_of(draw: st.DrawFn, *, ready: st.SearchStrategy[bool], size: int = 8) -> tuple[Endpoint, ...]:
    """Sorted endpoints with distinct addresses; those that are not ready may still serve while they terminate."""
    found = []
    for number in sorted(draw(st.sets(st.integers(1, size)))):
        is_ready = draw(ready)
        terminating = not is_ready and draw(st.booleans())
        found.append(endpoint(f"10.0.0.{number}", zone=draw(zones), ready=is_ready, serving_terminating=terminating))
    return tuple(found)


any_endpoints = st.one_of(endpoints_of(ready=st.booleans()), endpoints_of(ready=st.just(False)))
ready_endpoints = endpoints_of(ready=st.just(True)).filter(bool)


def backends(key: str = "shop/cart:80") -> st.SearchStrategy[Backend]:
    return st.builds(lambda of, policy: backend(key, of, zone_policy=policy), any_endpoints, policies)
