"""Changes of the cluster under load fail no request, and what is wrong harms only what is wrong."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.http2_load import Http2Load
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.faults.stage import slice_of, staged
from tests.features.faults.versions import Version, each_version
from tests.integration.in_process import data_plane
from tests.integration.manifests import config_map, ingress, ingress_class, path, rule, service, tls_secret

pytestmark = [pytest.mark.faults, pytest.mark.alone]

_CONTEXT = TranslationContext(allow_local_endpoints=True)


@pytest.mark.slow
@each_version
async def test_u19_replacing_every_endpoint_in_turn_fails_no_request(tmp_path: Path, version: Version) -> None:
    ledger, count = Ledger(), 3
    async with AsyncExitStack() as stack:
        old = [await stack.enter_async_context(version.endpoint(honest(ledger, f"old-{n}"))) for n in range(count)]
        new = [await stack.enter_async_context(version.endpoint(honest(ledger, f"new-{n}"))) for n in range(count)]
        stage = await stack.enter_async_context(
            staged(tmp_path, {"app": old}, ledger=ledger, protocol=version.protocol, http2_cleartext="true")
        )
        load, http2 = stage.load(), Http2Load(stage.port)
        loading = asyncio.gather(load.steady(rate=70, seconds=6.0), http2.steady(rate=30, seconds=6.0))
        for number in range(count):
            await stage.change({"app": new[: number + 1] + old[number + 1 :]})
            await asyncio.sleep(0.3)  # what is in flight ends
            await old[number].stop()
            for visit in old[number].visits:
                await visit.close()
        await loading
    assert load.failures == http2.failures == []
    assert {answer.endpoint for answer in load.answers} == {
        f"{age}-{n}" for age in ("old", "new") for n in range(count)
    }
    assert {answer.endpoint for answer in load.answers[-50:]} == {f"new-{number}" for number in range(count)}


async def test_p08_a_route_that_flips_ten_times_a_second_is_always_one_or_the_other() -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger, "a")) as first,
        ScriptedEndpoint(honest(ledger, "b")) as second,
        data_plane() as plane,
    ):
        cluster = [
            ingress_class(),
            config_map(ssl_redirect="false", http2_cleartext="true"),
            *(service(name) for name in ("a", "b")),
            slice_of("a", first),
            slice_of("b", second),
        ]
        load, http2 = Load(plane.http_port), Http2Load(plane.http_port)
        plane.serve([*cluster, ingress("web", rule(HOST, path("/", "a")))], _CONTEXT)
        loading = asyncio.gather(load.steady(rate=100, seconds=1.5), http2.steady(rate=50, seconds=1.5))
        for number in range(14):
            plane.serve([*cluster, ingress("web", rule(HOST, path("/", "ba"[number % 2])))], _CONTEXT)
            await asyncio.sleep(0.1)
            await load.ask(1024)  # one at least in each interval, however busy the machine is
        await loading
        load.close()
    assert load.failures == http2.failures == []
    assert {answer.endpoint for answer in http2.answers} == {"a", "b"}
    assert ledger.doubled_posts == ledger.wrong_bodies == []
    answered_by = [answer.endpoint for answer in sorted(load.answers)]
    assert set(answered_by) == {"a", "b"}
    assert sum(one != other for one, other in itertools.pairwise(answered_by)) >= 13


async def test_p09_what_is_invalid_harms_no_other_host(tmp_path: Path) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger) as stage,
    ):
        load = stage.load()
        generation = await stage.zonal.generation()
        loading = asyncio.create_task(load.steady(rate=100, seconds=1.5))
        stage.folder.write(
            "wrong.yaml",
            ingress("bad-annotation", rule("one.test", path("/", "app")), annotations=_annotated("much")),
            ingress("bad-path", rule("two.test", path("no-slash", "app"))),
            ingress(
                "missing-secret",
                rule("three.test", path("/", "app")),
                tls=[{"hosts": ["three.test"], "secretName": "missing"}],
            ),
            ingress(
                "bad-secret", rule("four.test", path("/", "app")), tls=[{"hosts": ["four.test"], "secretName": "bad"}]
            ),
            tls_secret("bad", chain=b"no certificate", key=b"no key"),
        )
        stage.folder.write_text("torn.yaml", "kind: [Ingress")
        await stage.zonal.reaches_generation(generation + 1, seconds=5.0)
        await loading
        about = {finding["name"] for finding in await stage.zonal.findings()}
    assert load.failures == []
    assert {"bad-annotation", "bad-path", "missing-secret", "bad-secret"} <= about


def _annotated(size: str) -> dict[str, str]:
    return {"nginx.ingress.kubernetes.io/proxy-body-size": size}
