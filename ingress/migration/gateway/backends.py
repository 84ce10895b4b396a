"""From backends of Ingresses to backendRefs, and from TLS to endpoints to BackendTLSPolicies.

Asks the Services and Secrets of the dump. Does not know paths.
"""

from __future__ import annotations

from ingress.migration.gateway.gateways import gateway_object
from ingress.migration.moving import RawObject
from ingress.objects.kinds import IngressBackend, Secret
from ingress.settings.table.endpoint_tls import EndpointTlsOptions
from ingress.sources.inventory import Inventory


class BackendProblem(ValueError):
    """A backend has no form. The text is a sentence that says what to do."""


class ServicePorts:
    """The ports of the Services of a dump."""

    __slots__ = ("_inventory",)

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    def reference(self, namespace: str, backend: IngressBackend) -> RawObject:
        """The backendRef of a backend. Raises `BackendProblem`."""
        said = backend.service
        if said is None or not said.name:
            raise BackendProblem("the backend is no Service: name one")
        number = said.port.number
        if not number:
            service = self._inventory.service(namespace, said.name)
            ports = service.spec.ports if service is not None else ()
            number = next((each.port for each in ports if each.name == said.port.name), 0)
        if not number:
            raise BackendProblem(f"the number of the port {said.port.name} is not known: add Service {said.name}")
        return {"name": said.name, "port": number}


class TlsPolicies:
    """The BackendTLSPolicies of Services whose endpoints are spoken to over TLS, and the ConfigMaps that they need.

    `knows_secrets`: the Secrets of `inventory` are those of the cluster. `client_certificate` is the Secret, by
    namespace and name, that the Gateway has to show to endpoints; None for none.
    """

    __slots__ = ("_documents", "_inventory", "_knows_secrets", "_said", "client_certificate")

    def __init__(self, inventory: Inventory, *, knows_secrets: bool = True) -> None:
        self._inventory = inventory
        self._knows_secrets = knows_secrets
        self.client_certificate: tuple[str, str] | None = None
        self._documents: dict[tuple[str, str], list[RawObject]] = {}
        self._said: dict[tuple[str, str], EndpointTlsOptions] = {}

    def documents(self) -> list[RawObject]:
        """The objects, by namespace and Service."""
        return [each for key in sorted(self._documents) for each in self._documents[key]]

    def protect(self, namespace: str, service: str, said: EndpointTlsOptions) -> None:
        """Protects a Service. Raises `BackendProblem` where Gateway API has no form for what an Ingress says."""
        if not said.verify:
            raise BackendProblem(
                "endpoints over TLS that nobody verifies have no form: write a BackendTLSPolicy with their authority"
            )
        if said.name is None:
            raise BackendProblem("a BackendTLSPolicy needs the name of the endpoints: say proxy-ssl-name")
        key = namespace, service
        if self._said.setdefault(key, said) != said:
            raise BackendProblem(f"Service {service} is protected in another way by another Ingress")
        documents = self._written(namespace, service, said)
        self._show(said.secret)
        self._documents[key] = documents

    def _show(self, reference: str | None) -> None:
        """Notes the certificate in a Secret, if there is one: a policy has no place for it, and a Gateway one place."""
        secret = self._secret(reference) if reference is not None else None
        if secret is None or not secret.value("tls.crt"):
            return
        found, shown = (secret.metadata.namespace, secret.metadata.name), self.client_certificate
        if shown is not None and shown != found:
            raise BackendProblem(f"a Gateway shows one certificate to all endpoints: it is that of {'/'.join(shown)}")
        self.client_certificate = found

    def _secret(self, reference: str) -> Secret | None:
        return self._inventory.secret(*reference.split("/", 1)) if self._knows_secrets else None

    def _written(self, namespace: str, service: str, said: EndpointTlsOptions) -> list[RawObject]:
        documents: list[RawObject] = []
        validation: RawObject = {"hostname": said.name}
        if said.secret is None:
            validation["wellKnownCACertificates"] = "System"
        else:
            name = f"{service}-authority"
            data = {"ca.crt": self._authority(said.secret)}
            documents.append(
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": name, "namespace": namespace},
                    "data": data,
                }
            )
            validation["caCertificateRefs"] = [{"group": "", "kind": "ConfigMap", "name": name}]
        target = {"group": "", "kind": "Service", "name": service}
        spec = {"targetRefs": [target], "validation": validation}
        return [*documents, gateway_object("BackendTLSPolicy", namespace, service, spec)]

    def _authority(self, reference: str) -> str:
        """The authority in a Secret, which is no secret itself."""
        secret = self._secret(reference)
        found = secret.value("ca.crt") if secret is not None else None
        if not found:
            raise BackendProblem(f"Secret {reference} with ca.crt is not in the dump: add it")
        return found.decode("ascii", "replace")
