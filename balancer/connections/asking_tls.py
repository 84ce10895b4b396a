"""TLS that asks clients for certificates, and completes the handshake whatever they show.

Python's `ssl` aborts a handshake with a certificate that does not verify, so a client could not be told why. pyOpenSSL
does not. Its sessions look like those of `ssl` to asyncio and uvloop. Only workers with such hosts import this module.
Who may pass is decided later, from the `ClientProof` of a session.
"""

from __future__ import annotations

import ssl
import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from OpenSSL import SSL, crypto

from balancer.connections.handshake_costs import HandshakeCost, OnDear
from balancer.http.proofs import ClientProof
from balancer.matching.subjects import readable_name
from balancer.model.certificates import Authority, Certificate
from balancer.model.client_tls import ClientDemand
from balancer.model.settings import ListenerTls

_CHUNK_BYTES = 256 * 1024
_VERSIONS = {"TLSv1_2": SSL.TLS1_2_VERSION, "TLSv1_3": SSL.TLS1_3_VERSION}
_END = "-----END X509 CRL-----"
# X509_verify_cert_error_string(3), for the errors that occur.
_REASONS = {
    3: "unable to get certificate CRL",
    9: "certificate is not yet valid",
    10: "certificate has expired",
    12: "CRL has expired",
    18: "self-signed certificate",
    19: "self-signed certificate in certificate chain",
    20: "unable to get local issuer certificate",
    21: "unable to verify the first certificate",
    22: "certificate chain too long",
    23: "certificate revoked",
    26: "unsuitable certificate purpose",
}

_Result = TypeVar("_Result")


class AskingContext(ssl.SSLContext):
    """Makes the server side of connections. It is an `ssl.SSLContext`, because event loops demand one."""

    _made: SSL.Context
    _demand: ClientDemand

    @classmethod
    def make(  # noqa: PLR0917 -- each is a part of what makes a context
        cls,
        certificate: Certificate,
        authority: Authority,
        demand: ClientDemand,
        tls: ListenerTls,
        ciphers: str,
        protocols: Sequence[str] = ("http/1.1",),
    ) -> AskingContext:
        """A context that shows `certificate` and trusts `authority`. Raises ssl.SSLError.

        TLS 1.2 and 1.3 as `tls` says, the first of `protocols` that is offered by ALPN, and no resumption: every
        connection shows its certificate.
        """
        context = cls(ssl.PROTOCOL_TLS_SERVER)
        context._demand, context._on_dear = demand, lambda _: None
        try:
            context._made = _made(certificate, authority, demand, tls, ciphers)
            context._made.set_alpn_select_callback(partial(_select, [each.encode() for each in protocols]))
        except (SSL.Error, crypto.Error, ValueError, TypeError) as error:
            raise ssl.SSLError(f"no context can be made: {type(error).__name__}") from None
        return context

    def for_name(self, server_name: str, on_dear: OnDear = lambda _: None) -> AskingContext:
        """The same for a connection whose client has sent this name. `on_dear` hears if its handshake is dear."""
        context = type(self)(ssl.PROTOCOL_TLS_SERVER)
        context._made, context._demand, context._on_dear = self._made, self._demand, on_dear
        context._server_name = server_name.lower().removesuffix(".").encode("ascii", "replace")
        return context

    _server_name: bytes = b""
    _on_dear: OnDear

    def shares_with(self, other: AskingContext) -> bool:
        """Whether both ask for the same, and trust the same."""
        return self._made is other._made

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> Any:
        """A session between the two buffers."""
        connection, cost = SSL.Connection(self._made, None), HandshakeCost(self._on_dear)
        return AskedSession(connection, incoming, outgoing, self._demand, self._server_name, cost)


