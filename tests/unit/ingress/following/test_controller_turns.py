"""What the controller does by itself: Secrets in turns, drains that end, and what requests have shown."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from ingress.findings import Finding, Severity
from ingress.objects.kinds import IngressTls
from ingress.sources.events import Upserted
from ingress.translation.secrets.key_pairs import read_pair
from tests.fakes.sockets import until
from tests.unit.ingress.cluster import (
    config_map,
    ingress,
    rule,
    tls_secret,
)
from tests.unit.ingress.following.scene import Scene, hosts, lists, start_and_run
from tests.unit.ingress.translation.secrets.material.hostile import (
    certificate,
    certificates,
    honest,
    rsa_info,
    rsa_text,
)


def _pair(host: str) -> tuple[bytes, bytes]:
    issued = trustme.CA(key_type=trustme.KeyType.ECDSA).issue_cert(host, key_type=trustme.KeyType.ECDSA)
    return b"".join(part.bytes() for part in issued.cert_chain_pems), issued.private_key_pem.bytes()


async def test_a_new_key_of_a_modest_namespace_waits_for_no_thousand_of_another() -> None:
    greedy, renewed, modest, own = _pair("*.greedy.test"), _pair("*.greedy.test"), _pair("m.test"), _pair("m.test")
    names = [f"t{number:02}" for number in range(20)]
    tls = [IngressTls((f"{name}.greedy.test",), name) for name in names]
    scene = Scene(
        *lists(
            ingress("web", *(rule(f"{name}.greedy.test") for name in names), namespace="greedy", tls=tls),
            ingress("web", rule("m.test"), namespace="modest", tls=[IngressTls(("m.test",), "t")]),
            *(tls_secret(name, *greedy, namespace="greedy") for name in names),
            tls_secret("t", *modest, namespace="modest"),
        ),
        judged_most=4,
    )

    def shown() -> list[list[bytes]]:
        return [[each.chain_pem for each in publication.model.certificates] for publication in scene.served]

    running = asyncio.create_task(start_and_run(scene))
    async with asyncio.timeout(30):
        while not scene.served:  # noqa: ASYNC110 - translations run in a thread
            await asyncio.sleep(0.01)
        assert sorted(shown()[0]) == sorted([greedy[0]] * 20 + [modest[0]])
        for name in names:
            scene.tell(Upserted(tls_secret(name, *renewed, namespace="greedy")))
        scene.tell(Upserted(tls_secret("t", *own, namespace="modest")))
        while greedy[0] in shown()[-1]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    scene.tell(None)
    await running
    first = next(chains for chains in shown() if own[0] in chains)
    assert first.count(renewed[0]) <= 4
    assert shown()[-1] == [renewed[0]] * 20 + [own[0]]
    assert all(len(chains) == 21 for chains in shown())


def _judges_elsewhere() -> bool:
    """Whether another thread than this one reads a pair now."""
    others = (frame for thread, frame in sys._current_frames().items() if thread != threading.get_ident())
    return any(each.f_code is read_pair.__code__ for frame in others for each, _ in traceback.walk_stack(frame))


@pytest.mark.large
async def test_the_loop_goes_on_while_keys_are_judged() -> None:
    key, names = honest(), [f"t{number:03}" for number in range(200)]
    tls = [IngressTls((f"{name}.test",), name) for name in names]
    scene = Scene(
        *lists(
            ingress("web", *(rule(f"{name}.test") for name in names), tls=tls),
            *(
                tls_secret(name, certificates(certificate(rsa_info(key.n), filling=number)), rsa_text(key))
                for number, name in enumerate(names)
            ),
        )
    )
    running, turns = asyncio.create_task(start_and_run(scene)), 0
    async with asyncio.timeout(30):
        while not scene.served:
            turns += _judges_elsewhere()
            await asyncio.sleep(0)
    scene.tell(None)
    await running
    assert turns > 0


async def test_a_modest_namespace_is_served_while_workers_take_the_change_of_a_greedy_one() -> None:
    """The source ends before the workers serve the first change: what waits then comes all the same."""
    many = [rule(f"{number}.greedy.test") for number in range(2000)]
    scene = Scene(
        *lists(ingress("web", *many, namespace="greedy"), ingress("web", rule("m.test"), namespace="modest")),
        in_use=lambda: 0,
    )
    running = asyncio.create_task(start_and_run(scene))
    await until(lambda: len(scene.served) == 1)
    scene.tell(Upserted(ingress("web", *many, rule("a.greedy.test"), namespace="greedy")))
    await until(lambda: "a.greedy.test" in hosts(scene.served[-1]))
    scene.tell(Upserted(ingress("web", *many, rule("b.greedy.test"), namespace="greedy")))
    scene.tell(Upserted(ingress("web", rule("n.test"), namespace="modest")))
    await until(lambda: "n.test" in hosts(scene.served[-1]))
    assert "b.greedy.test" not in hosts(scene.served[-1])
    scene.tell(None)
    await running
    assert {"b.greedy.test", "n.test"} <= {*hosts(scene.served[-1])}


@pytest.mark.large
async def test_a_drain_that_ends_is_published_although_nothing_has_changed() -> None:
    ends = datetime.now(UTC) + timedelta(milliseconds=300)
    said = config_map(zone_aware_routing="true", zone_drain=f"zone-b until={ends.isoformat(timespec='milliseconds')}")
    scene = Scene(*lists(ingress("web", rule("shop.test"))))
    scene.tell(Upserted(said))
    await scene.controller.start()
    running = asyncio.create_task(scene.controller.run())
    await until(lambda: any(each.reason == "ZoneDrainOver" for each in scene.published.findings))
    scene.tell(None)
    await running
    assert datetime.now(UTC) >= ends
    assert scene.served[-1].model.zones.drained == ()


async def test_what_requests_have_shown_is_a_finding_until_they_show_it_no_longer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    scene = Scene(*lists(ingress("web", rule("shop.test"))))
    await scene.run()
    seen = Finding("Service", "shop", "cart", "ZoneSick", "Look.", "Requests leave.", Severity.DEGRADED)
    for findings in ((seen,), (seen,), ()):
        scene.controller.see(findings)
        assert [finding for finding in scene.published.findings if finding.reason == "ZoneSick"] == [*findings]
    told = [record.getMessage() for record in caplog.records if "ZoneSick" in record.getMessage()]
    assert told == [
        "degraded: Service shop/cart: ZoneSick: Look. (Requests leave.)",
        "resolved: Service shop/cart: ZoneSick: Look.",
    ]
