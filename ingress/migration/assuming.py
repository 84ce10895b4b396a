"""Adds the objects of kinds that a dump leaves out, so that the rest of the dump can be checked.

A repository has no EndpointSlices, and careful people dump no Secrets. If a dump has objects of a kind, none is
added: a Service that is missing among others is missing. Does not know how the objects are judged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ingress.migration.overrides import overrides_of
from ingress.objects.kinds import (
    EndpointSlice,
    Ingress,
    IngressBackend,
    Kind,
    Metadata,
    Secret,
    Service,
    ServicePort,
    ServiceReference,
    ServiceSpec,
    SliceEndpoint,
    SlicePort,
)
from ingress.settings.table.redirects import HostAliases
from ingress.sources.inventory import SERVICE_LABEL

_ADDRESS = "192.0.2.1"  # RFC 5737: for documentation only
_NAMED_PORT = 80
_DAYS = 365
# A certificate for more names than clients read helps nobody.
_NAMES_MOST = 100
_PASSWORDS = "zonal:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="

SUPPOSED: Mapping[Kind, str] = {
    Kind.SERVICE: "The dump has no Services: every Service that an Ingress names is taken as present.",
    Kind.ENDPOINT_SLICE: "The dump has no EndpointSlices: every Service is taken to have an endpoint.",
    Kind.SECRET: "The dump has no Secrets: every Secret that is named is taken as present and valid.",
}
"""The kinds that are supposed where a dump has none of them, with the sentence that says so."""


def services_for(ingresses: Iterable[Ingress]) -> tuple[Service, ...]:
    """Every Service that the Ingresses name, with the ports that they name."""
    ports: dict[tuple[str, str], dict[ServicePort, None]] = {}
    for ingress in ingresses:
        for reference in _references(ingress):
            port = ServicePort(port=reference.port.number or _NAMED_PORT, name=reference.port.name)
            ports.setdefault((ingress.metadata.namespace, reference.name), {})[port] = None
    return tuple(
        Service(Metadata(name=name, namespace=namespace), ServiceSpec(ports=tuple(named)))
        for (namespace, name), named in ports.items()
    )


def slices_for(services: Iterable[Service]) -> tuple[EndpointSlice, ...]:
    """One slice with one endpoint for every Service that has endpoints in the cluster."""
    return tuple(
        EndpointSlice(
            Metadata(
                name=service.metadata.name,
                namespace=service.metadata.namespace,
                labels={SERVICE_LABEL: service.metadata.name},
            ),
            address_type="IPv4",
            endpoints=(SliceEndpoint(addresses=(_ADDRESS,)),),
            ports=tuple(SlicePort(name=port.name, port=port.port) for port in service.spec.ports),
        )
        for service in services
        if service.spec.type != "ExternalName"
    )


def secrets_for(wanted: Collection[tuple[str, str]], ingresses: Iterable[Ingress]) -> tuple[Secret, ...]:
    """The Secrets `wanted`, by namespace and name, with everything that an annotation may look for in one.

    Takes a millisecond for each: a certificate is made for the hosts and aliases of the Ingresses that name it.
    """
    names: dict[tuple[str, str], dict[str, None]] = {key: {} for key in wanted}
    for ingress in ingresses:
        own = (*(rule.host for rule in ingress.spec.rules), *overrides_of(ingress).over(HostAliases()).names)
        for section in ingress.spec.tls:
            key = ingress.metadata.namespace, section.secret_name
            if key in names:
                names[key].update(dict.fromkeys((*section.hosts, *own)))
    return tuple(
        Secret(Metadata(name=name, namespace=namespace), string_data=_contents([*hosts]))
        for (namespace, name), hosts in sorted(names.items())
    )


def _references(ingress: Ingress) -> Iterator[ServiceReference]:
    backends = [path.backend for rule in ingress.spec.rules if rule.http for path in rule.http.paths]
    for backend in (ingress.spec.default_backend or IngressBackend(), *backends):
        if backend.service is not None and backend.service.name:
            yield backend.service


def _contents(hosts: list[str]) -> dict[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "zonal check")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=_DAYS))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    named = [x509.DNSName(host) for host in hosts if host.isascii() and host][:_NAMES_MOST]
    if named:
        builder = builder.add_extension(x509.SubjectAlternativeName(named), critical=False)
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    return {"tls.crt": pem, "tls.key": private, "ca.crt": pem, "auth": _PASSWORDS}
