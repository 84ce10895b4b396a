"""Does TLS with clients: chooses the certificate for a handshake.

The first handshake that needs a context makes it; contexts are kept by certificate. So a changed Secret counts from the
next handshake on, and open connections are not affected. Private keys reach OpenSSL through anonymous memory, never
through a file. `cryptography` is imported only to make a certificate, so that workers, which get one, start sooner.
"""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from balancer.connections.asking_contexts import AskingContexts, AskingRoom, Terms, asking_room
from balancer.connections.key_exchanges import only_curves
from balancer.connections.listener_sessions import ListenerContext, ListenerSession
from balancer.connections.shown_contexts import ContextOf, ShownContexts, ShownRoom, shown_room
from balancer.matching.server_names import Named, ServerNameTable
from balancer.model.certificates import Authority, Certificate
from balancer.model.client_tls import ClientDemand, ClientVerification
from balancer.model.publication import RoutingModel
from balancer.model.routes import INGRESS
from balancer.model.settings import Http2Settings, ListenerTls

_LOG = logging.getLogger(__name__)
_SELF_SIGNED_DAYS = 365  # every start makes a new one, and only clients that verify nothing accept it


class ContextRooms(NamedTuple):
    """The room of contexts of all listeners of a worker, which namespaces share."""

    shown: ShownRoom
    asking: AskingRoom


def context_rooms() -> ContextRooms:
    """Empty rooms."""
    return ContextRooms(shown_room(), asking_room())


