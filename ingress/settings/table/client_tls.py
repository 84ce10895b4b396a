"""Options about certificates of clients, which hold for whole hosts.

Source: ingress-nginx v1.15.1, annotations `auth-tls-*`. It must not know Secrets, hosts or handshakes.
"""

from __future__ import annotations

import re

import msgspec

from balancer.matching.regexes import pattern_problem
from balancer.model.client_tls import ClientVerification
from ingress.findings import Severity
from ingress.settings.table.access import secret_reference
from ingress.settings.table.option import ingress_option
from ingress.settings.unsupported import Loss, closing
from ingress.settings.values import InvalidValue, go_boolean, integer

_URL = re.compile(r"https?://[-._~a-zA-Z0-9/:,?&=%]{1,2000}")
_DEPTH_MOST = 100.0
_NOT_ASKED = closing(Severity.UNPROTECTED, "no client is asked for a certificate")


_VERIFICATIONS = {each.value: each for each in ClientVerification if each is not ClientVerification.ANY}


class ClientTlsOptions(msgspec.Struct, frozen=True):
    """What an Ingress says about certificates of clients. `verification` None: it says nothing about that."""

    secret: str = ""
    verification: ClientVerification | None = None
    depth: int = 1
    error_page: str = ""
    passes_certificate: bool = False
    subject_pattern: str = ""


def _verification(text: str) -> ClientVerification | None:
    if not text.strip():
        return None
    try:
        return _VERIFICATIONS[text.strip()]
    except KeyError:
        raise InvalidValue("use on, off, optional or optional_no_ca") from None


def _depth(text: str) -> int:
    """A depth of at least 1. ingress-nginx reads 0 as 1, too."""
    return integer(0)(text.strip() or "1") or 1


def _error_page(text: str) -> str:
    if text.strip() and not _URL.fullmatch(text.strip()):
        raise InvalidValue("use a URL with http:// or https://")
    return text.strip()


def subject_pattern(text: str) -> str:
    """An expression that begins with `CN=`; blank text is none."""
    pattern = text.strip()
    if not pattern:
        return ""
    if not pattern.startswith("CN="):
        raise InvalidValue("use an expression that begins with CN=")
    problem = pattern_problem(f"^(?:{pattern})")
    if problem is not None:
        raise InvalidValue(problem)
    return pattern


CLIENT_TLS_OPTIONS = (
    ingress_option(
        name="auth-tls-secret",
        fills=(ClientTlsOptions, "secret"),
        grammar=secret_reference,
        doc="`namespace/name` of a Secret whose `ca.crt` verifies certificates of clients, and whose `ca.crl` revokes"
        " some. It holds for every path of the hosts of the Ingress; the oldest Ingress of the namespace"
        " that has the host first decides, and other namespaces close their paths. Without the"
        " Secret the hosts answer 503. Plain HTTP is refused with 400 unless it is redirected, except below"
        " `no-tls-redirect-locations`. The name of the handshake must be the Host, else 421",
        if_invalid=_NOT_ASKED,
    ),
    ingress_option(
        name="auth-tls-verify-client",
        fills=(ClientTlsOptions, "verification"),
        grammar=_verification,
        default="on",
        doc="`on`: clients without a valid certificate get 400; `optional`: only clients with an invalid one do;"
        " `optional_no_ca`: certificates of unknown authorities pass as well; `off`: no certificate is asked for",
        if_invalid=Loss(Severity.DEGRADED, "a valid certificate is needed"),
    ),
    ingress_option(
        name="auth-tls-verify-depth",
        fills=(ClientTlsOptions, "depth"),
        grammar=_depth,
        default="1",
        most=_DEPTH_MOST,
        doc="how many intermediate certificates a chain may have",
        if_invalid=Loss(Severity.DEGRADED, "one intermediate certificate is allowed"),
    ),
    ingress_option(
        name="auth-tls-error-page",
        fills=(ClientTlsOptions, "error_page"),
        grammar=_error_page,
        doc="URL to which clients that would get 400 are redirected (302). Paths are not supported",
        if_invalid=Loss(Severity.DEGRADED, "clients without a valid certificate get 400"),
    ),
    ingress_option(
        name="auth-tls-pass-certificate-to-upstream",
        fills=(ClientTlsOptions, "passes_certificate"),
        grammar=go_boolean,
        default="false",
        doc="`true`: endpoints get the certificate in `ssl-client-cert`, PEM, percent-encoded. They always get"
        " `ssl-client-verify`, `ssl-client-subject-dn` and `ssl-client-issuer-dn`, and never such a field of a client",
        if_invalid=Loss(Severity.DEGRADED, "endpoints do not get the certificate"),
    ),
    ingress_option(
        name="auth-tls-match-cn",
        fills=(ClientTlsOptions, "subject_pattern"),
        grammar=subject_pattern,
        doc="an expression (RE2) that begins with `CN=` and is compared with the subject from the beginning of an"
        " attribute on; others get 403",
        if_invalid=closing(Severity.UNPROTECTED, "every certificate of the authority is let in"),
    ),
)
