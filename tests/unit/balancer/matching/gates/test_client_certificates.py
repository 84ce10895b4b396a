"""Client certificates: who passes, what the endpoint hears, and that one host's handshake opens no other host."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind
from balancer.http.origin import Origin
from balancer.http.proofs import ClientProof
from balancer.matching.gates.client_certificates import ClientCertificateGate
from balancer.matching.gates.verdicts import Asked, Deny, Go, Reply
from balancer.model.client_tls import ClientCertificates, ClientDemand, ClientVerification
from balancer.model.entry_points import HTTP, HTTPS
from tests.questions import question_of

DEMAND = ClientDemand("shop.test", "shop/clients", "digest")
ALICE = ClientProof(DEMAND, b"shop.test", b"PEM +/=\n", subject="CN=alice,O=shop", issuer="CN=clients")
NOBODY = ClientProof(DEMAND, b"shop.test")
STRANGER = msgspec.structs.replace(ALICE, errors=(20, 21), reason="unable to verify the first certificate")
EXPIRED = msgspec.structs.replace(ALICE, errors=(10,), reason="certificate has expired")
REFUSED, MISDIRECTED = Deny(ErrorKind.CERTIFICATE_REFUSED), Deny(ErrorKind.MISDIRECTED)
DENIED = Deny(ErrorKind.CERTIFICATE_DENIED)
ON, OPTIONAL, NO_CA, ANY, OFF = ClientVerification


def judged(
    proof: ClientProof | None,
    verification: ClientVerification = ON,
    *,
    secure: bool = True,
    host: str = "shop.test",
    rule: ClientCertificates | None = None,
) -> Go | Deny | Reply:
    """The verdict on a request for `host`; what was shown is for what was asked, unless there is a `rule`."""
    demand = msgspec.structs.replace(DEMAND, verification=verification)
    if proof is not None and rule is None:
        proof = msgspec.structs.replace(proof, demand=demand)
    origin = Origin(peer="192.0.2.1", entry_point=HTTPS if secure else HTTP)
    origin.proof = proof
    request = question_of(f"https://{host}/").request
    gate = ClientCertificateGate(rule or ClientCertificates(demand))
    return gate.judge(Asked(request, origin, secure), lambda _: None)


def heard(verdict: Go | Deny | Reply) -> dict[bytes, bytes]:
    assert isinstance(verdict, Go)
    return dict(verdict.added)


@pytest.mark.parametrize(
    ("verification", "passing"),
    [
        (ON, {"alice"}),
        (OPTIONAL, {"alice", "nobody"}),
        (NO_CA, {"alice", "nobody", "stranger"}),
        (ANY, {"alice", "nobody", "stranger", "expired"}),
    ],
)
def test_who_passes(verification: ClientVerification, passing: set[str]) -> None:
    proofs = {"alice": ALICE, "nobody": NOBODY, "stranger": STRANGER, "expired": EXPIRED}
    verdicts = {name: judged(proof, verification) for name, proof in proofs.items()}
    assert {name for name, verdict in verdicts.items() if isinstance(verdict, Go)} == passing
    refused = {name: verdict for name, verdict in verdicts.items() if not isinstance(verdict, Go)}
    assert refused == dict.fromkeys(proofs.keys() - passing, REFUSED)


def test_the_endpoint_hears_who_it_is_and_never_what_the_client_says() -> None:
    verdict = judged(ALICE)
    assert heard(verdict) == {
        b"ssl-client-verify": b"SUCCESS",
        b"ssl-client-subject-dn": b"CN=alice,O=shop",
        b"ssl-client-issuer-dn": b"CN=clients",
    }
    assert isinstance(verdict, Go)
    for name in (b"ssl-client-verify", b"ssl-client-cert", b"ssl_client_subject_dn", b"ssl-client_issuer-dn"):
        assert name in verdict.removed
    assert heard(judged(NOBODY, OPTIONAL)) == {b"ssl-client-verify": b"NONE"}
    stranger = heard(judged(STRANGER, NO_CA))
    assert stranger[b"ssl-client-verify"] == b"FAILED:unable to verify the first certificate"


def test_the_certificate_is_passed_where_that_is_asked_for() -> None:
    told = heard(judged(ALICE, rule=ClientCertificates(DEMAND, passes_certificate=True)))
    assert told[b"ssl-client-cert"] == b"PEM%20%2B%2F%3D%0A"


def test_a_handshake_for_another_host_or_with_another_demand_opens_nothing() -> None:
    rule = ClientCertificates(DEMAND)
    for change in ({"host": "other.test"}, {"digest": "other"}, {"depth": 2}, {"verification": OPTIONAL}):
        other = msgspec.structs.replace(ALICE, demand=msgspec.structs.replace(DEMAND, **change))
        assert judged(other, rule=rule) == MISDIRECTED
    assert judged(None, rule=rule) == MISDIRECTED
    assert judged(None, OPTIONAL) == MISDIRECTED


def test_the_name_of_the_handshake_is_that_of_the_request() -> None:
    demand = msgspec.structs.replace(DEMAND, host="*.shop.test")
    proof = msgspec.structs.replace(ALICE, demand=demand, server_name=b"a.shop.test")
    rule = ClientCertificates(demand)
    assert isinstance(judged(proof, host="a.shop.test", rule=rule), Go)
    assert isinstance(judged(proof, host="A.shop.test.", rule=rule), Go)
    assert judged(proof, host="b.shop.test", rule=rule) == MISDIRECTED
    catch_all = msgspec.structs.replace(DEMAND, host="")
    proof = msgspec.structs.replace(ALICE, demand=catch_all, server_name=b"")
    assert isinstance(judged(proof, host="any.test", rule=ClientCertificates(catch_all)), Go)


def test_plain_http_shows_no_certificate() -> None:
    assert judged(None, secure=False) == REFUSED
    assert judged(ALICE, secure=False) == REFUSED, "what stands in the origin does not count there"
    assert heard(judged(None, OPTIONAL, secure=False)) == {b"ssl-client-verify": b"NONE"}
    served = ClientCertificates(DEMAND, serves_plain=True, subject_pattern="CN=alice")
    assert isinstance(judged(None, secure=False, rule=served), Go)
    assert judged(None, rule=served) == MISDIRECTED, "over TLS it is asked all the same"


def test_nobody_is_asked_where_it_is_off() -> None:
    for proof in (None, ALICE):
        assert heard(judged(proof, OFF)) == {b"ssl-client-verify": b"NONE"}


def test_the_error_page_takes_the_place_of_400() -> None:
    rule = ClientCertificates(DEMAND, error_page="https://help.test/certificates")
    expected = Reply(302, ((b"Location", b"https://help.test/certificates"),), kind=ErrorKind.CERTIFICATE_REFUSED)
    assert judged(NOBODY, rule=rule) == judged(EXPIRED, rule=rule) == expected
    assert isinstance(judged(ALICE, rule=rule), Go)


@pytest.mark.parametrize(
    ("pattern", "subject", "passes"),
    [
        ("CN=alice", "CN=alice,O=shop", True),
        ("CN=alice", "O=shop,CN=alice", True),
        ("CN=alice", "O=shop+CN=alice", True),
        ("CN=ali", "CN=alice", True),
        ("CN=alice$", "CN=alice,O=shop", False),
        ("CN=alice,O=shop", "CN=alice,O=shop", True),
        ("CN=(bob|alice)", "CN=alice", True),
        ("CN=alice", "CN=bob", False),
        ("CN=alice", "CN=mallory,OU=CN=alice", False),
        ("CN=alice", "CN=mallory\\,CN=alice", False),
        ("CN=alice", "CN=mallory\\+CN=alice,O=x", False),
        ("CN=alice", "", False),
        ("CN=.*", "", False),
    ],
)
def test_the_subject_must_match_from_the_beginning_of_an_attribute(pattern: str, subject: str, passes: bool) -> None:
    proof = msgspec.structs.replace(ALICE, subject=subject)
    verdict = judged(proof, rule=ClientCertificates(DEMAND, subject_pattern=pattern))
    assert isinstance(verdict, Go) if passes else verdict == DENIED


def test_a_subject_that_would_cost_much_to_search_does_not_match() -> None:
    """A client writes the subject where `optional_no_ca` holds, and each attribute begins another search."""
    rule = ClientCertificates(DEMAND, subject_pattern="CN=.*a.{20}z")
    shown = [msgspec.structs.replace(ALICE, subject="CN=a," * count + "CN=xa" + "y" * 20 + "z") for count in (5, 5000)]
    assert [judged(proof, rule=rule) == DENIED for proof in shown] == [False, True]


def test_without_a_certificate_no_subject_matches() -> None:
    demand = msgspec.structs.replace(DEMAND, verification=OPTIONAL)
    proof = msgspec.structs.replace(NOBODY, demand=demand)
    assert judged(proof, rule=ClientCertificates(demand, subject_pattern="CN=alice")) == DENIED


PROOFS = st.builds(
    ClientProof,
    st.sampled_from([DEMAND, msgspec.structs.replace(DEMAND, host="other.test")]),
    st.sampled_from([b"shop.test", b"other.test", b""]),
    st.sampled_from([b"", b"PEM"]),
    st.lists(st.sampled_from([10, 18, 20, 23])).map(tuple),
)


@given(st.none() | PROOFS, st.booleans())
def test_only_a_valid_certificate_for_this_host_ever_passes(proof: ClientProof | None, secure: bool) -> None:
    verdict = judged(proof, secure=secure, rule=ClientCertificates(DEMAND))
    is_right = proof is not None and (proof.demand, proof.server_name) == (DEMAND, b"shop.test")
    passes = is_right and secure and proof is not None and bool(proof.pem) and not proof.errors
    assert isinstance(verdict, Go) is passes
