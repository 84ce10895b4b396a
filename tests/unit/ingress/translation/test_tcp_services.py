"""Lines of `--tcp-services-configmap` become entry points on bound sockets; what cannot be carried out is a finding."""

from __future__ import annotations

import msgspec
import pytest

from balancer.model.entry_points import EntryPoint, Protocol
from balancer.model.routes import ServiceName
from ingress.findings import Severity
from ingress.objects.kinds import ConfigMap, KubernetesObject, Metadata, Service, ServicePort, ServicePortReference
from ingress.settings.context import TranslationContext
from ingress.settings.gateway_ports import GatewayServices
from ingress.settings.values import InvalidValue
from ingress.translation.assembly import Translation
from ingress.translation.tcp_services import TcpService, gateway_services, reserved_targets, tcp_line
from tests.unit.ingress.cluster import config_map, inventory, reasons, service, translated
from tests.unit.ingress.translation.gateway.objects import gateway, gateway_class, listener, read

NAMED = TranslationContext(tcp_services_configmap="edge/tcp", tcp_ports=((5432, "20001"), (9000, "20002")))
RANGE = TranslationContext(
    tcp_services_configmap="edge/tcp",
    gateway_services=GatewayServices("zonal", tuple(range(20000, 20004))),
    publish_service="zonal/zonal",
)
POSTGRES = service("postgres", ServicePort(5432, "sql"), namespace="db")
OWN = service(
    "zonal", ServicePort(80, "http", target_port="http"), ServicePort(5432, "sql", target_port=20003), namespace="zonal"
)


def lines(**data: str) -> ConfigMap:
    return ConfigMap(Metadata("tcp", "edge"), {name.removeprefix("p"): text for name, text in data.items()})


def shown(*objects: KubernetesObject, context: TranslationContext = NAMED) -> Translation:
    return translated(POSTGRES, config_map(), *objects, context=context)


def open_ports(made: Translation) -> dict[int, str]:
    return {each.port: each.socket for each in made.model.entry_points if each.protocol is Protocol.TCP}


@pytest.mark.parametrize(
    ("text", "read_it"),
    [
        ("db/postgres:5432", TcpService(5432, ServiceName("db", "postgres"), ServicePortReference(number=5432))),
        ("db/postgres:sql", TcpService(5432, ServiceName("db", "postgres"), ServicePortReference(name="sql"))),
        ("db/a:1:PROXY", TcpService(5432, ServiceName("db", "a"), ServicePortReference(number=1), True)),
        ("db/a:1:proxy:PROXY", TcpService(5432, ServiceName("db", "a"), ServicePortReference(number=1), True, True)),
        ("db/a:1::PROXY", TcpService(5432, ServiceName("db", "a"), ServicePortReference(number=1), False, True)),
        ("db/a:1:", TcpService(5432, ServiceName("db", "a"), ServicePortReference(number=1))),
    ],
)
def test_a_line_names_a_service_and_who_speaks_the_proxy_protocol(text: str, read_it: TcpService) -> None:
    assert tcp_line("5432", text) == read_it


@pytest.mark.parametrize(
    ("port", "text"),
    [
        ("5432", ""),
        ("5432", "postgres:5432"),
        ("5432", "db/postgres"),
        ("5432", "db/postgres:"),
        ("5432", "db/postgres:99999"),
        ("5432", "db/postgres:5432:TLS"),
        ("5432", "db/postgres:5432:PROXY:PROXY:PROXY"),
        ("5432", "db/x/y:5432"),
        ("5432", "Db/postgres:5432"),
        ("0", "db/postgres:5432"),
        ("65536", "db/postgres:5432"),
        ("²", "db/postgres:5432"),
        ("sql", "db/postgres:5432"),
    ],
)
def test_what_is_no_line_is_refused(port: str, text: str) -> None:
    with pytest.raises(InvalidValue):
        tcp_line(port, text)


