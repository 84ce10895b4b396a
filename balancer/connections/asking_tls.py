"""TLS that asks clients for certificates, and as a rule completes the handshake whatever they show.

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
from OpenSSL._util import lib

from balancer.connections.handshake_costs import HandshakeCost, OnDear
from balancer.connections.key_exchanges import groups_of
from balancer.connections.trust import Trust
from balancer.http.proofs import ClientProof
from balancer.matching.subjects import readable_name
from balancer.model.certificates import Certificate
from balancer.model.client_tls import ClientDemand
from balancer.model.settings import ListenerTls

_CHUNK_BYTES = 256 * 1024
_VERSIONS = {"TLSv1_2": SSL.TLS1_2_VERSION, "TLSv1_3": SSL.TLS1_3_VERSION}
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


class SharedContext:
    """What connections have in common that show one certificate and trust the same.

    `names_bytes` is the size of the names of authorities that handshakes send.
    """

    __slots__ = ("_made", "_trust", "names_bytes")

    def __init__(  # noqa: PLR0917 -- each is a part of what makes a context
        self,
        certificate: Certificate,
        trust: Trust,
        depth: int,
        tls: ListenerTls,
        ciphers: str,
        protocols: Sequence[str] = ("http/1.1",),
        *,
        refuses: bool = False,
    ) -> None:
        """Raises ssl.SSLError.

        `refuses`: handshakes fail without a certificate that verifies.

        A chain of a client may have `depth` intermediate certificates. TLS 1.2 and 1.3 as `tls` says, the first of
        `protocols` that is offered by ALPN, and no resumption: every connection shows its certificate.
        """
        try:
            self._made = _made(certificate, depth, tls, ciphers)
            if refuses:
                self._made.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, _demand)
            self._made.set_alpn_select_callback(partial(_select, [each.encode() for each in protocols]))
        except (SSL.Error, crypto.Error, ValueError, TypeError) as error:
            raise ssl.SSLError(f"no context can be made: {type(error).__name__}") from None
        trust.give_to(self._made)
        self._trust = trust
        self.names_bytes = trust.names_bytes

    def asking(self, demand: ClientDemand, server_name: str, on_dear: OnDear = lambda _: None) -> AskingContext:
        """The context of one connection, whose client has sent this name, where `demand` holds.

        `on_dear` hears if its handshake is dear.
        """
        context = AskingContext(ssl.PROTOCOL_TLS_SERVER)
        context.made = self._made
        context.demand = demand
        context.on_dear = on_dear
        context.server_name = server_name.lower().removesuffix(".").encode("ascii", "replace")
        context.over = self._trust.handshake_begins(context)
        return context


class AskingContext(ssl.SSLContext):
    """Makes the server side of one connection. It is an `ssl.SSLContext`, because event loops demand one.

    `over` has to be called at the end of the handshake, unless this is forgotten before.
    """

    made: SSL.Context
    demand: ClientDemand
    server_name: bytes
    on_dear: OnDear
    over: Callable[[], object]

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> Any:
        """A session between the two buffers."""
        return AskedSession(SSL.Connection(self.made, None), incoming, outgoing, self)


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
        "_under_way",
        "errors",
        "proof",
    )

    def __init__(
        self, connection: SSL.Connection, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, asking: AskingContext
    ) -> None:
        self._connection = connection
        self._cost = HandshakeCost(asking.on_dear)
        self._incoming = incoming
        self._outgoing = outgoing
        self._demand = asking.demand
        self._server_name = asking.server_name
        self._under_way: AskingContext | None = asking  # forgotten with the session, or after the handshake
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
            self._end_handshake()
        finally:
            self._cost.add(time.thread_time() - started, self._server_name.decode("ascii"))

    def _end_handshake(self) -> None:
        if self._under_way is not None:
            self._under_way.over()
            self._under_way = None

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


def _made(certificate: Certificate, depth: int, tls: ListenerTls, ciphers: str) -> SSL.Context:
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(_VERSIONS[tls.oldest])
    context.set_max_proto_version(_VERSIONS[tls.newest])
    context.set_options(SSL.OP_NO_TICKET | SSL.OP_NO_RENEGOTIATION)
    if tls.server_prefers:
        context.set_options(SSL.OP_CIPHER_SERVER_PREFERENCE)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    # pyOpenSSL has no method for it, and brings a library of its own.
    lib.SSL_CTX_set1_curves_list(context._context, groups_of(SSL.OPENSSL_VERSION_NUMBER))
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
    context.set_verify_depth(depth)
    context.set_verify(SSL.VERIFY_PEER, _note)
    return context


def _note(connection: SSL.Connection, _: crypto.X509, error: int, __: int, is_good: int) -> bool:
    """Remembers what is wrong with a certificate, and goes on (nginx: ngx_ssl_verify_callback)."""
    session = connection.get_app_data()()
    if isinstance(session, AskedSession):
        if not is_good:
            session.errors.append(error)
        return True
    return False


def _demand(connection: SSL.Connection, certificate: crypto.X509, error: int, depth: int, is_good: int) -> bool:
    """As `_note`, but ends the handshake of a client whose certificate does not verify."""
    return _note(connection, certificate, error, depth, is_good) and bool(is_good)


def _select(spoken: list[bytes], _: SSL.Connection, offered: list[bytes]) -> Any:
    return next((protocol for protocol in spoken if protocol in offered), SSL.NO_OVERLAPPING_PROTOCOLS)
