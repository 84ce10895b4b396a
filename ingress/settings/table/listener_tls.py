"""Options about the TLS of clients: versions, ciphers, and what happens to clients that ask for no known host.

Responsible for ingress-nginx's `ssl-protocols`, `ssl-ciphers`, `ssl-prefer-server-ciphers` and `ssl-reject-handshake`.
It must not know certificates, hosts or sockets.
"""

from __future__ import annotations

import re

import msgspec

from balancer.model.settings import ListenerTls
from ingress.findings import Severity
from ingress.settings.table.option import (
    CLUSTER,
    INGRESS,
    Option,
    Overrides,
    cluster_option,
    cluster_switch,
    ingress_option,
)
from ingress.settings.unsupported import FALSE, Loss, closing
from ingress.settings.values import InvalidValue, blank_or_boolean, matching

_WEAK = Loss(Severity.UNPROTECTED, "handshakes have the defaults of zonal: TLS 1.2 and 1.3, and OpenSSL's ciphers")
# A cipher list of OpenSSL (ciphers(1)), without commands such as @SECLEVEL=0. That of all ciphers has 3,000 characters.
CIPHERS = re.compile(r"[A-Za-z0-9:+!._-]{0,4096}")
PASSED_LOSS = closing(Severity.UNPROTECTED, "TLS ends at zonal, and the endpoint verifies no client", FALSE)
"""What it means that TLS ends here although an Ingress wants it to pass."""

_VERSIONS = {"TLSv1": None, "TLSv1.1": None, "TLSv1.2": "TLSv1_2", "TLSv1.3": "TLSv1_3"}
"""nginx's words for versions. zonal never speaks the two that RFC 8996 forbids."""


class Versions(msgspec.Struct, frozen=True):
    """The oldest and the newest version of TLS."""

    oldest_and_newest: tuple[str, str] = ("TLSv1_2", "TLSv1_3")


class HostTls(msgspec.Struct, frozen=True):
    """What an Ingress says about handshakes for its hosts: their ciphers (empty: nothing), and that they pass to the
    endpoints unread.
    """

    ciphers: str = ""
    passes: bool = False


def listener_tls(overrides: Overrides) -> ListenerTls:
    """What handshakes have to meet; `overrides` are those of the ConfigMap."""
    oldest, newest = overrides.over(Versions()).oldest_and_newest
    return msgspec.structs.replace(
        overrides.over(ListenerTls()), oldest=oldest, newest=newest, ciphers=overrides.over(HostTls()).ciphers
    )


def versions(text: str) -> tuple[str, str]:
    """The oldest and the newest version of a list such as `TLSv1.2 TLSv1.3` (nginx ssl_protocols)."""
    words = text.split()
    if not words or not _VERSIONS.keys() >= set(words):
        raise InvalidValue('use "TLSv1.2", "TLSv1.3" or both')
    spoken = sorted(name for word in words if (name := _VERSIONS[word]) is not None)
    if not spoken:
        raise InvalidValue('RFC 8996 forbids these versions: use "TLSv1.2", "TLSv1.3" or both')
    return spoken[0], spoken[-1]


LISTENER_TLS_OPTIONS = (
    cluster_option(
        name="ssl-protocols",
        fills=(Versions, "oldest_and_newest"),
        grammar=versions,
        default="TLSv1.2 TLSv1.3",
        doc="the versions of TLS that clients may speak; older ones are never spoken",
        if_invalid=_WEAK,
    ),
    Option(
        name="ssl-ciphers",
        sources=CLUSTER | INGRESS,
        fills=(HostTls, "ciphers"),
        grammar=matching(
            CIPHERS, "use an OpenSSL cipher list such as ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"
        ),
        doc="an OpenSSL list of the ciphers for TLS 1.2; empty is OpenSSL's own. A list without a known cipher is"
        " logged, and OpenSSL's own counts",
        doc_on_ingress="holds for the hosts of the Ingress; of several Ingresses of a host the oldest decides, if no"
        " other namespace has the host first",
        if_invalid=_WEAK,
    ),
    ingress_option(
        name="ssl-passthrough",
        fills=(HostTls, "passes"),
        grammar=blank_or_boolean,
        default="false",
        doc="the TLS of clients that name a host of the Ingress [passes to the Service](migrate.md#passed-tls) of its"
        " path `/` unread. Needs `--enable-ssl-passthrough`; without that the paths are closed",
        if_invalid=PASSED_LOSS,
    ),
    cluster_switch(
        name="ssl-prefer-server-ciphers",
        fills=(ListenerTls, "server_prefers"),
        default="true",
        doc="whether the order of `ssl-ciphers` counts, or that of the client",
        if_invalid=Loss(Severity.DEGRADED, "the order of the server counts"),
    ),
    cluster_switch(
        name="ssl-reject-handshake",
        fills=(ListenerTls, "rejects_unknown"),
        doc='`"true"`: clients that ask for no host of an Ingress are refused in the handshake',
        if_invalid=Loss(Severity.DEGRADED, "clients that ask for no known host get the default certificate"),
    ),
)
