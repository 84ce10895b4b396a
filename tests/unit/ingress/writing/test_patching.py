"""Patches are carried out in order, at a rate, while this replica leads, and no more than a server bears."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from ingress.sources.kubernetes.api import ApiServer as Client
from ingress.writing.calling import ApiAnswer
from ingress.writing.patching import FIELD_MANAGER, Patcher
from ingress.writing.statuses import PatchOutcome
from tests.fakes.apiserver import ApiServer, Fault
from tests.unit.ingress.writing.writers import client_of, ingress_document

pytestmark = pytest.mark.large


class LabelPatch(msgspec.Struct, frozen=True):
    """A patch of the labels of an Ingress. `namespace` is whose turn it is; all Ingresses are in one here."""

    name: str
    group: str = "shop"
    namespace: str = "shop"
    body: bytes = b'{"metadata":{"labels":{"a":"b"}}}'

    @property
    def path(self) -> str:
        return f"/apis/networking.k8s.io/v1/namespaces/shop/ingresses/{self.name}"

    @property
    def told(self) -> str:
        return self.name


class Scene:
    """A patcher and what came of its patches."""

    def __init__(self, client: Client, *, at_once: int = 1, burst: int = 2, per_second: float = 10_000.0) -> None:
        self.leads = True
        self.told: list[tuple[str, PatchOutcome]] = []
        self.patcher: Patcher[LabelPatch] = Patcher(
            client,
            leading=lambda: self.leads,
            at_once=at_once,
            burst=burst,
            per_second=per_second,
            tell=self._tell,
        )

    def _tell(self, patch: LabelPatch, outcome: PatchOutcome, answer: ApiAnswer) -> None:
        self.told.append((patch.name, outcome))
        assert answer.is_success is (outcome is PatchOutcome.WRITTEN)


def furnish(server: ApiServer, *names: str) -> None:
    for name in names:
        server.put(ingress_document(name))


async def test_they_go_in_order_under_our_name(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server, "c", "a", "b")
        scene = Scene(client)
        turn = await scene.patcher.carry_out([LabelPatch(each) for each in "cab"])
        assert [call.name for call in server.calls] == ["c", "a", "b"]
        assert {call.query["fieldManager"] for call in server.calls} == {FIELD_MANAGER}
        assert (scene.patcher.written, scene.patcher.failed, turn.is_unfinished) == (3, 0, False)


async def test_a_group_that_refuses_is_left_and_others_are_not(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server, "a", "b", "c", "d", "e")
        server.faults.add(Fault(verb="patch", matches=lambda call: call.name != "e", status=403))
        scene = Scene(client)
        turn = await scene.patcher.carry_out([*(LabelPatch(each) for each in "abcd"), LabelPatch("e", group="blog")])
        assert turn.refused == {"shop": [403, 403, 403]}
        assert scene.told[-1] == ("e", PatchOutcome.WRITTEN)


async def test_a_busy_server_ends_the_round_and_a_lost_lease_too(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server, "a", "b")
        server.faults.add(Fault(verb="patch", status=429, retry_after="7", times=1))
        scene = Scene(client)
        turn = await scene.patcher.carry_out([LabelPatch("a"), LabelPatch("b")])
        assert (turn.is_unfinished, turn.retry_after_seconds) == (True, 7.0)
        assert scene.told == [("a", PatchOutcome.BUSY)]
        scene.leads = False
        await scene.patcher.carry_out([LabelPatch("a")])
        assert len(scene.told) == 1


async def test_namespaces_take_turns(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server, *"abcdef")
        scene = Scene(client)
        patches = [*(LabelPatch(each, namespace="greedy") for each in "abcd"), LabelPatch("e"), LabelPatch("f")]
        await scene.patcher.carry_out(patches)
        assert [name for name, _ in scene.told] == list("aebfcd")


async def test_a_server_that_is_busy_for_one_namespace_is_asked_about_the_others(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server, *"abcd")
        server.faults.add(Fault(verb="patch", status=500, matches=lambda call: call.name in "ab"))
        scene = Scene(client)
        patches = [*(LabelPatch(each, namespace="greedy") for each in "ab"), LabelPatch("c"), LabelPatch("d")]
        turn = await scene.patcher.carry_out(patches)
        assert [name for name, outcome in scene.told if outcome is PatchOutcome.WRITTEN] == ["c", "d"]
        assert scene.told[0] == ("a", PatchOutcome.BUSY)
        assert (turn.is_unfinished, len(scene.told)) == (True, 3)


async def test_a_server_that_is_busy_for_two_namespaces_is_left_alone(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server, *"abc")
        server.faults.add(Fault(verb="patch", status=503))
        scene = Scene(client)
        await scene.patcher.carry_out([LabelPatch(each, namespace=each) for each in "abc"])
        assert scene.told == [("a", PatchOutcome.BUSY), ("b", PatchOutcome.BUSY)]


async def test_the_rate_holds(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server, "a")
        scene = Scene(client, at_once=2, per_second=50.0)
        begun = time.monotonic()
        await scene.patcher.carry_out([LabelPatch("a")] * 12)
        assert time.monotonic() - begun >= 0.19  # two at once, and ten at 50/s


async def test_what_was_not_written_in_a_pause_goes_at_once_afterwards(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server, "a")
        scene = Scene(client, burst=12, per_second=0.001)
        await scene.patcher.carry_out([LabelPatch("a")] * 12)
        assert scene.patcher.written == 12


async def test_a_server_that_is_gone_is_a_busy_one(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        await server.stop()
        scene = Scene(client)
        turn = await scene.patcher.carry_out([LabelPatch("a")])
        assert turn.is_unfinished
        assert scene.told == [("a", PatchOutcome.BUSY)]


async def test_a_round_that_is_outdated_is_cut_after_as_many_as_go_at_once(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server, "a", "b", "c", "d")
        scene = Scene(client, at_once=2)
        turn = await scene.patcher.carry_out([LabelPatch(each) for each in "abcd"], is_outdated=lambda: True)
        assert sorted(name for name, _ in scene.told) == ["a", "b"]
        assert (turn.is_cut, turn.is_stopped, turn.is_unfinished) == (True, False, False)
