"""What is stored in the cluster is served within a second, and with its certificates from the start."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.fakes.apiserver import Call, Fault
from tests.fakes.stopwatch import Stopwatch
from tests.features.cluster.certificates import certified, serial_of
from tests.features.cluster.documents import endpoints
from tests.features.cluster.stage import HOST, Stage, answers, becomes, has_finding, staged, status_of
from tests.features.faults.stage import Record
from tests.features.test_kubectl import KUBECTL
from tests.integration.manifests import (
    Document,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.running import Zonal
from tests.integration.wire import get

LIMIT_SECONDS = 1.0
TLS = [{"hosts": [HOST], "secretName": "shop-tls"}]

needs_kubectl = pytest.mark.skipif(not KUBECTL.exists(), reason="kubectl is not installed beside Python")


def listed(*documents: Document) -> str:
    """What `kubectl apply -f -` reads."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})


def rotated(stage: Stage, zonal: Zonal, before: str) -> Callable[[], Awaitable[bool]]:
    """Store a new certificate in `shop-tls`; whether another than `before` and a good one is served."""
    stage.put(certified("shop-tls", HOST))

    async def is_so() -> bool:
        return (await serial_of(zonal, HOST)) not in ("", before)

    return is_so


@needs_kubectl
async def test_what_kubectl_applies_changes_and_deletes_takes_effect_within_a_second(
    tmp_path: Path, record_property: Record
) -> None:
    async with staged(tmp_path) as stage:
        cart, blog = await stage.endpoint("cart"), await stage.endpoint("blog")
        stage.settings()
        stage.put(ingress_class())
        kubectl, zonal = stage.kubectl(), await stage.ready(scale=1.0)
        assert await status_of(zonal) == 404

        async def is_blog() -> bool:
            return bool((await get(zonal.http_port, HOST)).json()["service"] == "blog")

        web = ingress("web", rule(HOST, path("/", "cart")))
        both = (service("cart"), service("blog"), endpoint_slice(cart), endpoint_slice(blog))
        await kubectl("apply", "-f", "-", stdin=listed(*both, web))
        took = {"create": await answers(zonal, 200, seconds=LIMIT_SECONDS)}
        await kubectl("apply", "-f", "-", stdin=listed(ingress("web", rule(HOST, path("/", "blog")))))
        took["change"] = await becomes(is_blog, seconds=LIMIT_SECONDS)
        await kubectl("--namespace=shop", "delete", "endpointslice", f"blog-{blog.port}")
        took["no endpoint"] = await answers(zonal, 503, seconds=LIMIT_SECONDS)
        await kubectl("--namespace=shop", "delete", "service", "blog")
        took["no service"] = await answers(zonal, 503, seconds=LIMIT_SECONDS)
        await has_finding(zonal, "Ingress", "ServiceMissing")
        await kubectl("--namespace=shop", "delete", "ingress", "web")
        took["delete"] = await answers(zonal, 404, seconds=LIMIT_SECONDS)
        for what, seconds in took.items():
            record_property(f"kubectl {what} seconds", round(seconds, 3))


async def test_a_stored_object_is_served_within_a_second_at_real_times(tmp_path: Path, record_property: Record) -> None:
    async with staged(tmp_path) as stage:
        await stage.shop()
        zonal = await stage.ready(scale=1.0)
        times = []
        for number in range(10):
            host = f"host-{number}.test"
            stage.put(ingress(f"more-{number}", rule(host, path("/", "cart"))))
            times.append(await answers(zonal, 200, host, seconds=LIMIT_SECONDS))
        record_property("stored to served, worst seconds", round(max(times), 3))


@needs_kubectl
@pytest.mark.faults
async def test_k19_changes_of_classes_are_picked_up_and_dropped_within_a_second(
    tmp_path: Path, record_property: Record
) -> None:
    async with staged(tmp_path) as stage:
        await stage.shop()
        stage.put({**ingress_class("other"), "spec": {"controller": "example.com/other"}})
        kubectl, zonal = stage.kubectl(), await stage.ready(scale=1.0)
        times = []

        async def patch_leads_to(status: int, class_name: str) -> None:
            change = json.dumps({"spec": {"ingressClassName": class_name}})
            await kubectl("--namespace=shop", "patch", "ingress", "web", "-p", change)
            times.append(await answers(zonal, status, seconds=LIMIT_SECONDS))

        await patch_leads_to(404, "other")
        await patch_leads_to(200, "zonal")
        await kubectl("delete", "ingressclass", "zonal")
        times.append(await answers(zonal, 404, seconds=LIMIT_SECONDS))
        foreign = {**ingress_class(), "spec": {"controller": "example.com/other"}}
        await kubectl("apply", "-f", "-", stdin=listed(foreign))
        assert await status_of(zonal) == 404
        await kubectl("delete", "ingressclass", "zonal")
        await kubectl("apply", "-f", "-", stdin=listed(ingress_class()))
        times.append(await answers(zonal, 200, seconds=LIMIT_SECONDS))
        record_property("K19 worst seconds", round(max(times), 3))