class ServerNames:
    """Chooses the context of a handshake of one route configuration, by the server name."""

    __slots__ = (
        "_asking",
        "_chosen",
        "_configuration",
        "_contexts",
        "_fallback",
        "_goes_by",
        "_on_dear",
        "_protocols",
        "_raw",
        "_strict",
        "_table",
        "listener_context",
    )

    def __init__(
        self,
        fallback: Certificate,
        on_dear: Callable[[str], None] = lambda _: None,
        configuration: str = INGRESS,
        *,
        raw: bool = False,
        rooms: ContextRooms | None = None,
    ) -> None:
        """`fallback` serves if the model names no default certificate. `configuration` is a key. `raw`: no protocol is
        chosen, because no HTTP is spoken inside. `rooms` is shared with others; None: it has rooms of its own.

        `on_dear` hears of each handshake that took much CPU time: the host in the model, empty if it was for none.
        """
        self._fallback = fallback
        self._on_dear = on_dear
        self._configuration = configuration
        own = rooms or context_rooms()
        self._contexts = ShownContexts(own.shown)
        self._chosen: dict[str | None, ContextOf] = {}  # by names of hosts only, so there are no more than those
        self._goes_by = RoutingModel()
        self._table = ServerNameTable(self._goes_by, configuration)
        self._asking = AskingContexts(own.asking)
        self._raw = raw
        self._protocols = [] if raw else _protocols(self._goes_by.proxy.http2)
        self._strict: dict[str, ssl.SSLContext] = {}  # by the oldest version that listeners demand
        self.listener_context = self._make_listener()

    def forget(self) -> None:
        """Drops every context, so that others have the room. This object is not asked again."""
        self._contexts.clear()
        self._asking.clear()

    def _make_listener(self, oldest: str = "") -> ssl.SSLContext:
        """A context with which handshakes begin, and which holds the sessions of TLS 1.2 that clients may resume.

        No version is older than `oldest`, if a listener demands that.
        """
        context = make_context(self._fallback, self._protocols)
        context.on_dear = self._tell_dear
        _set_versions(context, self._goes_by.proxy.tls.at_least(oldest))
        context.sni_callback = self._choose
        return context

    def _tell_dear(self, server_name: str | None) -> None:
        self._on_dear(self._table.find(server_name).host)

    def update(self, model: RoutingModel) -> None:
        """Serves the certificates and the TLS settings of `model` from the next handshake on.

        If any of them has changed, `listener_context` is another one, and no session from before is resumed.
        """
        before = self._goes_by
        self._goes_by = model
        self._chosen = {}
        if model.proxy.http2 != before.proxy.http2 and not self._raw:
            self._offer(_protocols(model.proxy.http2))
        if (
            model.certificates is before.certificates
            and model.hosts is before.hosts
            and model.authorities == before.authorities
            and model.listeners == before.listeners
            and model.route_configurations == before.route_configurations
            and model.proxy.tls == before.proxy.tls
        ):
            return  # endpoints change often, and there may be thousands of certificates
        shown_before = self._table.shown
        table = ServerNameTable(model, self._configuration)
        self._table = table
        if table.shown != shown_before or model.proxy.tls != before.proxy.tls:
            self.listener_context = self._make_listener()
            self._strict = {oldest: self._make_listener(oldest) for oldest in table.oldest}
        wanted = {*model.certificates, *table.certificates, self._fallback}
        if model.proxy.tls != before.proxy.tls:
            self._asking.clear()
        versions = ("", *table.oldest)
        terms = {self._terms(demand, ciphers, each) for demand, ciphers in table.demands.items() for each in versions}
        self._asking.keep(wanted, terms, self._trusted_by_digest(model))
        self._contexts.keep(wanted, {*table.ciphers, model.proxy.tls.ciphers})

    def _terms(self, demand: ClientDemand, ciphers: str, oldest: str) -> Terms:
        refuses = demand.in_handshake and demand.verification is ClientVerification.ON
        return ciphers or self._goes_by.proxy.tls.ciphers, demand.digest, demand.depth, refuses, oldest

    def _trusted_by_digest(self, model: RoutingModel) -> dict[str, Authority]:
        known = {each.key: each for each in model.authorities}
        return {each.digest: known[each.authority] for each in self._table.demands if each.authority in known}

    def _offer(self, protocols: list[str]) -> None:
        """Chooses among `protocols` from the next handshake on."""
        self._protocols = protocols
        self._asking.clear()
        self._contexts.clear()
        for context in (self.listener_context, *self._strict.values()):
            context.set_alpn_protocols(protocols)

    def share_certificate(self, server_name: str, host: str) -> bool:
        """Whether a handshake for `server_name` shows the certificate that one for `host` would show."""
        shown, other = self.certificate_for(server_name), self.certificate_for(host)
        return shown is other or shown.chain_pem == other.chain_pem  # one certificate may be in several Secrets

    def certificate_for(self, server_name: str | None) -> Certificate:
        """The certificate for a server name as the client sent it (None: the client sent none)."""
        return self._table.find(server_name).certificate or self._fallback

    def chain_bytes(self, server_name: str | None) -> int:
        """The size, as PEM, of the chain that a handshake for a name shows."""
        return len(self.certificate_for(server_name).chain_pem)

    @property
    def asks(self) -> bool:
        """Whether handshakes for some name ask for a certificate."""
        return bool(self._table.demands)

    @property
    def is_divided(self) -> bool:
        """Whether a name decides which listener serves the requests of a connection."""
        return self._table.is_divided

    def _refuses(self, named: Named) -> bool:
        """Whether a handshake is refused: for an unknown name, or without a certificate that may be shown."""
        if named.certificate is None and not self._table.has_fallback:
            return True
        return not named.host and self._goes_by.proxy.tls.rejects_unknown

    def _demand_for(self, server_name: str | None) -> ClientDemand | None:
        named = self._table.find(server_name)
        return None if self._refuses(named) else named.demand

    def beginning_for(self, server_name: str | None) -> ssl.SSLContext:
        """The context with which a handshake for a name begins for which `context_for` gives none."""
        if not self._strict:
            return self.listener_context
        return self._strict.get(self._table.find(server_name).oldest, self.listener_context)

    def is_ready(self, server_name: str | None) -> bool:
        """Whether `context_for` this name has nothing to read that would hold the event loop."""
        demand = self._demand_for(server_name)
        return demand is None or self._asking.is_ready(demand.digest)

    async def prepare(self, server_name: str | None) -> None:
        """Reads apart from the event loop what `context_for` needs for this name. Then `is_ready` holds."""
        while (demand := self._demand_for(server_name)) is not None and not self._asking.is_ready(demand.digest):
            await self._asking.read(demand.digest)

    def context_for(self, server_name: str | None) -> ssl.SSLContext | None:
        """The context of a handshake that asks the client for a certificate; None if none is asked for.

        None also if no such context can be made: then the gates of the host refuse every request. What is not ready
        is read at once.
        """
        named, demand = self._table.find(server_name), self._demand_for(server_name)
        if demand is None:
            return None
        key = (named.certificate or self._fallback, self._terms(demand, named.ciphers, named.oldest))
        context = self._asking.context(key, self._fallback, self._goes_by.proxy.tls, self._protocols)
        return context.asking(demand, server_name or "", self._tell_dear) if context is not None else None

    def _choose(
        self, connection: ssl.SSLObject | ssl.SSLSocket, server_name: str | None, begun: ssl.SSLContext
    ) -> ssl.AlertDescription | None:
        """Gives the handshake its context, or refuses it with an alert (RFC 6066 3).

        OpenSSL takes the version from the context with which a handshake has `begun`, so that must be strict enough.
        """
        if isinstance(connection, ListenerSession):
            connection.chosen_by = server_name
        oldest = self._table.find(server_name).oldest if self._strict else ""
        if oldest and begun.minimum_version < ssl.TLSVersion[oldest]:
            return ssl.ALERT_DESCRIPTION_PROTOCOL_VERSION
        chosen = self._chosen
        key = chosen.get(server_name)
        if key is None:
            named = self._table.find(server_name)
            if self._refuses(named):
                return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
            key = (named.certificate or self._fallback, named.ciphers or self._goes_by.proxy.tls.ciphers)
            if server_name == named.host:
                chosen[server_name] = key
        connection.context = self._contexts.get(key) or self._make(*key)
        return None

    def _make(self, certificate: Certificate, ciphers: str) -> ssl.SSLContext:
        """The cached context of a certificate; that of the fallback if OpenSSL refuses a certificate that the
        translation accepted.
        """
        try:
            context = make_context(certificate, self._protocols)
        except ssl.SSLError as error:
            _LOG.warning("certificate %s cannot be served, the default is: %s", certificate.key, error.reason)
            context = make_context(self._fallback, self._protocols)
        if ciphers:
            try:
                context.set_ciphers(f"{ciphers}:!aNULL:!eNULL")
            except ssl.SSLError:
                _LOG.warning("ssl-ciphers %r names no cipher that OpenSSL knows; its own list counts", ciphers)
        self._contexts.put((certificate, ciphers), context)
        return context


