"""Which objects are written, in which order, and when not."""

from __future__ import annotations

import math

import msgspec

from ingress.objects.converting import decode
from ingress.objects.kinds import Kind
from ingress.sources.events import Removed, Upserted
from ingress.sources.inventory import Inventory
from ingress.writing.gateway.due import (
    AGED_EACH,
    FINALIZER,
    GATEWAY_SECONDS,
    REFUSED_SECONDS,
    Due,
    DueWrites,
    ObjectWrite,
)
from ingress.writing.gateway.in_use import Judgement
from ingress.writing.statuses import PatchOutcome
from tests.unit.ingress.writing.gateway.objects import (
    OURS,
    VERSIONS,
    Document,
    custom,
    gateway,
    gateway_class,
    inventory_of,
    judgement_of,
    route,
)

AT = "2026-01-01T00:00:00Z"


class Scene:
    """A cluster whose objects are written as the API server would write them."""

    def __init__(self, *documents: Document) -> None:
        self.documents = {(each["kind"], each["metadata"]["name"]): dict(each) for each in documents}
        for number, each in enumerate(self.documents.values(), 1):
            each["metadata"] = {**each["metadata"], "resourceVersion": str(number), "generation": 1, "uid": str(number)}
        self.inventory = inventory_of(*self.documents.values())
        self.writes = DueWrites(OURS)
        self.version = 100

    def due(self, now: float = 0.0, judgement: Judgement | None = None, most: int = 100) -> Due:
        judgement = judgement or judgement_of(self.inventory)
        return self.writes.due(self.inventory, judgement, VERSIONS, now=now, written_at=AT, most=most)

    def put(self, document: Document, **metadata: object) -> None:
        """A new version of an object comes by the watch."""
        self.version += 1
        known = self.documents.get((document["kind"], document["metadata"]["name"]), {"metadata": {"uid": "new"}})
        whole = {**known["metadata"], **document["metadata"], **metadata, "resourceVersion": str(self.version)}
        whole.setdefault("generation", 1)
        document = {**document, "metadata": whole}
        self.documents[document["kind"], whole["name"]] = document
        item = decode(document)
        assert item is not None
        self.inventory.apply(Upserted(item))

    def carry_out(self, write: ObjectWrite, now: float = 0.0) -> None:
        """The write succeeds, and the watch reports it."""
        self.writes.noted(write, PatchOutcome.WRITTEN, now)
        document = self.documents[write.kind.value, write.name]
        fields = msgspec.json.decode(write.body)
        status = {**document.get("status", {}), **fields.get("status", {})}
        finalizers = fields["metadata"].get("finalizers", document["metadata"].get("finalizers", []))
        self.put({**document, "status": status}, finalizers=finalizers)

    def settle(self, now: float = 0.0) -> list[str]:
        """Carries out all that is due until nothing is. What was written, in order."""
        told = []
        while found := self.due(now).writes:
            told += [each.told for each in found]
            for each in found:
                self.carry_out(each, now)
            now += 2.0
        return told


def whole() -> Scene:
    return Scene(gateway_class(), gateway(), route())


def names(due: Due) -> list[str]:
    return [each.told for each in due.writes]


def test_each_object_is_written_once_and_then_never_again() -> None:
    scene = whole()
    assert scene.settle() == ["Gateway infra/gw", "GatewayClass zonal", "HTTPRoute infra/route", "GatewayClass zonal"]
    assert scene.due(1000.0) == Due()
    again = DueWrites(OURS)  # a new process
    judged = judgement_of(scene.inventory)
    assert again.due(scene.inventory, judged, VERSIONS, now=0.0, written_at="2027-01-01T00:00:00Z") == Due()


def test_a_write_names_the_version_that_was_judged_and_the_version_that_is_served() -> None:
    scene = whole()
    judged, served = judgement_of(scene.inventory), {**VERSIONS, Kind.GATEWAY: "v1beta1"}
    write = scene.writes.due(scene.inventory, judged, served, now=0.0, written_at=AT).writes[0]
    assert write.path == "/apis/gateway.networking.k8s.io/v1beta1/namespaces/infra/gateways/gw/status"
    assert msgspec.json.decode(write.body)["metadata"] == {"resourceVersion": "2"}


def test_a_kind_that_is_not_served_is_not_written() -> None:
    scene = whole()
    judged = judgement_of(scene.inventory)
    served = {Kind.GATEWAY: "v1", Kind.HTTP_ROUTE: ""}
    assert names(scene.writes.due(scene.inventory, judged, served, now=0.0, written_at=AT)) == ["Gateway infra/gw"]


def test_an_object_that_has_changed_since_waits_for_its_judgement() -> None:
    scene = whole()
    before = judgement_of(scene.inventory)
    scene.put(route(path="/new"), generation=2)
    assert "HTTPRoute infra/route" not in names(scene.due(judgement=before))
    assert "HTTPRoute infra/route" in names(scene.due())