def test_a_line_is_an_entry_point_and_a_route_to_its_service() -> None:
    made = shown(lines(p5432="db/postgres:sql::PROXY", p9000="db/postgres:5432:PROXY"))
    assert made.findings == ()
    assert [each for each in made.model.entry_points if each.protocol is Protocol.TCP] == [
        EntryPoint("tcp:5432", Protocol.TCP, 5432, "20001", "tcp:5432", reads_proxy_header=False),
        EntryPoint("tcp:9000", Protocol.TCP, 9000, "20002", "tcp:9000", reads_proxy_header=True),
    ]
    first, second = made.model.relays
    assert (first.configuration, first.sends_proxy_line, second.sends_proxy_line) == ("tcp:5432", True, False)
    assert first.branches[0].backend == "db/postgres:5432"
    assert first.branches[0].owner.full_name == "edge/tcp"
    assert ("edge", "tcp") in made.wanted.config_maps


def test_a_bad_line_concerns_no_other() -> None:
    made = shown(lines(p5432="db/postgres:5432", p9000="nonsense"))
    assert open_ports(made) == {5432: "20001"}
    assert [(each.name, each.reason, each.severity) for each in made.findings] == [
        ("tcp", "TcpServiceInvalid", Severity.CLOSED)
    ]


def test_a_missing_service_resets_connections_and_is_said() -> None:
    made = shown(lines(p5432="db/nobody:5432"))
    assert open_ports(made) == {5432: "20001"}
    assert made.model.relays[0].branches[0].backend is None
    assert reasons(made.findings) == [("tcp", "ServiceMissing")]


def test_a_port_that_is_not_bound_says_which_line_to_add() -> None:
    (finding,) = shown(lines(p6379="db/postgres:5432")).findings
    assert (finding.reason, "6379=BOUND" in finding.message) == ("PortUnavailable", True)
    (finding,) = shown(lines(p6379="db/postgres:5432"), OWN, context=RANGE).findings
    assert "add port 6379 to the Service zonal/zonal, with a targetPort from 20000 to 20003" in finding.message
    nameless = msgspec.structs.replace(RANGE, publish_service=None)
    (finding,) = shown(lines(p6379="db/postgres:5432"), context=nameless).findings
    assert "--publish-service" in finding.message


def test_in_a_range_our_own_service_says_where_a_port_stands() -> None:
    made = shown(lines(p5432="db/postgres:5432"), OWN, context=RANGE)
    assert open_ports(made) == {5432: "20003"}
    assert made.findings == ()


def test_what_our_own_service_leads_to_is_for_no_gateway() -> None:
    known = inventory(OWN)
    left = gateway_services(known, RANGE)
    assert left is not None
    assert left.targets == (20000, 20001, 20002)
    assert gateway_services(inventory(), RANGE) == RANGE.gateway_services
    udp = Service(OWN.metadata, msgspec.structs.replace(OWN.spec, ports=(ServicePort(1, "", "UDP", "", 20001),)))
    assert reserved_targets(udp, range(20000, 20004)) == {}
    assert reserved_targets(None, range(20000, 20004)) == {}


def test_the_operators_line_has_a_shared_port_before_any_gateway() -> None:
    context = msgspec.structs.replace(NAMED, gateway_ports=NAMED.tcp_ports)
    route = read(
        "TCPRoute",
        "r",
        parentRefs=[{"name": "gw"}],
        rules=[{"backendRefs": [{"name": "postgres", "namespace": "db", "port": 5432}]}],
    )
    theirs = (gateway_class(), gateway(listener("raw", 5432, "TCP")), route)
    made = shown(lines(p5432="db/postgres:5432"), *theirs, context=context)
    assert [each.configuration for each in made.model.relays] == ["tcp:5432"]
    sockets = [each.socket for each in made.model.entry_points]
    assert len(sockets) == len(set(sockets))
    (standing,) = (each for each in made.standings if each.kind == "Gateway")
    assert "PortUnavailable" in str(standing)


def test_without_the_config_map_nothing_is_open_and_it_is_said() -> None:
    made = shown()
    assert open_ports(made) == {}
    assert reasons(made.findings) == [("tcp", "ConfigMapMissing")]


def test_udp_is_refused() -> None:
    (finding,) = shown(context=TranslationContext(udp_services_configmap="edge/udp")).findings
    assert (finding.name, finding.reason, finding.severity) == ("udp", "UdpNotServed", Severity.CLOSED)