def _protocols(http2: Http2Settings) -> list[str]:
    """The protocols for ALPN (RFC 7301), the best one first."""
    return ["h2", "http/1.1"] if http2.enabled else ["http/1.1"]


def make_context(certificate: Certificate, protocols: Sequence[str] = ("http/1.1",)) -> ListenerContext:
    """A server-side context: TLS 1.2 and 1.3, one of `protocols` by ALPN if there are any, no session tickets.

    Raises ssl.SSLError.
    """
    only_curves()
    context = ListenerContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0  # Python cannot set ticket keys, and a ticket would be valid for other hosts
    if protocols:
        context.set_alpn_protocols(protocols)
    load_certificate(context, certificate.chain_pem, certificate.private_key_pem)
    return context


def _set_versions(context: ssl.SSLContext, tls: ListenerTls) -> None:
    """Sets what OpenSSL takes from the context that a handshake begins with, whatever context the name chooses."""
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # never above the newest
    context.maximum_version = ssl.TLSVersion[tls.newest]
    context.minimum_version = ssl.TLSVersion[tls.oldest]
    context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    if tls.server_prefers:
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE


def load_certificate(context: ssl.SSLContext, chain_pem: bytes, private_key_pem: bytes) -> None:
    """Makes handshakes of `context` show a certificate, without a file for its key. Raises ssl.SSLError."""
    descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, private_key_pem + b"\n" + chain_pem)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def self_signed() -> Certificate:
    """A certificate for no real name, for handshakes that no other certificate fits."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "zonal default certificate")])
    now = datetime.now(UTC)
    expires = now + timedelta(days=_SELF_SIGNED_DAYS)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(expires)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("ingress.local")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Certificate(
        key="",
        chain_pem=certificate.public_bytes(serialization.Encoding.PEM),
        private_key_pem=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
        expires_at_epoch_seconds=expires.timestamp(),
    )
