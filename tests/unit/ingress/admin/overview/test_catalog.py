"""What the model says about Services, followed from model to model."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Backend
from balancer.model.publication import RoutingModel
from balancer.model.routes import Host
from balancer.model.zones import OwnZone, Zone, ZonePolicy, ZonePolicyName
from balancer.zones.reasons import Reason
from ingress.admin.overview.catalog import Catalog
from ingress.admin.overview.document import Mode, ModeEvent, ServiceZone
from tests import builders as build

CART = ("shop", "cart")


def model(*backends: Backend, zone: str = "zone-a", hosts: Sequence[Host] = ()) -> RoutingModel:
    return RoutingModel(backends=backends, hosts=tuple(hosts), own_zone=OwnZone(Zone(zone), "flag"))


def follow(catalog: Catalog, *models: RoutingModel) -> Catalog:
    """Follows one model each second."""
    for second, each in enumerate(models):
        for _ in catalog.follow(each, now=float(second)):
            pass
    return catalog


def cart(zones: str, policy: ZonePolicy = build.PREFER_ZONE, *, key: str = "shop/cart:80") -> Backend:
    return build.backend(key, build.endpoints(zones), zone_policy=policy)


def test_a_service_has_the_mode_and_reason_of_its_policy() -> None:
    facts = follow(Catalog(), model(cart("aab"))).services[CART]
    assert (facts.policy, facts.mode, facts.reason) == ("prefer-zone", Mode.ZONAL, Reason.ZONE_LOCAL)
    assert facts.zones == (ServiceZone("zone-a", ready=2), ServiceZone("zone-b", ready=1))


def test_a_service_without_endpoints_is_empty_and_one_without_a_policy_is_general() -> None:
    off = ZonePolicy()
    catalog = follow(Catalog(), model(cart("", off), cart("ab", off, key="shop/pay:80")))
    assert catalog.services[CART].mode is Mode.EMPTY
    assert catalog.services["shop", "pay"].reason is Reason.OFF


def test_a_strict_list_without_a_match_refuses() -> None:
    strict = ZonePolicy(ZonePolicyName.ORDERED, keys=("topology.kubernetes.io/zone",))
    assert follow(Catalog(), model(cart("bb", strict))).services[CART].mode is Mode.REFUSING


def test_changes_of_the_mode_are_remembered_with_their_time() -> None:
    catalog = follow(Catalog(), model(cart("ab")), model(cart("bb")), model(cart("bbb")), model(cart("ab")))
    assert catalog.changes[CART] == (
        ModeEvent(0.0, Mode.ZONAL, "zone_local"),
        ModeEvent(1.0, Mode.GENERAL, "zone_empty"),
        ModeEvent(3.0, Mode.ZONAL, "zone_local"),
    )


def test_only_so_many_changes_are_remembered() -> None:
    catalog = follow(Catalog(), *(model(cart("ab" if turn % 2 else "bb")) for turn in range(40)))
    assert len(catalog.changes[CART]) == 8


def test_another_own_zone_judges_everything_anew() -> None:
    backend = cart("aa")
    catalog = follow(Catalog(), model(backend), model(backend, zone="zone-b"))
    assert catalog.services[CART].reason is Reason.ZONE_EMPTY


def test_a_service_that_is_gone_is_told_once_and_forgotten() -> None:
    catalog = follow(Catalog(), model(cart("ab")))
    assert catalog.take_changed() == {CART}
    follow(catalog, model())
    assert catalog.take_changed() == {CART}
    assert (catalog.services, catalog.changes, +catalog.zones) == ({}, {}, {})


def test_a_service_that_routes_name_in_vain_is_empty() -> None:
    catalog = follow(Catalog(), model(hosts=[Host("shop.test", (build.route(to=None),))]))
    assert catalog.services["shop", "missing"].mode is Mode.EMPTY
    follow(catalog, model())
    assert catalog.services == {}


def test_of_several_ports_the_first_that_leaves_zonal_mode_speaks() -> None:
    ports = cart("ab", key="shop/cart:80"), cart("b", key="shop/cart:81"), cart("", key="shop/cart:82")
    facts = follow(Catalog(), model(*ports)).services[CART]
    assert (facts.mode, facts.reason) == (Mode.GENERAL, Reason.ZONE_EMPTY)
    assert facts.zones == (ServiceZone("zone-a", ready=1), ServiceZone("zone-b", ready=2))


@given(st.lists(st.dictionaries(st.sampled_from(["x", "y", "z"]), st.text("abc-", max_size=3)), max_size=6))
def test_following_from_model_to_model_ends_as_beginning_with_the_last(steps: list[dict[str, str]]) -> None:
    models = [model(*(cart(zones, key=f"shop/{name}:80") for name, zones in sorted(each.items()))) for each in steps]
    followed, fresh = follow(Catalog(), *models), follow(Catalog(), *models[-1:])
    assert followed.services == fresh.services
    assert +followed.zones == +fresh.zones


def test_the_expected_load_of_the_own_zone_is_the_highest_of_all_ports() -> None:
    ports = cart("abbbbbcccccc", key="shop/cart:80"), cart("aabbcc", key="shop/cart:81")
    catalog = follow(Catalog(), model(*ports, cart("bc", key="shop/pay:80")))
    assert catalog.services[CART].expected_load == 4.0
    assert catalog.services["shop", "pay"].expected_load is None
    assert catalog.expected_loads() == {("shop", "cart", "zone-a"): 4.0}
