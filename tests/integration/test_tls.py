"""TLS on the HTTPS port: the certificate fits the name that is asked for, and follows its Secret without a restart."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.fakes.stopwatch import Stopwatch
from tests.integration.manifests import Document, ManifestFolder, ingress, path, rule, tls_secret
from tests.integration.running import running
from tests.integration.shop import HOST, shop
from tests.integration.wire import Connection, get, trusting

WILDCARD = "*.wild.test"
APPLIES_WITHIN_SECONDS = 2.0


def secret_for(authority: trustme.CA, name: str, *hosts: str) -> Document:
    issued = authority.issue_cert(*hosts)
    chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
    return tls_secret(name, chain=chain, key=issued.private_key_pem.bytes())


def write_secure_ingress(folder: ManifestFolder, **annotations: str) -> None:
    """`HOST` and the wildcard with a certificate each, and a host whose Secret is missing."""
    folder.write(
        "web.yaml",
        ingress(
            "web",
            *(rule(host, path("/", "cart")) for host in (HOST, WILDCARD, "bare.test")),
            tls=[
                {"hosts": [HOST], "secretName": "shop"},
                {"hosts": [WILDCARD], "secretName": "wild"},
                {"hosts": ["bare.test"], "secretName": "missing"},
            ],
            annotations={
                f"nginx.ingress.kubernetes.io/{key.replace('_', '-')}": text for key, text in annotations.items()
            },
        ),
    )


def names_of(certificate: dict[str, Any]) -> set[str]:
    return {name for _, name in certificate["subjectAltName"]}


async def names_shown(port: int, server_name: str, authority: trustme.CA) -> set[str]:
    """The names in the certificate that a handshake for `server_name` gets, verified against the authority."""
    context = trusting(authority.cert_pem.bytes())
    context.check_hostname = False
    async with await Connection.open(port, tls=context, server_name=server_name) as connection:
        return names_of(connection.certificate)


async def test_the_certificate_fits_the_server_name(tmp_path: Path) -> None:
    authority = trustme.CA()
    async with shop(tmp_path, {"zone-a": 1}) as place:
        write_secure_ingress(place.folder)
        place.folder.write(
            "secrets.yaml",
            secret_for(authority, "shop", HOST),
            secret_for(authority, "wild", WILDCARD),
            secret_for(authority, "default", "default.test"),
        )
        async with running(place.place, "--default-ssl-certificate", "shop/default") as zonal:
            expected = {
                HOST: HOST,
                HOST.upper(): HOST,
                "a.wild.test": WILDCARD,
                "a.b.wild.test": "default.test",
                "wild.test": "default.test",
                "bare.test": "default.test",
                "unknown.test": "default.test",
            }
            for server_name, name in expected.items():
                assert await names_shown(zonal.https_port, server_name, authority) == {name}
            (finding,) = await zonal.findings()
    assert (finding["name"], finding["reason"]) == ("web", "CertificateUnusable")
    assert "shop/missing does not exist" in finding["message"]


async def test_a_verifying_client_is_served(tmp_path: Path) -> None:
    authority = trustme.CA()
    async with shop(tmp_path, {"zone-a": 1}) as place:
        write_secure_ingress(place.folder)
        place.folder.write("secrets.yaml", secret_for(authority, "shop", HOST), secret_for(authority, "wild", WILDCARD))
        async with running(place.place) as zonal:
            context = trusting(authority.cert_pem.bytes())
            for host in (HOST, "any.wild.test"):
                async with await Connection.open(zonal.https_port, tls=context, server_name=host) as connection:
                    for _ in range(3):
                        response = await connection.get(host, "/item")
                        assert response.status == 200
                fields = {name.lower(): value for name, value in response.json()["headers"]}
                assert (fields["x-forwarded-proto"], fields["x-forwarded-port"]) == ("https", "443")
                assert response.field("strict-transport-security") == "max-age=31536000; includeSubDomains"
            with pytest.raises(ssl.SSLCertVerificationError):
                await Connection.open(zonal.https_port, tls=context, server_name="bare.test")


async def test_without_any_secret_a_self_signed_certificate_answers(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, {"zone-a": 1}) as place,
        running(place.place) as zonal,
        await Connection.open(zonal.https_port, tls=trusting(), server_name=HOST) as connection,
    ):
        assert (await connection.get(HOST)).status == 200


async def test_a_changed_secret_is_live_for_new_handshakes_and_cuts_no_connection(tmp_path: Path) -> None:
    authority = trustme.CA()
    async with shop(tmp_path, {"zone-a": 1}) as place:
        write_secure_ingress(place.folder)
        place.folder.write("secrets.yaml", secret_for(authority, "shop", HOST))
        async with running(place.place) as zonal:
            context = trusting(authority.cert_pem.bytes())
            async with await Connection.open(zonal.https_port, tls=context, server_name=HOST) as opened_before:
                assert (await opened_before.get(HOST)).status == 200
                place.folder.write("secrets.yaml", secret_for(authority, "shop", HOST, "renewed.test"))
                since_saved = Stopwatch()
                while await names_shown(zonal.https_port, HOST, authority) != {HOST, "renewed.test"}:
                    assert since_saved.within(APPLIES_WITHIN_SECONDS)
                assert (await opened_before.get(HOST)).status == 200


async def test_a_broken_secret_becomes_a_finding_and_keeps_the_rest(tmp_path: Path) -> None:
    authority = trustme.CA()
    async with shop(tmp_path, {"zone-a": 1}) as place:
        write_secure_ingress(place.folder)
        broken = tls_secret("shop", chain=b"no certificate", key=b"secret-key-text")
        place.folder.write("secrets.yaml", broken, secret_for(authority, "wild", WILDCARD))
        async with running(place.place) as zonal:
            assert await names_shown(zonal.https_port, "a.wild.test", authority) == {WILDCARD}
            findings = await zonal.findings()
            assert any(
                "shop/shop holds a certificate or key that does not parse" in each["message"] for each in findings
            )
            assert "secret-key-text" not in str(findings) + str(await zonal.model()) + zonal.stderr


async def test_ssl_redirect_sends_plain_requests_of_tls_hosts_to_https(tmp_path: Path) -> None:
    authority = trustme.CA()
    async with shop(tmp_path, {"zone-a": 1}) as place:
        write_secure_ingress(place.folder)
        place.folder.write("secrets.yaml", secret_for(authority, "shop", HOST))
        place.folder.write("plain.yaml", ingress("plain", rule("plain.test", path("/", "cart"))))
        place.write_settings(ssl_redirect="true")
        async with running(place.place) as zonal:
            response = await get(zonal.http_port, f"{HOST}:8080", "/item?id=1&x=%20")
            assert (response.status, response.field("location")) == (308, f"https://{HOST}/item?id=1&x=%20")
            assert (await get(zonal.http_port, "plain.test")).status == 200
            assert place.endpoints[0].requests == 1
            async with await Connection.open(zonal.https_port, tls=trusting(), server_name=HOST) as secure:
                assert (await secure.get(HOST, "/item")).status == 200


async def test_an_ingress_may_turn_the_redirect_off(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place:
        write_secure_ingress(place.folder, ssl_redirect="false")
        place.write_settings(ssl_redirect="true")
        async with running(place.place) as zonal:
            assert (await get(zonal.http_port, HOST)).status == 200