def test_entries_of_a_route_that_was_not_judged_yet_stay() -> None:
    scene = whole()
    scene.settle()
    known, unjudged = Inventory(), judgement_of(inventory_of())
    item = decode(scene.documents["HTTPRoute", "route"])
    assert item is not None
    known.stamps.now = unjudged.seen_at
    known.apply(Upserted(item))
    assert DueWrites(OURS).due(known, unjudged, VERSIONS, now=0.0, written_at=AT) == Due()


def test_stale_entries_go_also_the_last_one() -> None:
    scene = whole()
    scene.settle()
    scene.inventory.apply(Removed(Kind.GATEWAY, "infra", "gw"))
    (write,) = [each for each in scene.due(10.0).writes if each.kind is Kind.HTTP_ROUTE]
    assert msgspec.json.decode(write.body)["status"] == {"parents": []}
    scene.carry_out(write)
    assert "HTTPRoute infra/route" not in names(scene.due(20.0))


def test_after_a_conflict_one_looks_again_only_at_a_new_version() -> None:
    scene = whole()
    (write,) = [each for each in scene.due().writes if each.kind is Kind.HTTP_ROUTE]
    scene.writes.noted(write, PatchOutcome.CHANGED, 0.0)
    assert write.told not in names(scene.due())
    scene.put(scene.documents["HTTPRoute", "route"])
    assert write.told in names(scene.due())


def test_a_gateway_is_written_once_a_second_at_most() -> None:
    scene = whole()
    scene.settle(0.0)
    scene.put(route("second"), uid="9")
    judged = scene.due(100.0)
    for each in judged.writes:
        scene.carry_out(each, 100.0)
    scene.put(route("third"), uid="10")
    found = scene.due(100.5)
    assert names(found) == ["HTTPRoute infra/third"]
    assert found.next_at == 100.0 + GATEWAY_SECONDS
    assert "Gateway infra/gw" in names(scene.due(101.0))


def test_what_became_due_last_comes_first() -> None:
    scene = whole()
    scene.due()
    scene.put(route("later"), uid="9")
    assert names(scene.due())[0] == "HTTPRoute infra/later"


def test_what_routes_are_attached_to_is_written_before_them() -> None:
    """Who sees a route accepted reads its listeners at once."""
    listeners = [{"name": "more", "port": 80, "protocol": "HTTP", "hostname": "more.test"}]
    listener_set = custom("ListenerSet", "set", {"parentRef": {"name": "gw"}, "listeners": listeners})
    calls = custom("GRPCRoute", "calls", route()["spec"] | {"rules": []})
    scene = Scene(calls, route(), gateway(allowedListeners={"namespaces": {"from": "Same"}}), listener_set)
    assert names(scene.due()) == []  # without its class nobody's
    scene.put(gateway_class())
    told = names(scene.due())
    assert told.index("ListenerSet infra/set") < told.index("Gateway infra/gw") < told.index("GRPCRoute infra/calls")
    assert told.index("ListenerSet infra/set") < told.index("HTTPRoute infra/route")


def test_of_many_some_are_written_and_what_changes_meanwhile_is_next() -> None:
    scene = Scene(gateway_class(), gateway(), *(route(f"r{number}") for number in range(9)))
    first = scene.due(most=4)
    assert (len(first.writes), first.is_more) == (4, True)
    for each in first.writes:
        scene.carry_out(each)
    scene.put(route("later"), uid="9")
    second = scene.due(most=4)
    assert "HTTPRoute infra/later" in names(second)[:2]  # beside the finalizer of the GatewayClass
    for each in second.writes:
        scene.carry_out(each)
    last = scene.due()
    assert not last.is_more
    assert {*names(first), *names(second), *names(last)} >= {f"HTTPRoute infra/r{number}" for number in range(9)}


def other(name: str, path: str = "/") -> Document:
    """A route of another namespace, which the Gateway does not take."""
    said = route(name, path=path)["spec"]
    return custom("HTTPRoute", name, {**said, "parentRefs": [{"name": "gw", "namespace": "infra"}]}, "modest")


def test_a_namespace_that_changes_all_the_time_holds_no_other_back() -> None:
    flood = [f"r{number:02}" for number in range(30)]
    scene = Scene(gateway_class(), gateway(), other("modest"), *map(route, flood))
    scene.settle()
    scene.put(other("modest", "/new"), generation=2)
    for each in flood:
        scene.put(route(each, path="/new"), generation=2)
    assert "HTTPRoute modest/modest" in names(scene.due(100.0, most=2))


