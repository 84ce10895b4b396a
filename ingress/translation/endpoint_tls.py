"""TLS towards endpoints, as the annotations of an Ingress ask for it.

Responsible for their values and for the Secret they name. Whoever asks for verification that cannot be carried out
gets a closed Ingress: silently unverified would be worse than not served. It must not know hosts, paths or sockets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from cryptography import x509

from balancer.model import EndpointTls
from ingress.findings import Report, quote
from ingress.inventory import Inventory
from ingress.names import SUBDOMAIN
from ingress.values import InvalidValue, Row, ValueNotCarriedOut

SECTION = "endpoint_tls"
# The bundle of every root that browsers trust has 220 KB; it is parsed for each Ingress and goes to every worker.
_AUTHORITY_BYTES_MOST = 256 * 1024
_LATER_PROTOCOLS = frozenset({"GRPC", "GRPCS", "FCGI", "AUTO_HTTP"})


def backend_protocol(text: str) -> bool:
    """Whether endpoints are spoken to in TLS: `HTTP` or `HTTPS` in any case."""
    protocol = text.upper()
    if protocol in _LATER_PROTOCOLS:
        raise ValueNotCarriedOut("this version carries out HTTP and HTTPS")
    if protocol not in {"HTTP", "HTTPS"}:
        raise InvalidValue("use HTTP or HTTPS")
    return protocol == "HTTPS"


def on_off(text: str) -> bool:
    """`on` or `off`, case-sensitive as in ingress-nginx."""
    if text not in {"on", "off"}:
        raise InvalidValue('use "on" or "off"')
    return text == "on"


def dns_name(text: str) -> str:
    """A host name without port, in lower case."""
    if not SUBDOMAIN.fullmatch(text.lower()):
        raise InvalidValue("use a DNS name")
    return text.lower()


def virtual_host(text: str) -> str:
    """A host name with or without port, to be sent as Host (RFC 9110 7.2)."""
    name, colon, port = text.partition(":")
    if not SUBDOMAIN.fullmatch(name.lower()) or (colon and not (port.isascii() and port.isdigit() and len(port) <= 5)):
        raise InvalidValue("use a DNS name, or one with a port; variables are not carried out")
    return text


ENDPOINT_ROWS: Mapping[str, Row] = {
    "backend-protocol": Row(SECTION, "secure", backend_protocol),
    "proxy-ssl-secret": Row(SECTION, "secret", str),
    "proxy-ssl-verify": Row(SECTION, "verify", on_off),
    "proxy-ssl-name": Row(SECTION, "name", dns_name),
    "proxy-ssl-server-name": Row(SECTION, "sends_name", on_off),
    "upstream-vhost": Row("route", "host", virtual_host),
}
"""Annotations of ingress-nginx about the connection to endpoints, without their prefix."""


class Denied(Exception):
    """What was asked for cannot be carried out, and serving without it would be worse. Its finding is made."""


def read_endpoint_tls(
    said: Mapping[str, Any], *, namespace: str, inventory: Inventory, report: Report
) -> EndpointTls | None:
    """TLS towards the endpoints of an Ingress in `namespace`; None is plain HTTP. Raises `Denied`.

    `said` holds the section of `ENDPOINT_ROWS`. As in ingress-nginx the other options count only beside a Secret, and
    an unreadable Secret denies; here a wish to verify without one denies as well.
    """
    secret = said.get("secret")
    ca_pem = None if secret is None else _authority(secret, namespace=namespace, inventory=inventory, report=report)
    if not said.get("secure"):
        return None
    verify, name = bool(said.get("verify")), said.get("name")
    if ca_pem is None:
        if verify:
            _deny(report, "proxy-ssl-verify needs proxy-ssl-secret, whose ca.crt is trusted: add it.")
        if name is not None or said.get("sends_name"):
            report.add(
                reason="SecretNeeded",
                message="proxy-ssl-name and proxy-ssl-server-name count only beside proxy-ssl-secret: add it.",
                effect="The annotations have no effect.",
            )
        return EndpointTls()
    # What is verified has to be sent, too: the standard library has no other name to compare with.
    return EndpointTls(verify=verify, server_name=name if verify or said.get("sends_name") else None, ca_pem=ca_pem)


def _authority(reference: str, *, namespace: str, inventory: Inventory, report: Report) -> bytes:
    owner, slash, name = reference.rpartition("/")
    if slash and owner != namespace:
        _deny(report, f"proxy-ssl-secret {quote(reference)} is of another namespace: name one of {namespace}.")
    secret = inventory.secret(namespace, name)
    if secret is None:
        _deny(report, f"proxy-ssl-secret {quote(reference)} does not exist: create it.")
    ca_pem = secret.value("ca.crt") or b""
    if len(ca_pem) > _AUTHORITY_BYTES_MOST:
        limit = f"{_AUTHORITY_BYTES_MOST // 1024} KiB"
        _deny(report, f"ca.crt of proxy-ssl-secret {quote(reference)} is larger than {limit}: leave roots out.")
    try:
        x509.load_pem_x509_certificates(ca_pem)
    except (ValueError, x509.InvalidVersion):  # the latter is no ValueError
        _deny(report, f"proxy-ssl-secret {quote(reference)} holds no certificates in ca.crt: correct it.")
    if secret.value("tls.crt"):
        report.add(
            reason="NotCarriedOut",
            message=f"The certificate in Secret {quote(reference)} is not shown to endpoints in this version.",
            effect="Endpoints that ask for a client certificate refuse.",
        )
    return ca_pem


def _deny(report: Report, message: str) -> NoReturn:
    report.add(reason="EndpointTlsDenied", message=message, effect="Every path of the Ingress answers 503.")
    raise Denied
