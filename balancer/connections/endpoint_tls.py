"""Sets what a TLS handshake with an endpoint demands, and checks afterwards what OpenSSL does not."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from balancer.connections.key_exchanges import only_curves, without_finite_fields
from balancer.connections.tls import load_certificate
from balancer.model.handshakes import Handshake

_SOME_NAMES: Final = ("",)  # which names are demanded does not concern a context
_ENDPOINT_CONTEXTS = 16  # for auth services without demands of their own; it takes milliseconds to trust the system's


def endpoint_context(tls: Handshake, *, http2: bool = False) -> ssl.SSLContext:
    """A client-side context for endpoints: the versions and ciphers of `tls`, HTTP/1.1 only or HTTP/2 only.

    Raises ssl.SSLError for a broken CA, for a client certificate that OpenSSL refuses and for a list without a known
    cipher.

    With `verify`, chain and name are checked (RFC 9525); in place of the name, `check_shown` checks `names` after the
    handshake. Without `verify` every certificate is accepted. Handshakes that differ only in what does not concern the
    context share one: a tenant may name many servers beside one Secret, whose roots take milliseconds and megabytes.
    """
    return _endpoint_context(shared_demands(tls), http2)


def shared_demands(tls: Handshake) -> Handshake:
    """What of `tls` concerns a context: handshakes for which this is equal share one."""
    names = _SOME_NAMES if tls.names else ()
    return msgspec.structs.replace(tls, server_name=None, follows_client=False, intermediates=0, names=names)


@lru_cache(maxsize=_ENDPOINT_CONTEXTS)
def _endpoint_context(tls: Handshake, http2: bool) -> ssl.SSLContext:
    return make_endpoint_context(tls, http2)


def make_endpoint_context(tls: Handshake, http2: bool) -> ssl.SSLContext:
    """A new context, as `endpoint_context` returns it. May be called in any thread. Raises as that does."""
    only_curves()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    set_up_endpoint_context(context, tls, "h2" if http2 else "http/1.1")
    return context


def make_raw_context(tls: Handshake, _: bool) -> ssl.SSLContext:
    """As `make_endpoint_context`, for connections on which no HTTP is spoken: they offer no protocol."""
    only_curves()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    set_up_endpoint_context(context, tls, None)
    return context


def set_up_endpoint_context(context: ssl.SSLContext, tls: Handshake, protocol: str | None) -> None:
    """Makes a new client-side `context` what `endpoint_context` returns. `protocol` None: none is offered.

    Raises as that does.
    """
    context.minimum_version = ssl.TLSVersion[tls.oldest]
    context.maximum_version = ssl.TLSVersion[tls.newest]
    if protocol is not None:
        context.set_alpn_protocols([protocol])
    if tls.ciphers:
        context.set_ciphers(f"{tls.ciphers}:!aNULL:!eNULL")
    without_finite_fields(context)
    if tls.names or not tls.verify:
        context.check_hostname = False
    if not tls.verify:
        context.verify_mode = ssl.CERT_NONE
    elif tls.ca_pem is None:
        context.load_default_certs()
    else:
        trust(context, tls.ca_pem)
    if tls.chain_pem is not None and tls.private_key_pem is not None:
        load_certificate(context, tls.chain_pem, tls.private_key_pem)


def trust(context: ssl.SSLContext, ca_pem: bytes) -> None:
    """Makes handshakes of `context` trust these authorities. Raises ssl.SSLError.

    Python reads a file without holding the interpreter, so other threads go on; a text it reads with the lock held.
    """
    descriptor = os.memfd_create("authorities", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, ca_pem)
        context.load_verify_locations(cafile=f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def check_shown(tls: Handshake, connection: ssl.SSLObject) -> None:
    """Raises ssl.SSLError if what the other side has shown is not what `tls` demands beside OpenSSL's own checks.

    More intermediate certificates were needed to verify it than `tls` allows, or it has none of the demanded names.
    Python has no setting for OpenSSL's depth (SSL_CTX_set_verify_depth(3)), nor for names of which one is enough.
    """
    if not tls.verify:
        return
    if intermediates(connection) > tls.intermediates:
        raise ssl.SSLError(f"more than {tls.intermediates} intermediate certificates")
    if tls.names and not has_one_of(tls.names, connection.getpeercert() or {}):
        raise ssl.SSLError("none of the names that are demanded")


def has_one_of(names: tuple[str, ...], certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate, as `getpeercert` shows it, has one of `names`: names of hosts, or URIs.

    A wildcard of the certificate stands for one label (RFC 9525 6.3). URIs are compared as they are.
    """
    alternatives: Iterable[tuple[str, str]] = certificate.get("subjectAltName", ())
    for kind, value in alternatives:
        if kind == "URI" and value in names:
            return True
        if kind == "DNS" and any(_is_of_host(value.lower(), name.lower()) for name in names if ":" not in name):
            return True
    return False


def _is_of_host(shown: str, name: str) -> bool:
    return shown == name or (shown.startswith("*.") and shown[2:] == name.partition(".")[2])


def intermediates(connection: ssl.SSLObject) -> int:
    """How many certificates of the verified chain stand between that of the other side and the trusted one."""
    verified = getattr(connection, "get_verified_chain", None)  # public since Python 3.13
    chain = verified() if verified is not None else connection._sslobj.get_verified_chain()  # type: ignore[attr-defined]
    return max(len(chain) - 2, 0)


def endpoint_name(tls: Handshake, address: str) -> str:
    """The name that a handshake with an endpoint sends and verifies; without a name, `address` is verified."""
    return tls.server_name or (address if tls.verify else "")