def test_among_those_that_are_written_is_one_that_has_waited_longest() -> None:
    scene = Scene(gateway_class(), gateway(), *(route(f"r{number:02}") for number in range(30)))
    scene.settle()
    for number in (28, 29):
        scene.put(route(f"r{number:02}", path="/new"), generation=2)
    assert names(scene.due(100.0, most=1)) == ["HTTPRoute infra/r28"]
    for number in range(28):
        scene.put(route(f"r{number:02}", path="/new"), generation=2)
    found = names(scene.due(200.0, most=AGED_EACH))
    assert found[0] == "HTTPRoute infra/r00"
    assert "HTTPRoute infra/r29" in found


def test_what_is_changed_while_it_waits_is_as_fresh_as_any_other() -> None:
    scene = Scene(gateway_class(), gateway(), *(route(f"r{number:02}") for number in range(30)))
    scene.due(most=1)
    scene.put(route("r20", path="/new"), generation=2)
    assert names(scene.due(most=1)) == ["HTTPRoute infra/r20"]


def test_reports_of_what_was_just_written_take_no_turn() -> None:
    scene = Scene(gateway_class(), gateway(), *(route(f"r{number:02}") for number in range(30)))
    for each in scene.due().writes:
        scene.carry_out(each)
    scene.put(route("r29", path="/new"), generation=2)
    assert "HTTPRoute infra/r29" in names(scene.due(100.0, most=2))  # beside the finalizer of the GatewayClass


def test_a_refused_write_waits() -> None:
    scene = whole()
    for each in scene.due().writes:
        scene.writes.noted(each, PatchOutcome.REFUSED, 0.0)
    assert scene.due(1.0) == Due((), REFUSED_SECONDS)
    assert len(scene.due(REFUSED_SECONDS).writes) == 3


def test_a_contested_object_waits_and_the_others_do_not() -> None:
    scene = whole()
    scene.settle()
    document, now = scene.documents["HTTPRoute", "route"], 10.0
    for _ in range(4):
        scene.put({**document, "status": {"parents": []}})
        for each in scene.due(now).writes:
            scene.carry_out(each, now)
        now += 1.0
    scene.put({**document, "status": {"parents": []}})
    found = scene.due(now)
    assert found.writes == ()
    assert now < found.next_at < math.inf
    assert scene.writes.contests.contested(now) == (("HTTPRoute", "infra", "route"),)


def test_a_class_has_the_finalizer_as_long_as_gateways_use_it() -> None:
    scene = Scene(gateway_class(finalizers=["example.net/mine"]), gateway())
    scene.settle()
    metadata = scene.documents["GatewayClass", "zonal"]["metadata"]
    assert metadata["finalizers"] == ["example.net/mine", FINALIZER]
    scene.inventory.apply(Removed(Kind.GATEWAY, "infra", "gw"))
    scene.put(scene.documents["GatewayClass", "zonal"], deletionTimestamp=AT)
    scene.settle()
    assert scene.documents["GatewayClass", "zonal"]["metadata"]["finalizers"] == ["example.net/mine"]
    write = scene.writes.collection(("GatewayClass", "", "zonal"), VERSIONS)
    assert write == "/apis/gateway.networking.k8s.io/v1/gatewayclasses"


def test_a_class_that_is_deleted_gets_no_finalizer_and_a_foreign_one_nothing() -> None:
    scene = Scene(gateway_class(deletionTimestamp=AT, finalizers=["x"]), gateway())
    scene.settle()
    assert scene.documents["GatewayClass", "zonal"]["metadata"]["finalizers"] == ["x"]
    other = custom("GatewayClass", "other", {"controllerName": "example.net/other"})
    assert Scene(other, gateway(gatewayClassName="other")).settle() == []


def test_groups_name_the_right_that_is_needed() -> None:
    scene = whole()
    groups = {each.told: each.group for each in scene.due().writes}
    assert groups["HTTPRoute infra/route"] == "httproutes/status in infra"
    assert groups["GatewayClass zonal"] == "gatewayclasses/status"
    for each in scene.due().writes:
        scene.carry_out(each)
    (finalizer,) = scene.due().writes
    assert (finalizer.group, finalizer.path.endswith("/gatewayclasses/zonal")) == ("gatewayclasses", True)


def test_what_is_quiet_is_due_again_with_another_status_and_with_another_object() -> None:
    scene = whole()
    scene.settle()
    judged = judgement_of(scene.inventory)
    assert scene.due(10.0, judged) == scene.due(11.0, judged) == Due()
    without = msgspec.structs.replace(
        judged, standings=tuple(each for each in judged.standings if each.kind != "HTTPRoute")
    )
    assert names(scene.due(12.0, without)) == ["HTTPRoute infra/route"]
    assert scene.due(13.0, judged) == Due()
    scene.put({**route(), "status": {"parents": []}})
    assert names(scene.due(14.0)) == ["HTTPRoute infra/route"]
