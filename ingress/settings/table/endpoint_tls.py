"""Options about how endpoints are spoken to: the protocol, and TLS.

Responsible for ingress-nginx's `backend-protocol` and `proxy-ssl-*`. It must not know Secrets, hosts or sockets.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from ingress.findings import Severity
from ingress.objects.names import HOST
from ingress.settings.near_names import near
from ingress.settings.table.listener_tls import CIPHERS, versions
from ingress.settings.table.option import ingress_option
from ingress.settings.unsupported import Loss, closing
from ingress.settings.values import HarmlessValue, InvalidValue, Word, integer, matching

_SECURE = frozenset({"https", "grpcs"})
_OTHER_PROTOCOLS = frozenset({"FCGI"})


class EndpointScheme(Enum):
    """How endpoints are spoken to; `AUTO`: as the client speaks to zonal. gRPC is HTTP/2."""

    HTTP = "HTTP"
    HTTPS = "HTTPS"
    AUTO = "AUTO_HTTP"
    GRPC = "GRPC"
    GRPCS = "GRPCS"

    @property
    def http2(self) -> bool:
        """Whether endpoints are spoken to in HTTP/2."""
        return self in (EndpointScheme.GRPC, EndpointScheme.GRPCS)

    @property
    def secure(self) -> bool:
        """Whether all requests, or some, go to endpoints over TLS."""
        return self in (EndpointScheme.HTTPS, EndpointScheme.AUTO, EndpointScheme.GRPCS)


class EndpointTlsOptions(msgspec.Struct, frozen=True):
    """What an Ingress says about TLS towards its endpoints.

    `scheme` says which requests go to endpoints over TLS, and in which version of HTTP; None: the Ingress does not say,
    so the Service does. `secret` is the Secret with roots and the certificate to
    show. `name` is what to verify and, with `sends_name`, the SNI. The last three are as in `EndpointTls`.
    """

    scheme: EndpointScheme | None = None
    secret: str | None = None
    verify: bool = False
    name: str | None = None
    sends_name: bool = False
    oldest_and_newest: tuple[str, str] = ("TLSv1_2", "TLSv1_3")
    ciphers: str = ""
    intermediates: int = 1


def backend_protocol(text: str) -> EndpointScheme:
    """How endpoints are spoken to: `HTTP`, `HTTPS`, `AUTO_HTTP`, `GRPC` or `GRPCS` in any case."""
    protocol = text.upper()
    if protocol in _OTHER_PROTOCOLS:
        raise InvalidValue("zonal supports HTTP, HTTPS, AUTO_HTTP, GRPC and GRPCS only")
    try:
        return EndpointScheme(protocol)
    except ValueError:
        if near(text, _SECURE):
            raise InvalidValue("use HTTPS or GRPCS") from None  # a misspelled request for TLS
        # As in ingress-nginx, where such an Ingress is served over plain HTTP.
        raise HarmlessValue("use HTTP, HTTPS, AUTO_HTTP, GRPC or GRPCS") from None


on_off = Word({"on": True, "off": False})
"""`on` or `off`, case-sensitive as in ingress-nginx."""


def dns_name(text: str) -> str:
    """A host name without port, in lower case. No handshake can send one that DNS cannot have."""
    if not HOST.fullmatch(text.lower()):
        raise InvalidValue("use a DNS name")
    return text.lower()


ENDPOINT_TLS_OPTIONS = (
    ingress_option(
        name="backend-protocol",
        fills=(EndpointTlsOptions, "scheme"),
        grammar=backend_protocol,
        doc="`HTTP`, `HTTPS`, `AUTO_HTTP` (requests that came over TLS go on over TLS), `GRPC` or `GRPCS` (HTTP/2,"
        " the last over TLS),"
        " in any case: how endpoints are spoken to. Without the annotation it is HTTP/2 if the Service port has the"
        " `appProtocol` `kubernetes.io/h2c` or `grpc`, else HTTP/1.1. FCGI closes the paths; for any other"
        " word, endpoints get plain HTTP/1.1",
        if_invalid=closing(Severity.MISROUTED, "endpoints are spoken to in a protocol that they do not expect"),
    ),
    ingress_option(
        name="proxy-ssl-secret",
        fills=(EndpointTlsOptions, "secret"),
        grammar=str,
        doc="a Secret of the same namespace. Its `ca.crt` is trusted, its `tls.crt` and `tls.key` are shown to"
        " endpoints that ask for a client certificate; one of the two is enough, each has at most 256 KiB. Without"
        " the Secret the next three do not count, and if it cannot be read every path answers 503",
    ),
    ingress_option(
        name="proxy-ssl-verify",
        fills=(EndpointTlsOptions, "verify"),
        grammar=on_off,
        doc="`on`: an endpoint whose certificate does not verify gets no request (502); needs the Secret with `ca.crt`,"
        " else 503",
        if_invalid=closing(Severity.UNPROTECTED, "the certificates of endpoints are not verified"),
    ),
    ingress_option(
        name="proxy-ssl-name",
        fills=(EndpointTlsOptions, "name"),
        grammar=dns_name,
        doc="the name to verify, sent as SNI with it; without it the certificate must name the endpoint's address",
    ),
    ingress_option(
        name="proxy-ssl-server-name",
        fills=(EndpointTlsOptions, "sends_name"),
        grammar=on_off,
        doc="`on`: send that name as SNI also where nothing is verified",
    ),
    ingress_option(
        name="proxy-ssl-verify-depth",
        fills=(EndpointTlsOptions, "intermediates"),
        grammar=integer(0),
        doc="how many certificates may stand between that of an endpoint and a trusted one; without it 1",
        if_invalid=Loss(Severity.DEGRADED, "one intermediate certificate is allowed"),
    ),
    ingress_option(
        name="proxy-ssl-protocols",
        fills=(EndpointTlsOptions, "oldest_and_newest"),
        grammar=versions,
        doc="`TLSv1.2`, `TLSv1.3` or both, which is the default",
        if_invalid=Loss(Severity.UNPROTECTED, "TLS 1.2 and 1.3 are spoken to endpoints"),
    ),
    ingress_option(
        name="proxy-ssl-ciphers",
        fills=(EndpointTlsOptions, "ciphers"),
        grammar=matching(CIPHERS, "use an OpenSSL cipher list"),
        doc="an OpenSSL list of the ciphers for TLS 1.2; with a list that names no known cipher, requests answer 502",
        if_invalid=Loss(Severity.UNPROTECTED, "OpenSSL's ciphers are offered to endpoints"),
    ),
)
