"""The options that say how a cluster or a folder is read, alike for every command that reads one.

Does not know commands, nor what the options mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ingress.cli.flags import BadInput, option, reference, switch

if TYPE_CHECKING:
    from ingress.settings.context import TranslationContext
    from ingress.settings.gateway_ports import GatewayPorts, GatewayServices

_CONTROLLER = "zonal-ingress.io/controller"
_WATCH_NAMESPACE = "Watch only these namespaces (repeatable); default: all."
_TCP_SERVICES = "ConfigMap that leads ports of --gateway-ports to Services without HTTP."
_DEFAULT_BACKEND = "Service for requests that no rule matches."

ZONE = option("--zone", help="Zone of this replica; overrides the discovered zone.")
NODE_NAME = option("--node-name", also="NODE_NAME", help="Node on which this replica runs.")
POD_ZONE = option("--pod-zone", also="POD_ZONE", help="Zone label of this pod.")
CONFIGMAP = option("--configmap", default="zonal/zonal", help="The ConfigMap with the settings.", metavar="NS/NAME")
INGRESS_CLASS = option("--ingress-class", default="zonal", help="Value of the legacy class annotation.")
CONTROLLER_CLASS = option("--controller-class", default=_CONTROLLER, help="Controller value of our IngressClasses.")
WATCH_NAMESPACE = option("--watch-namespace", multiple=True, help=_WATCH_NAMESPACE)
WITHOUT_CLASS = switch("--watch-ingress-without-class", help="Serve Ingresses that name no class.")
DEFAULT_BACKEND = option("--default-backend-service", help=_DEFAULT_BACKEND, metavar="NS/NAME")
LOCAL_ENDPOINTS = switch("--allow-local-endpoints", help="Allow loopback and link-local endpoints (demo, tests).")
EXTERNAL_NAME = switch("--allow-external-name", help="Serve Services of type ExternalName, on public addresses only.")

PASSTHROUGH = switch("--enable-ssl-passthrough", help="Pass the TLS of hosts to endpoints where an Ingress says so.")

TCP_SERVICES = option("--tcp-services-configmap", help=_TCP_SERVICES, metavar="NS/NAME")
UDP_SERVICES = option("--udp-services-configmap", help="Refused with a finding: no UDP is served.", metavar="NS/NAME")


ONE_NAMESPACE = switch(
    "--one-namespace-per-hostname", help="The namespace of the oldest route owns a hostname of a listener."
)


def context_of(given: Mapping[str, Any]) -> TranslationContext:
    """How the cluster is read, by the options that were given. Not every command has every option.

    Raises `BadInput`.
    """
    from balancer.logs.tracing.exporting import can_export
    from ingress.settings.context import TranslationContext
    from ingress.settings.gateway_ports import NO_GATEWAYS

    bound = gateway_ports_of(given.get("gateway_ports", "")).by_client_port
    ports = tuple((port, str(target)) for port, target in bound)
    return TranslationContext(
        controller_class=given["controller_class"],
        ingress_class=given["ingress_class"],
        watch_ingress_without_class=given["watch_ingress_without_class"],
        configmap=reference("--configmap", given["configmap"]) or "",
        zone=given["zone"] or None,
        node_name=given["node_name"] or None,
        pod_zone=given["pod_zone"] or None,
        allow_local_endpoints=given["allow_local_endpoints"],
        allow_external_name=given["allow_external_name"],
        enable_ssl_passthrough=given["enable_ssl_passthrough"],
        default_ssl_certificate=reference("--default-ssl-certificate", given.get("default_ssl_certificate")),
        default_backend_service=reference("--default-backend-service", given["default_backend_service"]),
        watch_namespaces=tuple(given["watch_namespace"]),
        publish_service=reference("--publish-service", given["publish_service"]),
        http_port=given.get("http_port") or 0,
        https_port=given.get("https_port") or 0,
        names_secrets=given.get("secret_scope") == "name",
        can_export_spans=can_export(),
        tcp_services_configmap=reference("--tcp-services-configmap", given["tcp_services_configmap"]),
        udp_services_configmap=reference("--udp-services-configmap", given["udp_services_configmap"]),
        tcp_ports=ports,
        gateway_ports=ports if given.get("gateway_addresses") != NO_GATEWAYS else (),
        gateway_services=_gateway_services(given),
        one_namespace_per_hostname=given["one_namespace_per_hostname"],
    )


def gateway_ports_of(text: str) -> GatewayPorts:
    """The value of `--gateway-ports`. Raises `BadInput`."""
    from ingress.settings.gateway_ports import read_gateway_ports

    try:
        return read_gateway_ports(text)
    except ValueError as problem:
        raise BadInput(f"--gateway-ports {problem}") from None


def _gateway_services(given: Mapping[str, Any]) -> GatewayServices | None:
    """The Services of Gateways; None if Gateways share addresses, or are read from a folder."""
    from ingress.settings.gateway_ports import read_gateway_services

    if "gateway_addresses" not in given:
        return None
    configured, _, _ = given["configmap"].partition("/")
    try:
        services = read_gateway_services(
            gateway_ports_of(given["gateway_ports"]),
            given["gateway_addresses"],
            given["gateway_external_ips"],
            namespace=given["pod_namespace"] or configured,
            cluster_domain=given["gateway_aliases"],
        )
    except ValueError as problem:
        raise BadInput(str(problem)) from None
    return services if given["source"] in (None, "", "kubernetes") else None
