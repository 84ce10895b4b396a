"""Over real watches that break, repeat and forget: the end is that of a source that has come late (K07, K08, K18)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ingress.objects.kinds import Ingress, KubernetesObject, key_of
from ingress.sources.inventory import Inventory
from tests.fakes.apiserver import ApiServer
from tests.fakes.apiserver.faults import Fault
from tests.fakes.apiserver.kinds import Document
from tests.fakes.sockets import until
from tests.integration.manifests import ingress, path, rule, service
from tests.integration.sourcing import Following, fill, following, secret, slice_on

NAMES = ("cart", "pay", "blog")
STEPS = 120


def made(kind: str, name: str, step: int) -> Document:
    if kind == "Ingress":
        return ingress(name, rule(f"{name}-{step}.test", path("/", name)))
    if kind == "Service":
        return service(name, port=1000 + step)
    return secret(name) if kind == "Secret" else slice_on(name, f"node-{step % 5}")


def content(known: Inventory) -> list[KubernetesObject]:
    single = (read("shop", name) for read in (known.service, known.secret) for name in NAMES)
    many: list[KubernetesObject] = [*known.of(Ingress), *known.slices("shop", "cart")]
    return [*sorted(many, key=lambda item: (item.kind.value, key_of(item))), *(item for item in single if item)]


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_happens_to_watches_the_end_is_that_of_a_fresh_list(tmp_path: Path, seed: int) -> None:
    chance, wanted = random.Random(seed), [("shop", name) for name in NAMES]
    async with ApiServer() as server:
        fill(server)
        async with following(server, tmp_path) as told:
            await until(lambda: told.inventory.complete)
            for step in range(STEPS):
                kind, name = chance.choice(("Ingress", "Service", "EndpointSlice", "Secret")), chance.choice(NAMES)
                if chance.random() < 0.3 and server.get(kind, "shop", name) is not None:
                    server.delete(kind, "shop", name)
                else:
                    server.put(made(kind, name, step))
                if step % 10 == 0:
                    await catch_up(server, told, step)
                    disturb(server, chance)
                if step % 20 == 10:
                    await told.wants(*chance.sample(wanted, 2))
            assert sum(fault.used for fault in server.faults) >= STEPS // 20
            await told.wants(*wanted)
            async with following(server, tmp_path) as late:
                await until(lambda: late.inventory.complete)
                await late.wants(*wanted)
                await until(lambda: content(told.inventory) == content(late.inventory) != [])
                assert told.inventory.findings == late.inventory.findings == ()


async def catch_up(server: ApiServer, told: Following, step: int) -> None:
    """Wait until this source knows all Services, so that what follows comes by watches and not by one list."""
    server.put(service("marker", port=1000 + step))

    def is_known() -> bool:
        known = told.inventory.service("shop", "marker")
        return known is not None and known.spec.ports[0].port == 1000 + step

    await until(is_known)


def disturb(server: ApiServer, chance: random.Random) -> None:
    """One watch is cut, repeats itself, ends or is told that its version is too old; at times history is gone."""
    which = chance.choice(("ingresses", "services", "endpointslices"))
    faults = (
        Fault(verb="watch", resource=which, cut=True, times=1),
        Fault(verb="watch", resource=which, replay=True, times=1),
        Fault(verb="watch", resource=which, end=True, times=1),
        Fault(verb="watch", resource=which, error_code=410, times=1),
    )
    server.faults.add(chance.choice(faults))
    if chance.random() < 0.3:
        server.compact()
