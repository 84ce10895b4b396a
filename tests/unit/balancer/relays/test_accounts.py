"""What is counted and logged of a relay, and what is not."""

from __future__ import annotations

import msgspec

from balancer.model.settings import LogRules, ProxySettings
from balancer.model.zones import OwnZone, Zone, ZoneFacts, ZonePrices
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.unit.balancer.relays.scenes import backend, model, relaying, to


async def echo(visit: Visit) -> None:
    while data := await visit.some():
        await visit.send(data)


async def test_bytes_to_another_zone_cost_what_the_operator_says() -> None:
    async with ScriptedEndpoint(echo) as endpoint:
        plain = backend((endpoint.address, endpoint.port))
        away = msgspec.structs.replace(
            plain, endpoints=tuple(msgspec.structs.replace(each, zone=Zone("b")) for each in plain.endpoints)
        )
        zones = ZoneFacts(prices=ZonePrices(default=1e9))
        async with relaying(model([away], own_zone=OwnZone(Zone("a")), zones=zones)) as scene:
            reader, writer = await scene.connect()
            writer.write(b"12345")
            await reader.readexactly(5)
            writer.close()
            line = await scene.line()
            assert (line["from_zone"], line["to_zone"], line["locality"]) == ("a", "b", "remote")
            assert scene.counted("zonal_zone_cost_dollars_total") == {("shop", "db"): 10.0}
            assert scene.counted("zonal_zone_bytes_total") == {
                ("shop", "db", "a", "b", "request"): 5.0,
                ("shop", "db", "a", "b", "response"): 5.0,
            }
            labels = ("shop", "db", "TCPRoute", "db", "a", "b", "remote", "")
            assert scene.counted("zonal_stream_connections_total") == {labels: 1.0}
            assert list(scene.counted("zonal_stream_seconds_total")) == [labels[:4]]
            assert list(scene.counted("zonal_stream_connect_seconds")) == [("shop", "db", "b")]


async def test_the_operator_may_want_no_lines() -> None:
    async with ScriptedEndpoint(echo) as endpoint:
        quiet = msgspec.structs.replace(to(endpoint), proxy=ProxySettings(log=LogRules(streams=False)))
        async with relaying(quiet) as scene:
            reader, writer = await scene.connect()
            writer.write(b"1")
            await reader.readexactly(1)
            writer.write_eof()
            assert await reader.read() == b""
            scene.show(to(endpoint))
            _, writer = await scene.connect()
            writer.close()
            assert (await scene.line())["bytes_in"] == 0
