"""What workers hold of clients' authorities is divided among namespaces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.model.client_tls import ClientCertificates, ClientDemand, ClientVerification
from balancer.model.routes import Owner
from ingress.findings import Findings, Severity
from ingress.translation.claims import Claims, ClientTlsClaim
from ingress.translation.secrets.authority_shares import share_authorities

MOST = 100


def claims(
    namespace: str, digest: str, size: int, *, verification: ClientVerification = ClientVerification.ON
) -> Claims:
    rule = ClientCertificates(ClientDemand("", f"{namespace}/{digest}", digest, verification=verification))
    return Claims(Owner("Ingress", namespace, digest), client_tls=ClientTlsClaim(rule, size))


def shared(*claimed: Claims) -> tuple[list[bool], Findings]:
    """Which claims keep their authority."""
    findings = Findings()
    made = share_authorities(claimed, findings, most_bytes=MOST)
    return [each.client_tls is None or each.client_tls.rule is not None for each in made], findings


def test_what_fits_is_not_changed() -> None:
    claimed = (claims("a", "1", 60), Claims(Owner("Ingress", "a", "plain")), claims("b", "2", 40))
    findings = Findings()
    assert share_authorities(claimed, findings, most_bytes=MOST) == claimed
    assert share_authorities((), findings) == ()
    assert findings.frozen() == ()


def test_the_greedy_namespace_is_closed_and_hears_it_and_the_modest_one_is_not() -> None:
    kept, findings = shared(*(claims("greedy", str(number), 30) for number in range(6)), claims("modest", "m", 50))
    assert kept == [True, False, False, False, False, False, True]
    assert {(each.namespace, each.reason, each.severity) for each in findings.frozen()} == {
        ("greedy", "AuthoritiesExceedShare", Severity.CLOSED)
    }
    assert "16 MiB" in findings.frozen()[0].message


def test_equal_content_counts_once_for_a_namespace() -> None:
    assert shared(*[claims("a", "same", 60)] * 5)[0] == [True] * 5


def test_clients_who_are_not_asked_hold_nothing() -> None:
    off = claims("a", "off", 90, verification=ClientVerification.OFF)
    assert shared(off, claims("a", "1", 90))[0] == [True, True]


def test_a_host_that_is_closed_already_stays_closed() -> None:
    closed = Claims(Owner("Ingress", "a", "web"), client_tls=ClientTlsClaim(None))
    assert shared(closed, claims("a", "1", 90))[0] == [False, True]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(1, 60)), max_size=20))
def test_the_bound_holds_and_an_equal_part_is_always_granted(asked: list[tuple[str, int, int]]) -> None:
    sizes = {(namespace, digest): size for namespace, digest, size in asked}
    kept, _ = shared(*(claims(namespace, str(digest), size) for (namespace, digest), size in sizes.items()))
    held = [key for key, is_kept in zip(sizes, kept, strict=True) if is_kept]
    assert sum(sizes[key] for key in held) <= MOST
    namespaces = {namespace for namespace, _ in sizes}
    for namespace in namespaces:
        own = [key for key in sizes if key[0] == namespace]
        if sum(sizes[key] for key in own) <= MOST // len(namespaces):
            assert set(own) <= set(held)
