"""What places of Gateways depend on is looked up, and kept while the API server is away."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingress.writing.address_lookup import FixedAddresses, ServiceAddresses
from ingress.writing.addresses import parse_addresses
from ingress.writing.gateway.surroundings import PlanSurroundings
from tests.fakes.apiserver import ApiServer, Fault
from tests.features.gateway.api_stage import furnish
from tests.unit.ingress.writing.writers import client_of

pytestmark = pytest.mark.large

OWN = ("zonal", "zonal")


async def test_everything_is_found(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server)
        seen = PlanSurroundings(
            client,
            own_service=OWN,
            lookup=FixedAddresses(parse_addresses("203.0.113.7")),
            pause_seconds=10.0,
            needs_selector=True,
        )
        await seen.look(100.0)
        assert (dict(seen.selector), seen.bundles, seen.problem) == ({"app": "zonal"}, ("v1.6.1",), "")
        assert seen.channel == "experimental"
        assert seen.addresses == parse_addresses("203.0.113.7")
        assert seen.is_known
        server.calls.clear()
        await seen.look(105.0)
        assert server.calls == []


async def test_what_a_person_has_to_change_is_said(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        seen = PlanSurroundings(client, own_service=OWN, lookup=None, pause_seconds=0.0, needs_selector=True)
        await seen.look(1.0)
        assert "zonal/zonal" in seen.problem
        assert seen.is_known
        nameless = PlanSurroundings(client, own_service=None, lookup=None, pause_seconds=0.0, needs_selector=True)
        await nameless.look(1.0)
        assert "--publish-service" in nameless.problem


async def test_without_an_answer_nothing_is_known_and_nothing_forgotten(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server)
        lookup = ServiceAddresses(client, namespace="zonal", name="zonal")
        seen = PlanSurroundings(client, own_service=OWN, lookup=lookup, pause_seconds=0.0, needs_selector=True)
        server.faults.add(Fault(reset=True))
        await seen.look(1.0)
        known = [seen.is_known]
        server.faults.clear()
        await seen.look(2.0)
        assert [*known, seen.is_known] == [False, True]
        server.faults.add(Fault(reset=True))
        await seen.look(3.0)
        assert dict(seen.selector) == {"app": "zonal"}
        assert seen.bundles == ("v1.6.1",)
