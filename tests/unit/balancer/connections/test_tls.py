"""Which certificate a handshake gets, decided by name and shown by real handshakes in memory."""

from __future__ import annotations

import ssl
from collections.abc import Sequence

import msgspec
import pytest
import trustme
from cryptography import x509

from balancer.connections import tls
from balancer.connections.endpoint_tls import check_shown, endpoint_context, endpoint_name, intermediates
from balancer.connections.tls import ServerNames, make_context, self_signed
from balancer.model.certificates import Certificate
from balancer.model.handshakes import Handshake
from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import RouteConfiguration
from balancer.model.routes import Host
from balancer.model.settings import Http2Settings, ListenerTls, ProxySettings

AUTHORITY = trustme.CA()
FALLBACK = self_signed()


def certificate(key: str, *names: str) -> Certificate:
    issued = AUTHORITY.issue_cert(*names)
    return Certificate(
        key=key,
        chain_pem=b"".join(part.bytes() for part in issued.cert_chain_pems),
        private_key_pem=issued.private_key_pem.bytes(),
        expires_at_epoch_seconds=0.0,
    )


SHOP = certificate("shop/shop", "shop.test")
WILD = certificate("shop/wild", "*.wild.test")
DEFAULT = certificate("shop/default", "default.test")
MODEL = RoutingModel(
    hosts=(
        Host(name=""),
        Host(name="*.wild.test", certificate=WILD.key),
        Host(name="exact.wild.test", certificate=SHOP.key),
        Host(name="missing.test", certificate="shop/missing"),
        Host(name="shop.test", certificate=SHOP.key),
    ),
    certificates=(DEFAULT, SHOP, WILD),
)


def names_for(model: RoutingModel) -> ServerNames:
    names = ServerNames(FALLBACK)
    names.update(model)
    return names


@pytest.mark.parametrize(
    ("server_name", "expected"),
    [
        ("shop.test", SHOP),
        ("SHOP.test", SHOP),
        ("shop.test.", SHOP),
        ("a.wild.test", WILD),
        ("exact.wild.test", SHOP),
        ("a.b.wild.test", FALLBACK),
        ("wild.test", FALLBACK),
        ("missing.test", FALLBACK),
        ("unknown.test", FALLBACK),
        ("", FALLBACK),
        (None, FALLBACK),
    ],
)
def test_exact_name_then_wildcard_of_one_label_then_default(server_name: str | None, expected: Certificate) -> None:
    assert names_for(MODEL).certificate_for(server_name) == expected


def with_default(key: str) -> RoutingModel:
    return msgspec.structs.replace(MODEL, route_configurations=(RouteConfiguration(default_certificate=key),))


def test_the_models_default_certificate_comes_before_the_fallback() -> None:
    names = names_for(with_default(DEFAULT.key))
    assert names.certificate_for("unknown.test") == DEFAULT
    assert names.certificate_for(None) == DEFAULT
    assert names.certificate_for("shop.test") == SHOP


def test_before_any_model_the_fallback_answers() -> None:
    assert ServerNames(FALLBACK).certificate_for("shop.test") == FALLBACK


class Shown:
    """What a client learnt from a handshake, in which it offers to resume a session if it has one."""

    def __init__(
        self,
        names: ServerNames,
        server_name: str | None,
        client: ssl.SSLContext,
        *,
        session: ssl.SSLSession | None = None,
        begun_for: str | None = None,
    ) -> None:
        to_client, to_us = ssl.MemoryBIO(), ssl.MemoryBIO()
        ours = names.beginning_for(begun_for or server_name).wrap_bio(to_us, to_client, server_side=True)
        theirs = client.wrap_bio(to_client, to_us, server_hostname=server_name, session=session)
        waiting = [theirs, ours]
        for _ in range(10):
            waiting = [side for side in waiting if not _has_shaken_hands(side)]
        assert waiting == []
        der = theirs.getpeercert(binary_form=True)
        assert der is not None
        parsed = x509.load_der_x509_certificate(der)
        self.names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(
            x509.DNSName
        )
        self.version = theirs.version()
        self.protocol = theirs.selected_alpn_protocol()
        self.cipher = (theirs.cipher() or ("",))[0]
        ours.write(b"a")  # in TLS 1.3, tickets come with what is sent after the handshake
        theirs.read(1)
        self.session, self.was_resumed = theirs.session, theirs.session_reused


