"""What claims say of themselves."""

from __future__ import annotations

import math

import pytest

from balancer.model.gates import GateRule, SourceRanges
from balancer.model.redirects import AppRoot, HttpsRedirect, NameRedirect, SlashRedirect, TargetRedirect
from balancer.model.routes import Branch, PathKind, ServiceName
from ingress.findings import Subject
from ingress.objects.kinds import Metadata, ServicePortReference
from ingress.translation.claims import BranchClaim, Claim, created_epoch_seconds, subject_of_owner
from tests import builders as build

CART = (
    BranchClaim(
        Branch(None, build.owner(), ServiceName("shop", "cart")),
        ServicePortReference(number=80),
    ),
)


@pytest.mark.parametrize(
    ("claim", "place"),
    [
        (Claim(build.owner(), "a.test", "/x", PathKind.EXACT, CART), 'Exact path "a.test/x"'),
        (Claim(build.owner(), "", "/", PathKind.PREFIX, CART), 'Prefix path "/"'),
        (Claim(build.owner(), "a.test", "/", PathKind.PREFIX, CART, is_default=True), 'default of host "a.test"'),
    ],
)
def test_a_claim_names_its_place(claim: Claim, place: str) -> None:
    assert claim.place == place


@pytest.mark.parametrize(
    ("gates", "is_redirected"),
    [
        ((), False),
        ((HttpsRedirect(), SourceRanges()), False),
        ((SourceRanges(), TargetRedirect("/new")), True),
        ((NameRedirect("a.test"),), True),
        ((AppRoot("/app"),), True),
        ((SlashRedirect(),), True),
    ],
)
def test_only_redirects_to_https_let_requests_come_to_the_service(
    gates: tuple[GateRule, ...], is_redirected: bool
) -> None:
    claim = Claim(build.owner(), "a.test", "/x", PathKind.EXACT, CART, gates=gates)
    assert claim.is_redirected is is_redirected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T01:01:00+01:00", 60.0),
        ("1970-01-01T00:01:00", 60.0),
        ("", math.inf),
        ("yesterday", math.inf),
    ],
)
def test_the_moment_of_creation_is_read_in_utc_and_infinite_where_it_cannot_be_read(text: str, seconds: float) -> None:
    assert created_epoch_seconds(Metadata(name="web", creation_timestamp=text)) == seconds


def test_an_owner_is_the_subject_of_findings() -> None:
    assert subject_of_owner(build.owner("web")) == Subject("Ingress", "shop", "web")