class AskedSession:
    """One TLS connection. `proof` is what the client has shown, None before the end of the handshake."""

    __slots__ = (
        "__weakref__",
        "_connection",
        "_cost",
        "_demand",
        "_has_more",
        "_incoming",
        "_outgoing",
        "_server_name",
        "errors",
        "proof",
    )

    def __init__(  # noqa: PLR0917 -- each is a part of a session
        self,
        connection: SSL.Connection,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        demand: ClientDemand,
        server_name: bytes,
        cost: HandshakeCost,
    ) -> None:
        self._connection, self._cost = connection, cost
        self._incoming, self._outgoing = incoming, outgoing
        self._demand, self._server_name = demand, server_name
        self._has_more = False
        self.errors: list[int] = []
        self.proof: ClientProof | None = None
        connection.set_app_data(weakref.ref(self))  # they would keep each other alive
        connection.set_accept_state()

    def do_handshake(self) -> None:
        """Goes on with the handshake. Raises ssl.SSLWantReadError until it is complete."""
        started = time.thread_time()
        try:
            self._do(self._connection.do_handshake)
            self.proof = self._proof()
        finally:
            self._cost.add(time.thread_time() - started, self._server_name.decode("ascii"))

    def read(self, size: int = 1024, buffer: Any = None) -> Any:
        """Bytes of the client, or their number in `buffer`; nothing after its end."""
        try:
            if buffer is None:
                return self._do(lambda: self._connection.recv(size))
            return self._do(lambda: self._connection.recv_into(buffer, size))
        except SSL.ZeroReturnError:
            return b"" if buffer is None else 0

    def write(self, data: Any) -> int:
        """Takes bytes for the client; how many were taken."""
        return self._do(lambda: self._connection.send(data)) if len(data) else 0

    def pending(self) -> int:
        """How many bytes can be read. At least 1 if OpenSSL may hold bytes that it has not decrypted yet."""
        return self._connection.pending() or int(self._has_more)

    def unwrap(self) -> None:
        """Ends the session. Raises ssl.SSLWantReadError until the client has done so too."""
        if not self._do(self._connection.shutdown):
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "the client has not said goodbye")

    def getpeercert(self, binary_form: bool = False) -> None:
        """Always empty, so that asyncio relies on nothing. `proof` says what the client has shown."""

    def cipher(self) -> tuple[str, str, int] | None:
        """Name, version and bits of the cipher."""
        name = self._connection.get_cipher_name()
        if name is None:
            return None
        return name, self._connection.get_cipher_version() or "", self._connection.get_cipher_bits() or 0

    def selected_alpn_protocol(self) -> str | None:
        """The protocol that was agreed on, None without one."""
        return self._connection.get_alpn_proto_negotiated().decode("ascii") or None

    def compression(self) -> None:
        """There is none."""

    def version(self) -> str:
        """The version of TLS."""
        return self._connection.get_protocol_version_name()

    def _do(self, step: Callable[[], _Result]) -> _Result:
        """Takes a step, and moves bytes in before and out after it."""
        if data := self._incoming.read():
            self._connection.bio_write(data)
            self._has_more = True
        try:
            return step()
        except (SSL.WantReadError, SSL.WantWriteError):
            self._has_more = False
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "more bytes are needed") from None
        except SSL.ZeroReturnError:
            self._has_more = False
            raise
        except (SSL.Error, SSL.SysCallError) as error:
            self._has_more = False
            raise ssl.SSLError(ssl.SSL_ERROR_SSL, f"TLS failed: {type(error).__name__}") from None
        finally:
            self._flush()

    def _flush(self) -> None:
        try:
            while data := self._connection.bio_read(_CHUNK_BYTES):
                self._outgoing.write(data)
        except SSL.Error:  # nothing is left; WantReadError is one
            return

    def _proof(self) -> ClientProof:
        shown = self._connection.get_peer_certificate(as_cryptography=True)
        if shown is None:
            return ClientProof(self._demand, self._server_name)
        errors = tuple(self.errors)
        return ClientProof(
            self._demand,
            self._server_name,
            pem=shown.public_bytes(Encoding.PEM),
            errors=errors,
            reason=_REASONS.get(errors[-1], f"error {errors[-1]}") if errors else "",
            subject=readable_name(shown.subject),
            issuer=readable_name(shown.issuer),
        )


def _made(
    certificate: Certificate, authority: Authority, demand: ClientDemand, tls: ListenerTls, ciphers: str
) -> SSL.Context:
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(_VERSIONS[tls.oldest])
    context.set_max_proto_version(_VERSIONS[tls.newest])
    context.set_options(SSL.OP_NO_TICKET | SSL.OP_NO_RENEGOTIATION)
    if tls.server_prefers:
        context.set_options(SSL.OP_CIPHER_SERVER_PREFERENCE)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    if ciphers:
        context.set_cipher_list(f"{ciphers}:!aNULL:!eNULL".encode())
    leaf, *chain = x509.load_pem_x509_certificates(certificate.chain_pem)
    context.use_certificate(leaf)
    for each in chain:
        context.add_extra_chain_cert(each)
    # The control plane has checked every number of the key. To check them here would hold the loop for 60 ms or more.
    key = load_pem_private_key(certificate.private_key_pem, password=None, unsafe_skip_rsa_key_validation=True)
    context.use_privatekey(key)  # type: ignore[arg-type]
    context.check_privatekey()
    _trust(context, authority, demand)
    return context


def _trust(context: SSL.Context, authority: Authority, demand: ClientDemand) -> None:
    store = context.get_cert_store()
    assert store is not None
    for root in x509.load_pem_x509_certificates(authority.ca_pem):
        store.add_cert(crypto.X509.from_cryptography(root))
        context.add_client_ca(root)
    lists = revocation_lists(authority.crl_pem)
    for each in lists:
        store.add_crl(each)
    if lists:
        store.set_flags(crypto.X509StoreFlags.CRL_CHECK | crypto.X509StoreFlags.CRL_CHECK_ALL)
    context.set_verify_depth(demand.depth)
    context.set_verify(SSL.VERIFY_PEER, _note)


def revocation_lists(pem: bytes) -> list[x509.CertificateRevocationList]:
    """Every list in a text; none in an empty one. Raises ValueError."""
    parts = pem.decode("ascii").split(_END)
    return [x509.load_pem_x509_crl((part + _END).encode()) for part in parts[:-1]]


def _note(connection: SSL.Connection, _: crypto.X509, error: int, __: int, is_good: int) -> bool:
    """Remembers what is wrong with a certificate, and goes on (nginx: ngx_ssl_verify_callback)."""
    session = connection.get_app_data()()
    if isinstance(session, AskedSession):
        if not is_good:
            session.errors.append(error)
        return True
    return False


def _select(spoken: list[bytes], _: SSL.Connection, offered: list[bytes]) -> Any:
    return next((protocol for protocol in spoken if protocol in offered), SSL.NO_OVERLAPPING_PROTOCOLS)
