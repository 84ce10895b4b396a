"""What an endpoint shows is checked within the handshake: names of which one is enough, and the length of the chain."""

from __future__ import annotations

import asyncio
import ssl

import pytest
import trustme
import uvloop

from balancer.connections.checked_tls import checked_contexts
from balancer.connections.endpoint_tls import endpoint_context, has_one_of
from balancer.connections.tls import make_context
from balancer.model.certificates import Certificate
from balancer.model.handshakes import Handshake

pytestmark = pytest.mark.large

AUTHORITY = trustme.CA()
MIDDLE = AUTHORITY.create_child_ca()


def context_of(authority: trustme.CA) -> ssl.SSLContext:
    issued = authority.issue_cert("cart.test")
    chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
    return make_context(Certificate("shop/cart", chain, issued.private_key_pem.bytes(), 0.0))


def demand(*names: str, intermediates: int = 1, server_name: str = "cart.test") -> Handshake:
    ca_pem = AUTHORITY.cert_pem.bytes()
    return Handshake(True, server_name, ca_pem, names=names, intermediates=intermediates)


async def sent(authority: trustme.CA, tls: Handshake) -> bytes:
    """What an endpoint gets of a client that sends at once."""
    seen: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            seen.set_result(await reader.read())
        except OSError:
            seen.set_result(b"")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context_of(authority))
    async with server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=await checked_contexts().of("shop", tls), server_hostname=tls.server_name
        )
        writer.write(b"hello")
        writer.close()
        return await seen


BOTH_LOOPS = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])


@BOTH_LOOPS
@pytest.mark.parametrize(
    "tls",
    [
        demand(),
        demand("other.test", "cart.test", server_name="anybody.test"),
        Handshake(server_name="nobody.test"),
    ],
)
def test_who_shows_what_is_demanded_is_spoken_to(loop: object, tls: Handshake) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:  # type: ignore[arg-type]
        assert runner.run(sent(AUTHORITY, tls)) == b"hello"


@BOTH_LOOPS
@pytest.mark.parametrize(
    ("authority", "tls"),
    [
        (AUTHORITY, demand(server_name="other.test")),
        (AUTHORITY, demand("other.test")),
        (AUTHORITY, demand("spiffe://cart.test/id")),
        (MIDDLE, demand(intermediates=0)),
    ],
)
def test_nobody_else_gets_a_byte(loop: object, authority: trustme.CA, tls: Handshake) -> None:
    with asyncio.Runner(loop_factory=loop) as runner, pytest.raises(ssl.SSLError):  # type: ignore[arg-type]
        runner.run(sent(authority, tls))


@pytest.mark.parametrize(
    ("shown", "names", "expected"),
    [
        ((("DNS", "a.test"),), ("a.test",), True),
        ((("DNS", "A.test"),), ("a.test", "b.test"), True),
        ((("DNS", "*.a.test"),), ("x.a.test",), True),
        ((("DNS", "*.a.test"),), ("x.y.a.test",), False),
        ((("DNS", "*.a.test"),), ("a.test",), False),
        ((("DNS", "*.a.test"),), ("*.a.test",), True),
        ((("DNS", "x.a.test"),), ("*.a.test",), False),
        ((("URI", "spiffe://a.test/id"),), ("spiffe://a.test/id",), True),
        ((("URI", "spiffe://a.test/id"),), ("spiffe://a.test/ID",), False),
        ((("URI", "a.test"),), ("b.test",), False),
        ((("DNS", "spiffe://a.test/id"),), ("spiffe://a.test/id",), False),
        ((), ("a.test",), False),
    ],
)
def test_one_of_the_names_is_enough(shown: tuple[tuple[str, str], ...], names: tuple[str, ...], expected: bool) -> None:
    assert has_one_of(names, {"subjectAltName": shown}) is expected


def test_requests_share_one_context_whatever_names_they_want() -> None:
    one, other = endpoint_context(demand("a.test")), endpoint_context(demand("b.test"))
    assert (one.verify_mode, one.check_hostname) == (ssl.CERT_REQUIRED, False)
    assert one is other
