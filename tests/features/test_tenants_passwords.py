"""A tenant with many paths and slow hashes, and a flood of wrong passwords for it, delay nobody else's sign-in."""

from __future__ import annotations

import base64
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, neighbours
from tests.integration.manifests import Document, ingress, path, rule
from tests.integration.test_sign_in import SLOW, basic, users

pytestmark = pytest.mark.faults

_SIGN_IN = {"auth-type": "basic", "auth-secret": "pw"}
_PATHS = 40  # each check takes 0.2 s, so that a turn of all of them takes longer than a request may


def guarded(number: int) -> Document:
    """An Ingress of the greedy tenant with a path that has a gate of its own, because its realm differs."""
    said = {**_SIGN_IN, "auth-realm": f"realm {number}"}
    annotations = {f"nginx.ingress.kubernetes.io/{key}": text for key, text in said.items()}
    rules = rule(HOST, path(f"/greedy/{number}", "app"))
    return ingress(f"flooded-{number}", rules, namespace="greedy", annotations=annotations)


@pytest.mark.slow
@in_one_of_three
async def test_a_flood_of_passwords_for_many_paths_delays_no_other_tenant(tmp_path: Path, judge_times: bool) -> None:
    ledger = Ledger()
    flooded = [guarded(number) for number in range(_PATHS)]
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        neighbours(
            tmp_path,
            Tenant("greedy", [endpoint], objects=[*flooded, users("pw", f"bob:{SLOW}\n", namespace="greedy")]),
            Tenant("modest", [endpoint], _SIGN_IN, [users("pw", "alice:{PLAIN}modest\n", namespace="modest")]),
            Tenant("other", [endpoint], _SIGN_IN, [users("pw", "alice:{PLAIN}other\n", namespace="other")]),
        ) as zonal,
    ):
        alone, beside = (
            Load(zonal.http_port, prefix=f"/{name}", fields=basic("alice", name) + "\r\n")
            for name in ("other", "modest")
        )
        await alone.steady(rate=50, seconds=1.0)
        async with AsyncExitStack() as stack:
            for number in range(_PATHS):
                client = await stack.enter_async_context(RawClient(zonal.http_port))
                given = basic("bob", base64.b32encode(bytes([number])).decode())
                client.send(f"GET /greedy/{number}/ HTTP/1.1\r\nHost: {HOST}\r\n{given}\r\n\r\n".encode())
            async with RawClient(zonal.http_port) as last:  # whoever came before has been read when it is answered
                assert (await last.ask(f"GET /nowhere HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())).status == 404
            await beside.steady(rate=50, seconds=1.0)
    assert_unharmed(beside, alone, judge_times)
