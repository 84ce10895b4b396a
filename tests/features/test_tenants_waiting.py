"""What waits for others is divided: isolated hooks that sleep or hang, and spans that a silent collector leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes.collectors import attributes, collecting
from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.tenants.crowding import crowding
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, neighbours
from tests.integration.manifests import Document, ingress, path, rule
from tests.integration.running import Zonal, until

pytestmark = pytest.mark.faults

_CALLS = 512  # of isolated hooks, for one namespace
_BEYOND = 40
_WAVES, _WAVE = 4, 4
_QUEUE = 64
_RATE, _SECONDS = 50, 0.5
_HOOK = """
import asyncio
from zonal_hooks import Request, hook


@hook(isolated=True, timeout="10s", on_error="deny")
async def request(request: Request):
    await asyncio.sleep({seconds})
"""
_HANGING = """
from zonal_hooks import Request, hook


@hook(isolated=True, timeout="100ms", on_error="deny")
def request(request: Request):
    while request.headers.get("x-hang"):
        pass
"""
_ASKS = f"GET /asks/0/x HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()


def _hook(file: Path, text: str) -> str:
    """The option for a hook, which is written to `file`."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return f"--hooks={file}"


def _asking(namespace: str, hook: str, at: str) -> Document:
    """An Ingress of the tenant whose path asks an isolated hook."""
    return ingress(
        "asking", rule(HOST, path(at, "app")), namespace=namespace, annotations={"zonal-ingress.io/hooks": hook}
    )


@in_one_of_three
async def test_calls_of_isolated_hooks_that_sleep_take_no_room_of_another_tenant(
    tmp_path: Path, judge_times: bool
) -> None:
    sleepy, prompt = (_HOOK.format(seconds=seconds) for seconds in (9, 0))
    hooks = [_hook(tmp_path / "sleepy.py", sleepy), _hook(tmp_path / "prompt.py", prompt)]
    ledger = Ledger()
    async with ScriptedEndpoint(honest(ledger)) as endpoint:
        greedy = Tenant("greedy", [endpoint], objects=[_asking("greedy", "sleepy", "/asks")])
        modest = Tenant("modest", [endpoint], objects=[_asking("modest", "prompt", "/modest/asks")])
        async with neighbours(tmp_path, greedy, modest, options=hooks) as zonal:
            alone, beside = (Load(zonal.http_port, prefix="/modest/asks") for _ in range(2))
            await alone.steady(rate=_RATE, seconds=_SECONDS)
            async with crowding(zonal.http_port, _CALLS + _BEYOND, says=_ASKS) as crowd:
                await until(lambda: crowd.lost > _BEYOND, seconds=30.0)
                await beside.steady(rate=_RATE, seconds=_SECONDS)
    assert_unharmed(beside, alone, judge_times)
    assert ledger.doubled_posts == ledger.wrong_bodies == []


@in_one_of_three
async def test_calls_that_end_their_process_again_and_again_neither_fail_nor_delay_those_of_another_tenant(
    tmp_path: Path, judge_times: bool
) -> None:
    hooks = [_hook(tmp_path / "hanging.py", _HANGING)]
    ledger = Ledger()
    async with ScriptedEndpoint(honest(ledger)) as endpoint:
        greedy = Tenant("greedy", [endpoint], objects=[_asking("greedy", "hanging", "/greedy/asks")])
        modest = Tenant("modest", [endpoint], objects=[_asking("modest", "hanging", "/modest/asks")])
        async with neighbours(tmp_path, greedy, modest, options=hooks) as zonal:
            first, alone, beside = (Load(zonal.http_port, prefix="/modest/asks") for _ in range(3))
            hanging = Load(zonal.http_port, prefix="/greedy/asks", fields="X-Hang: 1\r\n")
            await first.wave(1, posts=False)  # its process has started
            first.close()
            await alone.steady(rate=_RATE, seconds=2 * _SECONDS)
            await asyncio.gather(beside.steady(rate=_RATE, seconds=4.0), _in_waves(hanging))
    assert len(hanging.failures) == _WAVES * _WAVE
    assert first.failures == []
    assert_unharmed(beside, alone, judge_times)
    assert ledger.doubled_posts == ledger.wrong_bodies == []


async def _in_waves(load: Load) -> None:
    """Each wave ends a process: the next one waits for the process that follows."""
    for _ in range(_WAVES):
        await load.wave(_WAVE, posts=False)
    load.close()


@in_one_of_three
async def test_spans_of_a_busy_tenant_take_no_room_of_another(tmp_path: Path, judge_times: bool) -> None:
    async with ScriptedEndpoint(honest(Ledger())) as endpoint, collecting() as collector:
        settings = {
            "enable_opentelemetry": "true",
            "otlp_collector_host": "127.0.0.1",
            "otlp_collector_port": str(collector.port),
            "otlp_collector_protocol": "http/protobuf",
            "otel_max_queuesize": str(_QUEUE),
            "otel_schedule_delay_millis": "10",
        }
        greedy, modest = Tenant("greedy", [endpoint]), Tenant("modest", [endpoint])
        async with neighbours(tmp_path, greedy, modest, **settings) as zonal:
            alone, beside = Load(zonal.http_port, prefix="/modest"), Load(zonal.http_port, prefix="/modest")
            await alone.steady(rate=_RATE, seconds=_SECONDS)
            collector.open.clear()
            crowd = Load(zonal.http_port, prefix="/greedy")
            await crowd.wave(4 * _QUEUE, posts=False)
            assert await _dropped(zonal) >= _QUEUE
            await asyncio.gather(beside.steady(rate=_RATE, seconds=_SECONDS), crowd.steady(rate=200, seconds=_SECONDS))
            collector.open.set()
            asked = len(alone.answers) + len(beside.answers)
            await until(
                lambda: sum("/modest/" in str(attributes(span)["url.path"]) for span in collector.spans) == asked,
                seconds=30.0,
            )
    assert_unharmed(beside, alone, judge_times)
    assert crowd.failures == []


async def _dropped(zonal: Zonal) -> float:
    """The spans for which there was no room."""
    family = (await zonal.metrics())["zonal_spans_dropped"]
    return sum(sample.value for sample in family.samples if sample.labels.get("reason") == "queue_full")