def _has_shaken_hands(side: ssl.SSLObject) -> bool:
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def any_client() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@pytest.mark.parametrize(
    ("server_name", "shown"),
    [("shop.test", "shop.test"), ("a.wild.test", "*.wild.test"), ("unknown.test", "ingress.local"), (None, None)],
)
def test_a_handshake_shows_the_certificate_of_its_name(server_name: str | None, shown: str | None) -> None:
    assert Shown(names_for(MODEL), server_name, any_client()).names == [shown or "ingress.local"]


def test_a_new_certificate_is_shown_by_the_next_handshake() -> None:
    names = names_for(MODEL)
    assert Shown(names, "shop.test", any_client()).names == ["shop.test"]
    renewed = certificate(SHOP.key, "shop.test", "renewed.test")
    names.update(RoutingModel(hosts=MODEL.hosts, certificates=(renewed, WILD)))
    assert Shown(names, "shop.test", any_client()).names == ["shop.test", "renewed.test"]
    assert Shown(names, "a.wild.test", any_client()).names == ["*.wild.test"]


def test_another_default_certificate_is_shown_though_hosts_and_certificates_stay() -> None:
    names = names_for(MODEL)
    names.update(with_default(SHOP.key))
    assert Shown(names, "nobody.test", any_client()).names == ["shop.test"]
    names.update(MODEL)
    assert Shown(names, "nobody.test", any_client()).names == ["ingress.local"]


def test_a_host_that_left_the_model_has_no_certificate_any_more() -> None:
    names = names_for(MODEL)
    assert Shown(names, "shop.test", any_client()).names == ["shop.test"]
    names.update(RoutingModel())
    assert Shown(names, "shop.test", any_client()).names == ["ingress.local"]


def test_hosts_share_a_certificate_also_if_it_is_in_two_secrets() -> None:
    copy = msgspec.structs.replace(SHOP, key="copies/shop")
    copied = Host(name="copy.test", certificate=copy.key)
    model = RoutingModel(hosts=(*MODEL.hosts, copied), certificates=(*MODEL.certificates, copy))
    names = names_for(model)
    assert names.share_certificate("shop.test", "copy.test")
    assert names.share_certificate("a.wild.test", "b.wild.test")
    assert not names.share_certificate("shop.test", "a.wild.test")


def test_http_2_is_agreed_on_unless_it_is_off_and_old_versions_are_not() -> None:
    client = any_client()
    client.set_alpn_protocols(["h2", "http/1.1"])
    names = names_for(MODEL)
    shown = Shown(names, "shop.test", client)
    assert (shown.protocol, shown.version) == ("h2", "TLSv1.3")
    proxy = msgspec.structs.replace(MODEL.proxy, http2=Http2Settings(enabled=False))
    names.update(msgspec.structs.replace(MODEL, proxy=proxy))
    assert Shown(names, "shop.test", client).protocol == "http/1.1"
    assert Shown(names, "other.test", client).protocol == "http/1.1"
    assert make_context(FALLBACK).minimum_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_t06_there_are_no_tickets_that_other_workers_could_not_read(version: ssl.TLSVersion) -> None:
    client = any_client()
    client.minimum_version = client.maximum_version = version
    one, other = names_for(MODEL), names_for(MODEL)
    first = Shown(one, "shop.test", client)
    assert first.session is not None
    assert not first.session.has_ticket
    assert not Shown(other, "shop.test", client, session=first.session).was_resumed


def test_a_key_of_another_certificate_is_refused() -> None:
    mixed = Certificate("shop/mixed", SHOP.chain_pem, WILD.private_key_pem, 0.0)
    with pytest.raises(ssl.SSLError):
        make_context(mixed)


def test_the_self_signed_certificate_is_made_anew_each_time() -> None:
    again = self_signed()
    assert again.private_key_pem != FALLBACK.private_key_pem
    assert again.expires_at_epoch_seconds > 0


