"""Reads the TLS settings towards endpoints from the annotations of an Ingress and their Secret.

If verification is requested and impossible, the Ingress is closed, because silently unverified requests would be worse.
Does not know hosts, paths or sockets.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NoReturn

import msgspec

from balancer.model.certificates import Authority, ClientCertificate
from balancer.model.endpoints import EndpointTls
from balancer.model.publication import RoutingModel
from ingress.findings import Report, Severity, quote
from ingress.settings.table.endpoint_tls import EndpointScheme, EndpointTlsOptions
from ingress.sources.inventory import Inventory
from ingress.translation.denying import deny
from ingress.translation.references import References
from ingress.translation.secrets.authority_keys import config_maps_of
from ingress.translation.secrets.material.bounds import UnusableMaterial
from ingress.translation.secrets.materials import Materials

_SECRET = "proxy-ssl-secret"


def read_endpoint_tls(
    options: EndpointTlsOptions, *, references: References, inventory: Inventory, materials: Materials, report: Report
) -> EndpointTls | None:
    """TLS towards the endpoints of an Ingress with these `references`; None is no TLS. Raises `Denied`.

    The other options count only together with a Secret. An unreadable Secret denies, and so does verification without a
    Secret. Endpoints that ask for a client certificate get the Secret's tls.crt.
    """
    secret = options.secret
    tls = EndpointTls()
    if secret is not None:
        if problem := references.problem(_SECRET, secret):
            deny(report, problem, reason="EndpointTlsDenied")
        tls = _held_by(secret, references=references, inventory=inventory, materials=materials, report=report)
    if options.scheme is None or not options.scheme.secure:
        return None
    tls = msgspec.structs.replace(tls, follows_client=options.scheme is EndpointScheme.AUTO)
    verify, name = options.verify, options.name
    if verify and tls.authority is None:
        message = "proxy-ssl-verify needs proxy-ssl-secret, whose ca.crt is trusted: add it."
        deny(report, message, reason="EndpointTlsDenied")
    if secret is None:
        if name is not None or options.sends_name:
            report.add(
                reason="SecretNeeded",
                message="proxy-ssl-name and proxy-ssl-server-name count only beside proxy-ssl-secret: add it.",
                severity=Severity.DEGRADED,
                effect="The annotations have no effect.",
            )
        return tls
    # The verified name has to be sent as well, because the standard library has no other name to compare with.
    sent_name = name if verify or options.sends_name else None
    oldest, newest = options.oldest_and_newest
    return msgspec.structs.replace(
        tls,
        verify=verify,
        server_name=sent_name,
        oldest=oldest,
        newest=newest,
        # OpenSSL takes an own name for its own list.
        ciphers="" if options.ciphers == "DEFAULT" else options.ciphers,
        # Without verification nothing is counted, and backends that differ in nothing else are one.
        intermediates=options.intermediates if verify else EndpointTls().intermediates,
    )


def _held_by(
    reference: str, *, references: References, inventory: Inventory, materials: Materials, report: Report
) -> EndpointTls:
    """The roots in the Secret and the client certificate; at least one of the two. Raises `Denied`."""

    def refuse(problem: str) -> NoReturn:
        deny(report, references.told(_SECRET, reference, problem), reason="EndpointTlsDenied")

    secret = inventory.secret(*references.key(reference))
    if secret is None:
        refuse(f"proxy-ssl-secret {quote(reference)} {inventory.why_no_secret(*references.key(reference))}")
    ca_pem, chain_pem, key_pem = (secret.value(key) or None for key in ("ca.crt", "tls.crt", "tls.key"))
    has_pair = chain_pem is not None or key_pem is not None
    if ca_pem is None and not has_pair:
        refuse(f"proxy-ssl-secret {quote(reference)} holds neither ca.crt nor tls.crt and tls.key: add them.")
    try:
        if ca_pem is not None:
            materials.authority(ca_pem)
    except UnusableMaterial as problem:
        refuse(f"ca.crt of proxy-ssl-secret {quote(reference)} {problem}: correct it.")
    try:
        if has_pair:
            materials.pair(chain_pem, key_pem)
    except UnusableMaterial as problem:
        refuse(f"proxy-ssl-secret {quote(reference)} {problem}: give it a matching tls.crt and tls.key.")
    key = "/".join(references.key(reference))
    return EndpointTls(authority=key if ca_pem else None, client_certificate=key if has_pair else None)


def with_secrets(model: RoutingModel, inventory: Inventory, materials: Materials) -> RoutingModel:
    """`model` with every authority and client certificate that its backends, hosts and listeners name, by key.

    `inventory` is the one in which `read_endpoint_tls` and `read_client_tls` have read them, with `materials`. What
    cannot be used is left out, and then no handshake that needs it succeeds.
    """
    ways = {backend.tls for backend in model.backends if backend.tls is not None}
    demands = [*(each.client_demand for each in model.hosts), *(each.client_demand for each in model.listeners)]
    asked = {each.authority for each in demands if each is not None}
    trusted = sorted(asked | {way.authority for way in ways if way.authority is not None})
    shown = sorted({way.client_certificate for way in ways if way.client_certificate is not None})
    authorities: list[Authority] = []
    certificates: list[ClientCertificate] = []
    for key in trusted:
        with suppress(UnusableMaterial):
            authorities.append(_authority(key, inventory, materials, is_announced=key in asked))
    for key in shown:
        with suppress(UnusableMaterial):
            pair = materials.pair(_text(key, "tls.crt", inventory), _text(key, "tls.key", inventory))
            certificates.append(ClientCertificate(key, pair.chain_pem, pair.private_key_pem))
    return msgspec.structs.replace(model, authorities=tuple(authorities), client_certificates=tuple(certificates))


def _authority(key: str, inventory: Inventory, materials: Materials, *, is_announced: bool) -> Authority:
    crl_pem = materials.revocation_lists(_text(key, "ca.crl", inventory)) if is_announced else b""
    return Authority(key, materials.authority(_text(key, "ca.crt", inventory), is_announced=is_announced), crl_pem)


def _text(key: str, entry: str, inventory: Inventory) -> bytes:
    if config_maps := config_maps_of(key):
        held = (inventory.config_map(*each) for each in config_maps)
        texts = (each.data.get(entry, "").encode("utf-8", "replace") for each in held if each is not None)
        return b"\n".join(text for text in texts if text)
    namespace, _, name = key.partition("/")
    secret = inventory.secret(namespace, name)
    return (secret.value(entry) if secret is not None else None) or b""
