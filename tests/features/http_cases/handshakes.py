"""The TLS cases: each plays a handshake of its own kind and judges it, for there is no message to cut.

Hellos that no TLS library would send are written by hand; only the first answer to them counts.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import Awaitable, Callable, Mapping

from tests.features.http2.playing import ask
from tests.features.http_cases.messages import Reader
from tests.features.http_cases.stage import Stage, write_secret
from tests.integration.manifests import tls_secret

_ALERT, _HANDSHAKE = 21, 22
_PATIENCE_SECONDS = 30.0
_QUIET_SECONDS = 3.0  # after which a side that says nothing has nothing to say
_RELOAD_SECONDS = 30.0
_RENEGOTIATIONS = 100

Handshake = Callable[[Stage], Awaitable[str | None]]
"""Plays and judges: what is wrong, or None."""


async def _get(stage: Stage, name: str, host: str, *, alpn: tuple[str, ...] = ()) -> tuple[int, str, str | None]:
    """Status, Service and selected protocol of a request over a verified connection to `name`."""
    context = stage.trusting()
    if alpn:
        context.set_alpn_protocols(list(alpn))
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", stage.zonal.https_port, ssl=context, server_hostname=name
    )
    writer.write(b"GET / HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % host.encode())
    received = Reader()
    received.feed(await reader.read())
    selected = writer.get_extra_info("ssl_object").selected_alpn_protocol()
    writer.close()
    (response,) = received.messages
    return response.status, (response.value(b"x-service") or b"").decode(), selected


async def _answer_to(stage: Stage, data: bytes) -> bytes:
    """All that comes back for raw bytes, until the other side closes or is quiet."""
    reader, writer = await asyncio.open_connection("127.0.0.1", stage.zonal.https_port)
    writer.write(data)
    received = b""
    try:
        async with asyncio.timeout(_QUIET_SECONDS):
            while piece := await reader.read(65536):
                received += piece
                if piece[0] == _HANDSHAKE:
                    break
    except (TimeoutError, ConnectionError):
        pass
    writer.close()
    return received


def _hello(*, version: int = 0x0303, name: bytes | None = None) -> bytes:
    """A TLS 1.2 ClientHello (RFC 5246 7.4.1.2), or an older one, with any bytes as its server name."""
    suites = struct.pack("!HHHH", 0xC02B, 0xC02F, 0xC009, 0x000A)
    body = struct.pack("!H", version) + bytes(32) + b"\x00" + struct.pack("!H", len(suites)) + suites + b"\x01\x00"
    extensions = (
        b"\x00\x0a\x00\x04\x00\x02\x00\x17" + b"\x00\x0b\x00\x02\x01\x00" + b"\x00\x0d\x00\x06\x00\x04\x04\x03\x08\x04"
    )
    if name is not None:
        entry = b"\x00" + struct.pack("!H", len(name)) + name
        extensions += struct.pack("!HHH", 0, len(entry) + 2, len(entry)) + entry
    body += struct.pack("!H", len(extensions)) + extensions
    handshake = b"\x01" + struct.pack("!I", len(body))[1:] + body
    return struct.pack("!BHH", _HANDSHAKE, 0x0301, len(handshake)) + handshake


async def _is_well(stage: Stage) -> str | None:
    seen = await _get(stage, "app.test", "app.test")
    return None if seen[:2] == (200, "svc-a") else f"a proper handshake afterwards: {seen}"


async def _other_host(stage: Stage) -> str | None:
    """Both hosts share one TLS policy, so it is routed by Host, as documented."""
    seen = await _get(stage, "app.test", "victim.test")
    return None if seen[:2] == (200, "svc-b") else f"answered {seen}"


async def _no_name(stage: Stage) -> str | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", stage.zonal.https_port, ssl=context, server_hostname="")
    certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return "a tenant's certificate" if b"app.test" in certificate or b"victim.test" in certificate else None


async def _odd_names(stage: Stage) -> str | None:
    for name in (b"10.0.0.1", b"a" * 300):
        answer = await _answer_to(stage, _hello(name=name))
        if answer[:1] not in (bytes((_ALERT,)), bytes((_HANDSHAKE,)), b"") or b"app.test" in answer:
            return f"{name[:20]!r}: {answer[:40]!r}"
    return await _is_well(stage)


async def _plain_text(stage: Stage) -> str | None:
    before = len(stage.zonal.stderr)
    answer = await _answer_to(stage, b"GET / HTTP/1.1\r\nHost: app.test\r\n\r\n")
    if answer and not answer.startswith((b"HTTP/1.1 400 ", bytes((_ALERT,)))):
        return f"answered {answer[:40]!r}"
    return "a traceback" if "Traceback" in stage.zonal.stderr[before:] else await _is_well(stage)


async def _coalesced(stage: Stage) -> str | None:
    """Hosts of one certificate share a connection; a host with another one is misdirected."""
    seen = [await _get_by_http2(stage, "a.app.test", host) for host in ("a.app.test", "b.app.test", "victim.test")]
    return None if seen == [200, 200, 421] else f"answered {seen}"


async def _no_early_data(stage: Stage) -> str | None:
    """Without a session ticket there is nothing that early data could be sent under (RFC 8446 4.2.10)."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", stage.zonal.https_port, ssl=stage.trusting(), server_hostname="app.test"
    )
    writer.write(b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n")
    await reader.read()
    session = writer.get_extra_info("ssl_object").session
    writer.close()
    return "a session ticket was issued" if session is not None and session.has_ticket else None


async def _http2_only(stage: Stage) -> str | None:
    seen = await _get_by_http2(stage, "app.test", "app.test")
    return None if seen == 200 else f"answered {seen}"


async def _get_by_http2(stage: Stage, name: str, host: str) -> int:
    """Status of a request over a verified connection to `name` on which only HTTP/2 was offered."""
    context = stage.trusting()
    context.set_alpn_protocols(["h2"])
    return (await ask(stage.zonal.https_port, context, name=name, host=host)).status


async def _renegotiation(stage: Stage) -> str | None:
    """Asked for by the one client that still can; the first refusal ends it."""
    process = await asyncio.create_subprocess_exec(
        *("openssl", "s_client", "-tls1_2", "-servername", "app.test"),
        *("-connect", f"127.0.0.1:{stage.zonal.https_port}"),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    cpu = stage.cpu_seconds()
    assert process.stdin is not None
    process.stdin.write(b"R\n")
    await asyncio.sleep(0.5)  # openssl reads a line as a command only if it comes alone
    try:
        for _ in range(_RENEGOTIATIONS - 1):
            process.stdin.write(b"R\n")
            await process.stdin.drain()
    except ConnectionError:
        pass  # it has given up
    async with asyncio.timeout(_PATIENCE_SECONDS):
        _, said = await process.communicate()
    refused = b"no renegotiation" in said or b"unexpected message" in said or b"alert" in said
    return None if refused and stage.cpu_seconds() - cpu < 1.0 else f"not refused: {said[-200:]!r}"


async def _old_versions(stage: Stage) -> str | None:
    for version in (0x0301, 0x0302):
        answer = await _answer_to(stage, _hello(version=version, name=b"app.test"))
        if answer[:1] not in (bytes((_ALERT,)), b""):
            return f"version {version:#x}: {answer[:20]!r}"
    return None


async def _broken_secret(stage: Stage) -> str | None:
    """Each name goes on with its last good certificate, and a finding says what is wrong."""
    stage.folder.write("secret-app.yaml", tls_secret("app", chain=b"garbage", key=b"garbage", namespace="tenant-a"))
    try:
        deadline = asyncio.get_running_loop().time() + _RELOAD_SECONDS
        while not any(each["reason"] == "CertificateUnusable" for each in await stage.zonal.findings()):
            if asyncio.get_running_loop().time() > deadline:
                return "no finding about the Secret"
            await asyncio.sleep(0.05)
        for name, service in (("app.test", "svc-a"), ("victim.test", "svc-b")):
            if (seen := await _get(stage, name, name))[:2] != (200, service):
                return f"{name}: {seen}"
    except ssl.SSLError as error:
        return f"a handshake failed: {error.reason}"
    finally:
        write_secret(stage.folder, "app", namespace="tenant-a", authority=stage.authority, host="app.test")
    return None


HANDSHAKES: Mapping[str, Handshake] = {
    "TLS-01": _other_host,
    "TLS-04": _no_name,
    "TLS-07": _odd_names,
    "TLS-08": _plain_text,
    "TLS-09": _coalesced,
    "TLS-10": _no_early_data,
    "TLS-11": _http2_only,
    "TLS-12": _renegotiation,
    "TLS-13": _old_versions,
    "TLS-15": _broken_secret,
}
"""One for each case of the category."""