def test_a_certificate_that_cannot_be_served_is_replaced_by_the_fallback() -> None:
    mixed = Certificate(SHOP.key, SHOP.chain_pem, WILD.private_key_pem, 0.0)
    names = names_for(RoutingModel(hosts=MODEL.hosts, certificates=(mixed, WILD)))
    assert Shown(names, "shop.test", any_client()).names == ["ingress.local"]
    assert Shown(names, "a.wild.test", any_client()).names == ["*.wild.test"]


def test_contexts_of_many_certificates_are_made_when_a_handshake_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counted(which: Certificate, protocols: Sequence[str]) -> ssl.SSLContext:
        if which is not FALLBACK:
            made.append(which.key)
        return make_context(which, protocols)

    names = ServerNames(FALLBACK)
    monkeypatch.setattr(tls, "make_context", counted)
    hosts = tuple(Host(name=f"host{number}.test", certificate=f"shop/{number}") for number in range(5000))
    certificates = tuple(
        Certificate(f"shop/{number}", SHOP.chain_pem, SHOP.private_key_pem, 0.0) for number in range(5000)
    )
    names.update(RoutingModel(hosts=hosts, certificates=certificates))
    assert made == []
    for _ in range(2):
        assert Shown(names, "host4999.test", any_client()).names == ["shop.test"]
    names.update(RoutingModel(hosts=hosts, certificates=certificates))
    assert Shown(names, "host4999.test", any_client()).names == ["shop.test"]
    assert made == ["shop/4999"]


def under(tls: ListenerTls, *hosts: Host) -> RoutingModel:
    """The model under these settings, with `hosts` in place of those of the same name."""
    others = tuple(host for host in MODEL.hosts if host.name not in {each.name for each in hosts})
    return msgspec.structs.replace(MODEL, hosts=(*others, *hosts), proxy=ProxySettings(tls=tls))


def speaking(version: ssl.TLSVersion, ciphers: str = "ALL") -> ssl.SSLContext:
    client = any_client()
    client.minimum_version = client.maximum_version = version
    client.set_ciphers(ciphers)
    return client


def test_only_the_versions_of_the_settings_are_spoken_and_changes_count_at_once() -> None:
    names = names_for(under(ListenerTls(oldest="TLSv1_3")))
    assert Shown(names, "shop.test", any_client()).version == "TLSv1.3"
    with pytest.raises(ssl.SSLError):
        Shown(names, "shop.test", speaking(ssl.TLSVersion.TLSv1_2))
    names.update(under(ListenerTls(newest="TLSv1_2")))
    assert Shown(names, "shop.test", any_client()).version == "TLSv1.2"
    names.update(under(ListenerTls()))
    assert Shown(names, "shop.test", speaking(ssl.TLSVersion.TLSv1_2)).version == "TLSv1.2"


_AES128, _AES256 = "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"


def test_a_host_has_its_own_list_of_ciphers_and_the_others_that_of_the_settings() -> None:
    tls = ListenerTls(newest="TLSv1_2", ciphers=_AES128)
    names = names_for(under(tls, Host(name="shop.test", certificate=SHOP.key, ciphers=_AES256)))
    assert Shown(names, "shop.test", any_client()).cipher == _AES256
    assert Shown(names, "a.wild.test", any_client()).cipher == _AES128
    names.update(under(tls, Host(name="shop.test", certificate=SHOP.key)))
    assert Shown(names, "shop.test", any_client()).cipher == _AES128


@pytest.mark.parametrize(("server_prefers", "expected"), [(True, _AES128), (False, _AES256)])
def test_the_order_of_one_side_counts(server_prefers: bool, expected: str) -> None:
    names = names_for(under(ListenerTls(ciphers=f"{_AES128}:{_AES256}", server_prefers=server_prefers)))
    client = speaking(ssl.TLSVersion.TLSv1_2, f"{_AES256}:{_AES128}")
    assert Shown(names, "shop.test", client).cipher == expected


def test_a_list_without_a_known_cipher_is_logged_and_does_not_count(caplog: pytest.LogCaptureFixture) -> None:
    names = names_for(under(ListenerTls(ciphers="NOBODY-KNOWS")))
    assert Shown(names, "shop.test", any_client()).names == ["shop.test"]
    assert "NOBODY-KNOWS" in caplog.text


