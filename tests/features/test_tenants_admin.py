"""A crowd on the admin port keeps nobody out: probes are answered and changes are published, with few descriptors."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from tests.fakes.sockets import until
from tests.features.faults.crowds import closing, crowd, is_over
from tests.integration.manifests import ingress, path, rule
from tests.integration.running import Zonal, running
from tests.integration.shop import HOST, shop
from tests.integration.wire import Connection, get

_DESCRIPTORS = 160
_CROWD = 300
_UNFINISHED = b"GET /livez HTTP/1.1\r\nHost: a\r\n"

few_descriptors = ("sh", "-c", f'ulimit -n {_DESCRIPTORS}; exec "$@"', "sh")
"""Words before a command that is to have so few."""


async def crowd_from(port: int, count: int, address: str) -> list[socket.socket]:
    """Connections from an address on loopback with half a head each."""
    sockets: list[socket.socket] = []
    for _ in range(count):
        connection = socket.socket()
        connection.setblocking(False)
        connection.bind((address, 0))
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        connection.send(_UNFINISHED)
        sockets.append(connection)
    return sockets


def open_descriptors(zonal: Zonal) -> int:
    return len(os.listdir(f"/proc/{zonal.pid}/fd"))


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"], ids=["the address of the probe", "another address"])
async def test_beside_a_crowd_of_unfinished_heads_probes_are_answered_and_a_change_is_published(
    tmp_path: Path, workers: str, address: str
) -> None:
    async with (
        shop(tmp_path, {"zone-a": 1}) as place,
        running(place.place, "--workers", workers, through=few_descriptors) as zonal,
    ):
        generation = await zonal.generation()
        crowding = await crowd_from(zonal.admin_port, _CROWD, address)
        with closing(crowding):
            for page in ("/livez", "/readyz", "/metrics"):
                assert (await zonal.admin(page)).status == 200
            assert open_descriptors(zonal) < _DESCRIPTORS * 3 // 4
            place.folder.write("more.yaml", ingress("more", rule("more.test", path("/", "cart"))))
            await zonal.reaches_generation(generation + 1, seconds=20.0)
            assert (await get(zonal.http_port, "more.test")).status == 200
            assert sum(map(is_over, crowding)) >= _CROWD - _DESCRIPTORS // 4, "most had to make room"


async def test_clients_at_the_bound_of_a_worker_leave_it_descriptors_for_endpoints(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, {"zone-a": 40}, keep_alive="60") as place,
        running(place.place, "--workers", "1", through=few_descriptors) as zonal,
    ):
        kept = [await Connection.open(zonal.http_port) for _ in range(40)]
        crowding = await crowd(zonal.http_port, _CROWD)
        with closing(crowding):
            await until(lambda: sum(map(is_over, crowding)) >= _CROWD - _DESCRIPTORS // 2)
            answers = await asyncio.gather(*(each.get(HOST) for each in kept))
            assert {answer.status for answer in answers} == {200}
            assert (await zonal.admin("/livez")).status == 200
        for each in kept:
            each.close()
