"""What a translation knows besides the cluster.

Responsible for the options of this replica that decide how the cluster is read. It must not know flags or environment
variables by name.
"""

from __future__ import annotations

import msgspec

from ingress.settings.gateway_ports import GatewayServices
from ingress.settings.hooks import RegisteredHook


class TranslationContext(msgspec.Struct, frozen=True):
    """References are `namespace/name`. `ingress_class` is compared with the legacy annotation only.

    `zone` is the operator's word for the own zone, `pod_zone` the own pod's label; None where unknown. The endpoints of
    `publish_service` are our replicas. No `watch_namespaces` means all. `http_port` and `https_port` are those of the
    listeners, 0 if any free port is taken. `names_secrets`: each Secret is
    followed by its name. `can_export_spans`: OpenTelemetry's exporters are installed.
    `enable_ssl_passthrough`: the TLS of hosts passes to endpoints where an Ingress says so.
    `gateway_ports` are the ports that Gateways may open, and the names of their sockets. With `gateway_services` each
    Gateway has a Service and any port instead. Without either, Gateway API is not read. `hooks` are those that the
    operator has registered, sorted by name. `one_namespace_per_hostname`: the namespace of the oldest route owns a
    hostname of a listener.
    """

    controller_class: str = "zonal-ingress.io/controller"
    ingress_class: str = "zonal"
    watch_ingress_without_class: bool = False
    configmap: str = "zonal/zonal"
    zone: str | None = None
    node_name: str | None = None
    pod_zone: str | None = None
    allow_local_endpoints: bool = False
    allow_external_name: bool = False
    default_ssl_certificate: str | None = None
    default_backend_service: str | None = None
    watch_namespaces: tuple[str, ...] = ()
    publish_service: str | None = None
    http_port: int = 8080
    https_port: int = 8443
    names_secrets: bool = False
    can_export_spans: bool = True
    enable_ssl_passthrough: bool = False
    gateway_ports: tuple[tuple[int, str], ...] = ()
    gateway_services: GatewayServices | None = None
    hooks: tuple[RegisteredHook, ...] = ()
    one_namespace_per_hostname: bool = False

    @property
    def reads_gateways(self) -> bool:
        """Whether Gateway API is read."""
        return bool(self.gateway_ports) or self.gateway_services is not None

    @property
    def own_service(self) -> tuple[str, str] | None:
        """Namespace and name of `publish_service`."""
        namespace, _, name = (self.publish_service or "").partition("/")
        return (namespace, name) if name else None