@pytest.mark.parametrize("server_name", ["unknown.test", "a.b.wild.test", None])
def test_clients_that_ask_for_no_known_host_may_be_refused(server_name: str | None) -> None:
    names = names_for(under(ListenerTls(rejects_unknown=True)))
    with pytest.raises(ssl.SSLError):
        Shown(names, server_name, any_client())
    # A host without a certificate of its own is known.
    assert Shown(names, "missing.test", any_client()).names == ["ingress.local"]
    assert Shown(names, "a.wild.test", any_client()).names == ["*.wild.test"]


def signed_by(authority: trustme.CA) -> ssl.SSLObject:
    """A client's connection that has verified a certificate of `authority` by the root."""
    issued = authority.issue_cert("cart.test")
    chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
    server = make_context(Certificate("shop/cart", chain, issued.private_key_pem.bytes(), 0.0))
    client = endpoint_context(Handshake(verify=True, ca_pem=AUTHORITY.cert_pem.bytes()))
    to_client, to_us = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_us, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_us, server_hostname="cart.test")
    waiting = [theirs, ours]
    for _ in range(10):
        waiting = [side for side in waiting if not _has_shaken_hands(side)]
    assert waiting == []
    return theirs


def test_the_certificates_between_an_endpoint_and_a_trusted_one_are_counted() -> None:
    one = AUTHORITY.create_child_ca()
    connections = [signed_by(AUTHORITY), signed_by(one), signed_by(one.create_child_ca())]
    assert [intermediates(connection) for connection in connections] == [0, 1, 2]
    check_shown(Handshake(verify=True, intermediates=2), connections[2])
    with pytest.raises(ssl.SSLError):
        check_shown(Handshake(verify=True), connections[2])
    check_shown(Handshake(), connections[2])


def test_towards_endpoints_versions_and_ciphers_are_those_of_the_demand() -> None:
    context = endpoint_context(Handshake(oldest="TLSv1_3", ciphers=_AES128))
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    ciphers = {each["name"] for each in context.get_ciphers() if each["protocol"] == "TLSv1.2"}
    assert ciphers == {_AES128}
    with pytest.raises(ssl.SSLError):
        endpoint_context(Handshake(ciphers="NOBODY-KNOWS"))


def test_towards_endpoints_certificates_are_verified_only_when_asked() -> None:
    careless = endpoint_context(Handshake())
    assert (careless.verify_mode, careless.check_hostname) == (ssl.CERT_NONE, False)
    careful = endpoint_context(Handshake(verify=True, ca_pem=AUTHORITY.cert_pem.bytes()))
    assert (careful.verify_mode, careful.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert len(careful.get_ca_certs()) == 1
    system = endpoint_context(Handshake(verify=True))
    assert (system.verify_mode, system.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert {each.minimum_version for each in (careless, careful, system)} == {ssl.TLSVersion.TLSv1_2}


def test_a_client_certificate_that_openssl_refuses_is_an_error_of_tls() -> None:
    with pytest.raises(ssl.SSLError):
        endpoint_context(Handshake(chain_pem=SHOP.chain_pem, private_key_pem=b"no key"))


def test_demands_share_a_context_unless_it_would_differ() -> None:
    one = endpoint_context(Handshake(server_name="a.test"))
    assert one is endpoint_context(Handshake(server_name="a.test"))
    assert one is endpoint_context(Handshake(server_name="b.test", follows_client=True, intermediates=3))
    assert one is not endpoint_context(Handshake(server_name="a.test"), http2=True)
    assert one is not endpoint_context(Handshake(server_name="a.test", oldest="TLSv1_3"))


@pytest.mark.parametrize("ca_pem", [b"", b"no certificate", b"\xff"])
def test_a_broken_authority_trusts_nobody(ca_pem: bytes) -> None:
    with pytest.raises(ssl.SSLError):
        endpoint_context(Handshake(verify=True, ca_pem=ca_pem))


def test_the_name_of_an_endpoint_is_what_was_asked_for_or_its_address_if_verified() -> None:
    assert endpoint_name(Handshake(server_name="cart.test", verify=True), "10.0.0.1") == "cart.test"
    assert endpoint_name(Handshake(verify=True), "10.0.0.1") == "10.0.0.1"
    assert endpoint_name(Handshake(), "10.0.0.1") == ""
