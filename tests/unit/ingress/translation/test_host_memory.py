"""Of the hosts of the last translation it is known which are claimed otherwise, and what each has asked."""

from __future__ import annotations

import msgspec
import pytest

from balancer.model.endpoints import Backend, BackendKey
from balancer.model.routes import Host
from ingress.findings import Findings, Severity, Subject
from ingress.translation.claims import HostClaim
from ingress.translation.host_memory import HostMemory, MadeHost
from ingress.translation.services.backends import AskedBackend

A, B = HostClaim("a.test"), HostClaim("b.test")
NOTE = (Subject("Ingress", "shop", "web"), "Reason", "Message.", "Effect.", Severity.DEGRADED)


def made(claim: HostClaim, *asked: AskedBackend) -> MadeHost:
    return MadeHost(Host(claim.name, ()), (claim, None, ()), asked, (), (NOTE,) if claim is B else ())


def remembering(*claimed: HostClaim) -> HostMemory:
    """In its second translation, after one of these hosts."""
    memory = HostMemory()
    memory.begin()
    memory.one(("common",))
    for each in claimed:
        memory.keep(each.key, made(each))
    memory.remember(claimed, tuple(made(each).host for each in claimed))
    memory.begin()
    memory.one(("common",))
    return memory


def test_what_is_claimed_by_another_object_has_changed() -> None:
    assert remembering(A, B).changed((A, B)) == set()
    assert remembering(A, B).changed((A, msgspec.structs.replace(B, has_tls=True))) == {1}


@pytest.mark.parametrize("claimed", [(A,), (A, HostClaim("c.test")), (A, B, HostClaim("c.test"))])
def test_of_other_hosts_nothing_is_known(claimed: tuple[HostClaim, ...]) -> None:
    assert remembering(A, B).changed(claimed) is None


def test_if_what_all_have_in_common_has_changed_any_host_may_have() -> None:
    memory = remembering(A, B)
    memory.one(("other",))
    assert memory.changed((A, B)) is None


def test_a_translation_that_failed_has_left_nothing_to_go_on_from() -> None:
    memory = remembering(A, B)
    memory.begin()
    memory.one(("common",))
    assert memory.changed((A, B)) is None


def test_the_others_stay_with_their_findings() -> None:
    memory, findings = remembering(A, B), Findings()
    newer = msgspec.structs.replace(A, has_tls=True)
    memory.keep(A.key, MadeHost(Host("a.test", (), path_parameters="strip"), (newer, None, ()), (), (), ()))  # type: ignore[arg-type]
    memory.keep_others({0}, findings)
    hosts = memory.with_others((newer, B), {0})
    assert [each.path_parameters for each in hosts] == ["strip", Host("", ()).path_parameters]
    assert [each.reason for each in findings.frozen()] == ["Reason"]
    memory.begin()
    assert memory.last("b.test") == made(B)


def asked(name: str, *, leads: bool = True) -> AskedBackend:
    key = BackendKey(f"shop/{name}:80")
    return AskedBackend("shop", name, None, made=Backend(key, "shop", name, "80") if leads else None)


def test_a_host_may_ask_more_than_before_and_not_less() -> None:
    one, two = made(A, asked("x")), made(A, asked("x"), asked("y"))
    assert two.asks_all_of(one)
    assert not one.asks_all_of(two)
    assert not made(A, asked("x", leads=False)).asks_all_of(one)
