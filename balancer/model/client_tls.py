"""Client certificates in the model: what handshakes of a host ask clients for, and what that means for requests.

Source: ingress-nginx v1.15.1, annotations `auth-tls-*`.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class ClientVerification(Enum):
    """Which clients pass (nginx `ssl_verify_client`)."""

    ON = "on"
    """Clients with a certificate that verifies."""
    OPTIONAL = "optional"
    """These, and clients without a certificate."""
    OPTIONAL_NO_CA = "optional_no_ca"
    """These, and clients with a certificate of an unknown authority."""
    ANY = "any"
    """All clients, whatever certificate they show (gateway.networking.k8s.io/v1 AllowInsecureFallback)."""
    OFF = "off"
    """All clients. No client is asked for a certificate."""


class ClientDemand(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a handshake for a host asks clients for.

    `host` is the name of the `Host`; empty: the demand is the same for every name. `authority` is the key of an
    `Authority`, and `digest` stands for its content, so a changed Secret is another demand. `depth` is how many
    intermediate certificates a chain may have. `in_handshake`: the handshake of a client that may not pass fails.
    Otherwise its requests are refused.
    """

    host: str
    authority: str
    digest: str
    verification: ClientVerification = ClientVerification.ON
    depth: int = 1
    in_handshake: bool = False


class ClientCertificates(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="client_certificates"):
    """Lets clients pass by the certificate that they showed in the handshake, and tells the endpoint about it.

    `demand` is that of the host. `error_page` is a URL to which clients without a valid certificate are redirected;
    empty: they get 400. `passes_certificate`: the endpoint gets the certificate. `subject_pattern` is an expression in
    the syntax of RE2 that begins with `CN=`; the subject must match it from the beginning of a name on.

    `serves_plain`: requests over plain HTTP need no certificate.
    """

    demand: ClientDemand
    error_page: str = ""
    passes_certificate: bool = False
    subject_pattern: str = ""
    serves_plain: bool = False
