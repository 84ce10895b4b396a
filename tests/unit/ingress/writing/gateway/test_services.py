"""Services of Gateways: made when they are served, changed with their Gateways, deleted after them."""

from __future__ import annotations

from typing import Any

import msgspec

from ingress.objects.converting import decode
from ingress.objects.kinds import Service
from ingress.settings.gateway_ports import GatewayServices
from ingress.sources.events import BoundPort
from ingress.translation.gateway.own_ports import ExposedPort, Exposure
from ingress.translation.gateway.register import Register, read_register, service_name
from ingress.writing.gateway.services import GATEWAY_LABEL, ServiceForm, ServiceWrite, due_services

GATEWAY = ("infra", "gw")
PLAN = (BoundPort("infra", "gw", 80, 20000, "http"),)
FORM = ServiceForm(GatewayServices("zonal", (20000, 20001)), {"app": "zonal"})


def exposure(*ports: ExposedPort, **more: Any) -> Exposure:
    return Exposure(GATEWAY, ports or (ExposedPort(80, "http", 20000),), **more)


def register(write: ServiceWrite, **metadata: Any) -> Register:
    """The register after a Service was made."""
    document: Any = msgspec.json.decode(write.body)
    own = {**document["metadata"], "namespace": "zonal", "resourceVersion": "7", "uid": "u", **metadata}
    service = decode({**document, "metadata": own})
    assert isinstance(service, Service)
    return read_register([service], "zonal", FORM.options.targets)


def made(*ports: ExposedPort, form: ServiceForm = FORM, **more: Any) -> ServiceWrite:
    (write,) = due_services([exposure(*ports, **more)], PLAN, Register(), form)
    return write


def test_a_service_is_made_when_its_port_is_served() -> None:
    assert due_services([exposure(ExposedPort(80, "http"))], PLAN, Register(), FORM) == ()
    write = made()
    document: Any = msgspec.json.decode(write.body)
    assert (write.verb, write.path) == ("POST", "/api/v1/namespaces/zonal/services")
    assert document["metadata"]["name"] == service_name(GATEWAY)
    assert document["metadata"]["labels"][GATEWAY_LABEL] == "gw"
    spec = document["spec"]
    assert (spec["type"], spec["externalTrafficPolicy"], spec["selector"]) == (
        "LoadBalancer",
        "Local",
        {"app": "zonal"},
    )
    assert [(each["port"], each["targetPort"], each["appProtocol"]) for each in spec["ports"]] == [(80, 20000, "http")]


def test_nothing_is_due_where_it_is_as_it_should_be() -> None:
    assert due_services([exposure()], (), register(made()), FORM) == ()


def test_a_registered_port_stays_whatever_a_judgement_of_before_says() -> None:
    assert due_services([exposure(ExposedPort(80, "http", 0))], (), register(made()), FORM) == ()


def test_a_port_leaves_its_service_with_its_last_listener_but_the_last_one_stays() -> None:
    two = (ExposedPort(80, "http", 20000), ExposedPort(81, "http", 20001))
    plan = (*PLAN, BoundPort("infra", "gw", 81, 20001, "http"))
    (write,) = due_services([exposure(*two)], plan, Register(), FORM)
    (patch,) = due_services([exposure()], (), register(write), FORM)
    document: Any = msgspec.json.decode(patch.body)
    assert (patch.verb, document["metadata"]["resourceVersion"]) == ("PATCH", "7")
    assert [each["port"] for each in document["spec"]["ports"]] == [80]
    assert due_services([Exposure(GATEWAY)], (), register(write), FORM) == ()


def test_a_service_goes_with_its_gateway_and_not_if_it_has_changed() -> None:
    (write,) = due_services([], (), register(made()), FORM)
    assert (write.verb, write.path.rpartition("/")[2]) == ("DELETE", service_name(GATEWAY))
    assert msgspec.json.decode(write.body) == {"preconditions": {"uid": "u", "resourceVersion": "7"}}


def test_infrastructure_is_carried_and_taken_away_again() -> None:
    write = made(labels={"key2": "value2", GATEWAY_LABEL: "mine"}, annotations={"key1": "value1"})
    metadata: Any = msgspec.json.decode(write.body)["metadata"]
    assert (metadata["labels"]["key2"], metadata["labels"][GATEWAY_LABEL]) == ("value2", "gw")
    assert metadata["annotations"]["key1"] == "value1"
    (patch,) = due_services([exposure()], (), register(write), FORM)
    metadata = msgspec.json.decode(patch.body)["metadata"]
    assert (metadata["labels"]["key2"], metadata["annotations"]["key1"]) == (None, None)
    assert metadata["labels"][GATEWAY_LABEL] == "gw"


def test_external_addresses_and_types_are_those_of_the_operator() -> None:
    form = ServiceForm(GatewayServices("zonal", (20000,), "ClusterIP"), {"app": "zonal"}, distribution="")
    spec: Any = msgspec.json.decode(made(form=form, external_ips=("203.0.113.9",)).body)["spec"]
    assert spec["externalIPs"] == ["203.0.113.9"]
    assert not {"externalTrafficPolicy", "trafficDistribution"} & spec.keys()


def test_what_an_operator_adds_may_stay_and_changed_ports_may_not() -> None:
    known = register(made(), labels={"theirs": "x"})
    assert due_services([exposure()], (), known, FORM) == ()
    moved = register(made(ExposedPort(80, "http", 20000)))
    service = moved.services[GATEWAY]
    other = msgspec.structs.replace(service, spec=msgspec.structs.replace(service.spec, ports=()))
    assert due_services([exposure()], PLAN, Register({GATEWAY: other}, {}), FORM)[0].verb == "PATCH"


def test_the_label_of_a_long_name_is_cut_and_stays_unlike_others() -> None:
    names = ["a" * 100 + "1", "a" * 100 + "2"]
    plan = tuple(BoundPort("infra", name, 80, 20000 + number, "http") for number, name in enumerate(names))
    ports = [(ExposedPort(80, "http", 20000 + number),) for number in range(2)]
    exposures = [Exposure(("infra", name), ports[number]) for number, name in enumerate(names)]
    labels = [
        msgspec.json.decode(each.body)["metadata"]["labels"][GATEWAY_LABEL]
        for each in due_services(exposures, plan, Register(), FORM)
    ]
    assert len(set(labels)) == 2
    assert {len(each) for each in labels} == {63}
