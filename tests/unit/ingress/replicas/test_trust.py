"""ReplicaCredentials from a secret: who has the secret is believed under an identity of its own, and nobody else."""

from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from ingress.replicas.trust import PEER_NAME, ReplicaCredentials, credentials_in, credentials_of, identity_in
from ingress.settings.options import PeerSecretUnusable

SECRET, OTHER = b"one secret, thirty-two bytes long", b"other secret, also long as needed"


async def shaken(server: ReplicaCredentials, client: ssl.SSLContext) -> str:
    """The identity that the server sees of a client with a context."""

    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(text=identity_in(request.get_extra_info("peercert")))

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server.server)
    await site.start()
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(
                f"https://127.0.0.1:{runner.addresses[0][1]}/", ssl=client, server_hostname=PEER_NAME
            ) as answered,
        ):
            return await answered.text()
    finally:
        await runner.cleanup()


async def test_who_has_the_secret_is_believed_under_an_identity_of_its_own() -> None:
    one, two = credentials_of(SECRET), credentials_of(SECRET)
    assert await shaken(one, two.client) == two.identity != one.identity
    assert one.row_secret == two.row_secret
    assert len(one.row_secret) == 32


async def test_nobody_else_is() -> None:
    with pytest.raises(aiohttp.ClientError):
        await shaken(credentials_of(SECRET), credentials_of(OTHER).client)


async def test_who_shows_no_certificate_is_not_heard() -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with pytest.raises(aiohttp.ClientError):
        await shaken(credentials_of(SECRET), context)


def test_secrets_that_could_be_guessed_and_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    with pytest.raises(PeerSecretUnusable, match="No such file"):
        credentials_in(file)
    file.write_bytes(b"short")
    with pytest.raises(PeerSecretUnusable, match="16 bytes"):
        credentials_in(file)
    file.write_bytes(SECRET + b"\n")
    assert credentials_in(file).row_secret == credentials_of(SECRET).row_secret


def test_without_a_certificate_there_is_no_identity() -> None:
    assert identity_in(None) == identity_in({}) == ""


@pytest.mark.parametrize("name", ["", "somebody", "A" * 32, "0" * 33, "\x1b[2J" + "0" * 28])
def test_what_no_replica_is_called_is_no_identity(name: str) -> None:
    assert identity_in({"subject": ((("commonName", name),),)}) == ""
    assert identity_in({"subject": ((("commonName", "0123456789abcdef" * 2),),)}) != ""
