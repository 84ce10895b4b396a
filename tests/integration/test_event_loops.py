"""The main path works the same on both event loops: plain and TLS, bodies, a flip of the flag, and a clean stop."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.integration.running import running
from tests.integration.shop import HOST, shop
from tests.integration.wire import Connection, request_bytes, trusting


@pytest.mark.parametrize("event_loop", ["asyncio", "uvloop"])
async def test_the_main_path(tmp_path: Path, event_loop: str) -> None:
    body = b"zone" * 50_000
    async with (
        shop(tmp_path) as place,
        running(place.place, "--zone", "zone-b", "--event-loop", event_loop) as zonal,
        await Connection.open(zonal.http_port) as plain,
        await Connection.open(zonal.https_port, tls=trusting(), server_name=HOST) as secure,
    ):
        zones = {(await plain.get(HOST)).json()["zone"] for _ in range(6)}
        assert zones == {"zone-a", "zone-b", "zone-c"}

        upload = request_bytes("POST", "/upload", f"Host: {HOST}", f"Content-Length: {len(body)}", body=body)
        for connection in (plain, secure):
            seen = (await connection.send(upload)).json()
            assert seen["body_sha256"] == hashlib.sha256(body).hexdigest()

        place.write_settings(zone_aware_routing="true")
        await zonal.reaches_generation(2, seconds=2.0)
        assert {(await plain.get(HOST)).json()["zone"] for _ in range(6)} == {"zone-b"}
        assert {(await secure.get(HOST)).json()["zone"] for _ in range(6)} == {"zone-b"}
