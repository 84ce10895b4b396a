"""What a translation remembers changes nothing: after any changes, the result is that of a translation from scratch."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.runtime.steps import finished
from ingress.objects.kinds import Ingress, IngressTls, Kind, KubernetesObject, Metadata, Node, Secret, key_of
from ingress.settings.context import TranslationContext
from ingress.settings.table.option import OWN_PREFIX
from ingress.sources.contract import Wanted
from ingress.sources.events import Removed, Replaced, Upserted
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Memories, Translation, translate, with_endpoints
from tests.properties import examples
from tests.unit.ingress.cluster import (
    backend,
    config_map,
    endpoint,
    endpoint_slice,
    ingress,
    ingress_class,
    inventory,
    leaving_node,
    nginx,
    path,
    rule,
    service,
)
from tests.unit.ingress.translation.remembered import FIRST, VERSIONS, version_of

_CONTEXT = TranslationContext(zone="zone-c", allow_external_name=True)
_STEPS = st.lists(st.tuples(st.integers(0, 25), st.integers(0, 2**20), st.booleans()), min_size=5, max_size=40)


def known_at_first() -> Inventory:
    """Everything in its first version."""
    return inventory(*FIRST)


def change(known: Inventory, item: KubernetesObject, *, goes: bool) -> None:
    known.apply(Removed(item.kind, *key_of(item)) if goes else Upserted(item))


def assert_same(remembering: Translation, known: Inventory, context: TranslationContext = _CONTEXT) -> None:
    whole = translate(known, context)
    assert remembering.findings == whole.findings
    assert remembering == whole


@pytest.mark.large
@examples(120)
@given(_STEPS)
def test_any_changes_lead_where_a_translation_from_scratch_leads(steps: list[tuple[int, int, bool]]) -> None:
    known, memories = known_at_first(), Memories()
    for which, what, looks in steps:
        item, goes = version_of(which, what)
        change(known, item, goes=goes)
        if looks:
            assert_same(translate(known, _CONTEXT, memories=memories), known)
    assert_same(translate(known, _CONTEXT, memories=memories), known)


@pytest.mark.large
@examples(60)
@given(_STEPS)
def test_endpoints_may_be_made_again_in_between(steps: list[tuple[int, int, bool]]) -> None:
    known, memories = known_at_first(), Memories()
    last = translate(known, _CONTEXT, memories=memories)
    for which, what, _ in steps:
        item, goes = version_of(which, what)
        change(known, item, goes=goes)
        changes = known.take_changes()
        if changes.beyond or not last.services.isdisjoint(changes.services):
            last = translate(known, _CONTEXT, memories=memories)
        else:
            last = finished(with_endpoints(last, changes.slices_of, known))
        assert_same(last, known)


def many(count: int = 20) -> Inventory:
    """So many Ingresses with a host and a Service each."""
    names = [f"app-{number:02}" for number in range(count)]
    ingresses = (ingress(name, rule(f"{name}.test", path())) for name in names)
    return inventory(ingress_class(), *ingresses, *map(service, ["cart", *names]), endpoint_slice())


def test_what_has_not_changed_is_the_same_object() -> None:
    known, memories = many(), Memories()
    before = translate(known, _CONTEXT, memories=memories)
    known.apply(Upserted(ingress("app-07", rule("app-07.test", path("/new")))))
    after = translate(known, _CONTEXT, memories=memories)
    changed = [new.name for old, new in zip(before.model.hosts, after.model.hosts, strict=True) if old is not new]
    assert changed == ["app-07.test"]
    assert all(map(lambda old, new: old is new, before.model.backends, after.model.backends))


def test_a_service_that_a_host_no_longer_names_stays_while_another_host_does() -> None:
    known, memories = many(3), Memories()
    known.apply(Upserted(ingress("app-00", rule("app-00.test", path(to=backend("cart"))))))
    translate(known, _CONTEXT, memories=memories)
    for name, to in (("app-00", "app-02"), ("app-01", "app-02"), ("app-02", "gone"), ("app-00", "cart")):
        known.apply(Upserted(ingress(name, rule(f"{name}.test", path(to=backend(to))))))
        assert_same(translate(known, _CONTEXT, memories=memories), known)


def test_a_slice_makes_only_its_service_anew() -> None:
    known, memories = many(), Memories()
    before = translate(known, _CONTEXT, memories=memories)
    known.apply(Upserted(endpoint_slice("cart-1", endpoint("10.9.9.9"))))
    after = translate(known, _CONTEXT, memories=memories)
    changed = [
        new.service for old, new in zip(before.model.backends, after.model.backends, strict=True) if old is not new
    ]
    assert changed == ["cart"]


def test_the_policy_of_a_route_counts_while_only_another_ingress_changes() -> None:
    said = {OWN_PREFIX + "zone-policy": "ordered: rack, *"}
    asking = ingress("web", rule("a.test", path("/", to=backend("far"))), annotations=said)
    racked = Node(Metadata("n1", labels={"rack": "r1", "topology.kubernetes.io/zone": "zone-a"}))
    far = endpoint_slice("far-1", endpoint(node="n1"), of="far")
    other = ingress("other", rule("b.test", path()))
    objects = (config_map(zone_aware_routing="true"), service(), service("far"), far, endpoint_slice(), racked)
    known, memories = inventory(ingress_class(), asking, other, *objects), Memories()
    for text in ("/", "/new", "/newer"):
        known.apply(Upserted(ingress("other", rule("b.test", path(text, to=backend("cart"))))))
        assert_same(translate(known, _CONTEXT, memories=memories), known)
    known.apply(Upserted(service("new")))
    known.apply(Upserted(ingress("other", rule("b.test", path("/", to=backend("new"))))))
    made = translate(known, _CONTEXT, memories=memories)
    assert_same(made, known)
    assert [each.labels for backend in made.model.backends for each in backend.endpoints] == [(("rack", "r1"),)]


def test_a_node_that_leaves_is_seen_in_backends_that_are_otherwise_the_same() -> None:
    known, memories = known_at_first(), Memories()
    translate(known, _CONTEXT, memories=memories)
    known.apply(Upserted(leaving_node("n1", "zone-a")))
    after = translate(known, _CONTEXT, memories=memories)
    assert any(each.leaving for backend in after.model.backends for each in backend.endpoints)
    assert_same(after, known)


def test_other_options_and_another_inventory_share_nothing() -> None:
    memories = Memories()
    for known in (many(3), known_at_first(), many(4)):
        for context in (_CONTEXT, TranslationContext(allow_local_endpoints=True), _CONTEXT):
            assert_same(translate(known, context, memories=memories), known, context)


def test_a_secret_that_waits_for_its_turn_is_seen_as_it_was_and_then_as_it_is() -> None:
    (old, new), memories = VERSIONS["t"], Memories()
    secure = ingress("web", rule("a.test", path()), tls=[IngressTls(("a.test",), "t")])
    known = inventory(ingress_class(), secure, service(), endpoint_slice(), old)
    wanted = Wanted(frozenset({("shop", "t")}))
    first = translate(known, _CONTEXT, memories=memories)
    assert first.model.hosts[0].certificate == "shop/t"
    known.apply(Upserted(new))
    waiting = translate(known, _CONTEXT, memories=memories, before=wanted, judged_most=0)
    assert (waiting.is_partial, waiting.model) == (True, first.model)
    judged = translate(known, _CONTEXT, memories=memories, before=wanted, judged_most=1)
    assert_same(judged, known)
    assert judged.model.hosts[0].certificate is None  # the new one is for another host


def test_claims_see_a_secret_that_waits_for_its_turn_as_it_was() -> None:
    (authority,), memories = VERSIONS["ca"], Memories()
    asking = ingress("web", rule("a.test", path()), annotations=nginx(auth_tls_secret="shop/ca"))
    known = inventory(ingress_class(), asking, service(), endpoint_slice(), authority)
    wanted = Wanted(frozenset({("shop", "ca")}))
    first = translate(known, _CONTEXT, memories=memories)
    known.apply(Upserted(Secret(authority.metadata, {"ca.crt": "bm9uZQ=="})))
    for _ in range(2):
        waiting = translate(known, _CONTEXT, memories=memories, before=wanted, judged_most=0)
        assert (waiting.is_partial, waiting.model) == (True, first.model)
    judged = translate(known, _CONTEXT, memories=memories, before=wanted, judged_most=1)
    assert_same(judged, known)
    assert judged.model.hosts[0].routes[0].closed


def test_a_list_of_the_same_objects_changes_nothing() -> None:
    known, memories = many(), Memories()
    before = translate(known, _CONTEXT, memories=memories)
    newer = [
        msgspec.structs.replace(each, metadata=msgspec.structs.replace(each.metadata, resource_version="9"))
        for each in known.of(Ingress)
    ]
    assert not known.apply(Replaced(Kind.INGRESS, tuple(newer)))
    after = translate(known, _CONTEXT, memories=memories)
    assert all(map(lambda old, new: old is new, before.model.hosts, after.model.hosts))
    assert_same(after, known)
