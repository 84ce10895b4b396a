"""The inventory is the same however the cluster was told."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.findings import Finding, Severity
from ingress.objects.gateway import Gateway
from ingress.objects.gateway_routes import HttpRoute, HttpRouteSpec
from ingress.objects.kinds import (
    EndpointSlice,
    Ingress,
    IngressClass,
    IngressStatus,
    Kind,
    LoadBalancerStatus,
    Metadata,
    Node,
    PublishedAddress,
    Service,
)
from ingress.sources.events import Event, Removed, Replaced, SourceFindings, Upserted
from ingress.sources.inventory import REQUIRED_KINDS, Inventory
from tests.unit.ingress.cluster import (
    config_map,
    endpoint_slice,
    full_node,
    ingress,
    ingress_class,
    inventory,
    node,
    rule,
    service,
    tls_secret,
)


def test_it_is_complete_once_every_required_kind_has_delivered_even_nothing() -> None:
    known = Inventory()
    for kind in sorted(REQUIRED_KINDS, key=lambda kind: kind.value):
        assert not known.complete
        assert known.apply(Replaced(kind, ()))
    assert known.complete


def test_single_objects_do_not_complete_it() -> None:
    known = Inventory()
    for item in (ingress(), ingress_class(), service(), endpoint_slice()):
        known.apply(Upserted(item))
    assert not known.complete


def test_objects_are_read_by_kind_and_name() -> None:
    known = inventory(ingress(), ingress_class(), service(), node(), config_map(), tls_secret("t", b"c", b"k"))
    assert [item.metadata.name for item in known.of(Ingress)] == ["web"]
    assert [item.metadata.name for item in known.of(IngressClass)] == ["zonal"]
    assert known.service("shop", "cart") == service()
    assert known.service("other", "cart") is None
    assert known.node("node-1") == node()
    assert known.config_map("zonal", "zonal") == config_map()
    assert known.secret("shop", "t") == tls_secret("t", b"c", b"k")


def test_a_replay_changes_nothing() -> None:
    known = inventory(service())
    assert not known.apply(Upserted(service()))
    assert not known.apply(Replaced(Kind.SERVICE, (service(),)))


def test_a_newer_version_is_of_one_object_that_is_known_and_no_slice() -> None:
    known = inventory(ingress("web", rule()), endpoint_slice())
    assert known.is_newer_version(Upserted(ingress("web", rule("b.test"))))
    assert not known.is_newer_version(Upserted(ingress("other", rule())))
    assert not known.is_newer_version(Upserted(endpoint_slice()))
    assert not known.is_newer_version(Removed(Kind.INGRESS, "shop", "web"))
    assert not known.is_newer_version(Replaced(Kind.INGRESS, ()))


def test_a_new_resource_version_alone_changes_nothing() -> None:
    known = inventory(service())
    metadata = msgspec.structs.replace(service().metadata, resource_version="2")
    assert not known.apply(Upserted(msgspec.structs.replace(service(), metadata=metadata)))


def test_a_new_status_of_an_ingress_is_kept_and_changes_nothing() -> None:
    known = inventory(ingress())
    status = IngressStatus(LoadBalancerStatus((PublishedAddress(ip="203.0.113.7"),)))
    written = msgspec.structs.replace(ingress(), status=status)
    assert not known.apply(Upserted(written))
    assert list(known.of(Ingress)) == [written]
    assert known.apply(Upserted(msgspec.structs.replace(written, spec=ingress("web", class_name="other").spec)))


def test_an_object_with_a_new_status_has_the_spec_that_was_known() -> None:
    known = inventory(HttpRoute(metadata=Metadata("web", "shop"), spec=HttpRouteSpec(hostnames=("web.test",))))
    (before,) = known.of(HttpRoute)
    metadata = Metadata("web", "shop", resource_version="2")
    written = HttpRoute(metadata=metadata, spec=HttpRouteSpec(hostnames=("web.test",)), status=msgspec.Raw(b"{}"))
    assert not known.apply(Upserted(written))
    (after,) = known.of(HttpRoute)
    assert after == written
    assert after.spec is before.spec


def test_a_new_generation_counts_where_a_status_names_it_and_nowhere_else() -> None:
    for record, kind in ((Gateway, True), (Service, False)):
        known = Inventory()
        known.apply(Upserted(record(metadata=Metadata("x", "shop", generation=1))))
        assert known.apply(Upserted(record(metadata=Metadata("x", "shop", generation=2)))) is kind


def test_objects_are_read_by_their_record() -> None:
    gateway = Gateway(metadata=Metadata("gw", "infra"))
    known = inventory(gateway, service())
    assert list(known.of(Gateway)) == [gateway]
    assert not known.of(HttpRoute)


def test_new_content_and_a_new_uid_are_changes() -> None:
    known = inventory(service())
    metadata = msgspec.structs.replace(service().metadata, uid="2")
    assert known.apply(Upserted(service(annotations={"a": "b"})))
    assert known.apply(Upserted(msgspec.structs.replace(service(), metadata=metadata)))


def test_a_replacement_removes_what_vanished() -> None:
    known = inventory(service("a"), service("b"))
    assert known.apply(Replaced(Kind.SERVICE, (service("b"),)))
    assert known.service("shop", "a") is None
    assert known.service("shop", "b") is not None


def test_removing_what_is_not_there_changes_nothing() -> None:
    known = inventory(service())
    assert known.apply(Removed(Kind.SERVICE, "shop", "cart"))
    assert not known.apply(Removed(Kind.SERVICE, "shop", "cart"))


def test_slices_are_grouped_by_their_service() -> None:
    known = inventory(endpoint_slice("a"), endpoint_slice("b"), endpoint_slice("c", of="other"))
    assert sorted(item.metadata.name for item in known.slices("shop", "cart")) == ["a", "b"]
    assert list(known.slices("elsewhere", "cart")) == []


def test_a_slice_that_changes_its_service_leaves_the_old_one() -> None:
    known = inventory(endpoint_slice("a"))
    known.apply(Upserted(endpoint_slice("a", of="other")))
    assert list(known.slices("shop", "cart")) == []
    assert [item.metadata.name for item in known.slices("shop", "other")] == ["a"]


def test_a_slice_without_the_label_belongs_to_no_service() -> None:
    known = inventory(EndpointSlice(Metadata("a", "shop")))
    assert list(known.slices("shop", "cart")) == []


def test_what_a_source_finds_replaces_what_it_found_before() -> None:
    first, second = (Finding("File", "", name, "A", "b", "c", Severity.CLOSED) for name in ("x", "y"))
    known = Inventory()
    assert known.apply(SourceFindings("folder", (first,)))
    assert not known.apply(SourceFindings("folder", (first,)))
    assert known.apply(SourceFindings("other", (second,)))
    assert list(known.findings) == [first, second]
    assert known.apply(SourceFindings("folder", ()))
    assert list(known.findings) == [second]


def test_metadata_alone_leaves_what_a_node_has_said_of_itself() -> None:
    known = Inventory()
    known.apply(Upserted(_with_uid(full_node("node-1", "zone-a"), "1")))
    assert known.apply(Upserted(_with_uid(node("node-1", "zone-b"), "1")))
    assert known.node("node-1") == _with_uid(full_node("node-1", "zone-b"), "1")
    assert not known.apply(Upserted(_with_uid(node("node-1", "zone-b"), "1")))
    assert list(known.of(Node)) == [known.node("node-1")]


@pytest.mark.parametrize("uid", ["", "2"])
def test_a_node_that_may_be_another_one_has_said_nothing_yet(uid: str) -> None:
    known = Inventory()
    known.apply(Upserted(_with_uid(full_node("node-1", "zone-a"), uid and "1")))
    assert known.apply(Upserted(_with_uid(node("node-1", "zone-a"), uid)))
    assert known.node("node-1") == _with_uid(node("node-1", "zone-a"), uid)


def _with_uid(item: Node, uid: str) -> Node:
    return msgspec.structs.replace(item, metadata=msgspec.structs.replace(item.metadata, uid=uid))


_NAMES = st.sampled_from(["a", "b", "c"])
_EVENTS = st.one_of(
    _NAMES.map(lambda name: Upserted(service(name))),
    _NAMES.map(lambda name: Removed(Kind.SERVICE, "shop", name)),
    st.lists(_NAMES, unique=True).map(lambda names: Replaced(Kind.SERVICE, tuple(map(service, names)))),
    st.tuples(_NAMES, _NAMES).map(lambda pair: Upserted(endpoint_slice(pair[0], of=pair[1]))),
    _NAMES.map(lambda name: Removed(Kind.ENDPOINT_SLICE, "shop", name)),
)


@given(st.lists(_EVENTS, max_size=12))
def test_applying_is_idempotent_and_answers_whether_content_differs(events: list[Event]) -> None:
    known = inventory()
    for event in events:
        before = _content(known)
        assert known.apply(event) == (_content(known) != before)
        after = _content(known)
        assert not known.apply(event)
        assert _content(known) == after


def _content(known: Inventory) -> tuple[list[Service | None], list[list[str]]]:
    names = ("a", "b", "c")
    services = [known.service("shop", name) for name in names]
    return services, [sorted(item.metadata.name for item in known.slices("shop", name)) for name in names]