@pytest.mark.parametrize("scope", ["namespace", "cluster", "name"])
async def test_certificates_are_served_from_readiness_on_as_they_change_come_and_go(tmp_path: Path, scope: str) -> None:
    late_tls = {"hosts": ["late.test"], "secretName": "late-tls"}
    rules = [rule(host, path("/", "cart")) for host in (HOST, "late.test")]
    async with staged(tmp_path) as stage:
        await stage.shop()
        stage.put(ingress("web", *rules, tls=TLS), certified("shop-tls", HOST), certified("late-tls", "late.test"))
        stage.put(certified("unwanted-here", HOST), certified("unwanted-there", HOST, namespace="elsewhere"))
        stage.server.faults.add(Fault(resource="secrets", delay_seconds=0.5))
        zonal = await stage.ready(f"--secret-scope={scope}")
        first = await serial_of(zonal, HOST)
        assert first, "no handshake gets another certificate once the process is ready"
        assert not await serial_of(zonal, "late.test")
        stage.server.faults.clear()
        await becomes(rotated(stage, zonal, first))

        async def is_late() -> bool:
            return bool(await serial_of(zonal, "late.test"))

        async def is_forgotten() -> bool:
            return b"late-tls" not in (await zonal.admin("/debug/model")).body

        stage.put(ingress("web", *rules, tls=[*TLS, late_tls]))
        await becomes(is_late)
        stage.put(ingress("web", *rules, tls=TLS))
        await becomes(is_forgotten)
        findings = [(found["reason"], found["message"]) for found in await zonal.findings()]
        assert [reason for reason, _ in findings] == ["TlsHostMissing"], findings
        assert "late.test" in findings[0][1], "its certificate is taken away again"
        await only_wanted_secrets_show(stage, zonal, scope)


async def only_wanted_secrets_show(stage: Stage, zonal: Zonal, scope: str) -> None:
    """No page and no log names a Secret that nobody refers to, and no more is asked for than the scope says."""
    pages = [(await zonal.admin(page)).body for page in ("/debug/model", "/debug/findings", "/metrics")]
    assert b"shop-tls" in b"".join(pages)
    assert b"unwanted" not in b"".join(pages)
    assert "unwanted" not in zonal.stderr
    names = {("shop", name) for name in ("shop-tls", "late-tls")}
    # What an Ingress comes to name after its list went by is asked for by name.
    allowed = {"namespace": {("shop", ""), *names}, "cluster": {("", ""), *names}, "name": names}[scope]
    asked = {(call.namespace, call.name) for call in stage.server.calls if call.resource == "secrets"}
    assert asked <= allowed


async def test_a_secret_that_is_missing_does_not_hold_up_readiness_and_is_served_when_it_comes(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.shop()
        stage.put(ingress("web", rule(HOST, path("/", "cart")), tls=TLS))
        watch = Stopwatch()
        zonal = await stage.ready()
        assert watch.within(8.0), "an answer that there is no such Secret is an answer"
        assert await status_of(zonal) == 200
        await has_finding(zonal, "Ingress", "CertificateUnusable")
        await becomes(rotated(stage, zonal, ""))


async def test_only_the_watched_namespaces_are_asked_for_and_served(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.shop()
        cart = await stage.endpoint()
        for namespace in ("blog", "hidden"):
            stage.put(
                service("cart", namespace=namespace),
                endpoints("cart", "cart", port=cart.port, namespace=namespace),
                ingress("web", rule(f"{namespace}.test", path("/", "cart")), namespace=namespace),
            )
        zonal = await stage.ready("--watch-namespace=shop", "--watch-namespace=blog")
        assert [await status_of(zonal, host) for host in (HOST, "blog.test", "hidden.test")] == [200, 200, 404]
        assert b"hidden.test" not in (await zonal.admin("/debug/model")).body

        def is_of_a_kind(call: Call) -> bool:
            return call.resource in ("ingresses", "services", "endpointslices")

        assert {call.namespace for call in stage.server.calls if is_of_a_kind(call)} == {"shop", "blog"}
        stage.put(ingress("late", rule("late.test", path("/", "cart")), namespace="blog"))
        await answers(zonal, 200, "late.test")
        assert await status_of(zonal, "hidden.test") == 404
