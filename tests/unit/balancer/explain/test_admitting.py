"""What explanations say of gates: the lists, and the answer to an address."""

from __future__ import annotations

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.explain.admitting import Admission, gate_steps
from balancer.matching.forwarded import ForwardedReader
from balancer.matching.gates.making import make_gate
from balancer.matching.gates.verdicts import Deny, Reply
from balancer.matching.served import Served
from balancer.model.client_tls import ClientCertificates, ClientDemand
from balancer.model.external_auth import ExternalAuth
from balancer.model.gates import AnyOf, BasicAuth, BlockedClients, GateRule, SourceRanges
from balancer.model.limits import FlightLimit, Rate, RateLimit
from balancer.model.redirects import AppRoot, HttpsRedirect, NameRedirect, TargetRedirect
from balancer.model.settings import TrustedProxies
from tests import builders as build
from tests.questions import question_of
from tests.unit.balancer.asked import explained, shop

RANGES = SourceRanges(allowed=("10.0.0.0/8", "2001:db8::/32"), denied=("10.0.0.9/32",))


def asked(client: str, *gates: GateRule) -> Admission:
    route = msgspec.structs.replace(build.route(), gates=gates)
    return gate_steps(Served(route, make_gate), question_of("http://shop.test/", client=client))


def test_a_route_without_gates_says_nothing() -> None:
    assert asked("10.0.0.1")[:3] == (None, None, [])


def test_the_lists_are_named_and_the_address_is_judged() -> None:
    lists = [
        "Source ranges: these are refused: 10.0.0.9/32.",
        "Source ranges: only these may pass: 10.0.0.0/8, 2001:db8::/32.",
    ]
    assert asked("10.0.0.1", RANGES)[:3] == (None, None, [*lists, "The address 10.0.0.1 may pass."])
    denied = [*lists, "The address 10.0.0.9 is refused, so the answer is 403."]
    assert asked("10.0.0.9", RANGES)[:3] == (Deny(ErrorKind.SOURCE_DENIED), None, denied)


def test_without_an_address_the_request_is_taken_to_go_on() -> None:
    admission = asked("", RANGES)
    assert admission.answer is None
    assert admission.steps[-1] == "Whether the client may pass depends on its address, which was not given."


def test_after_a_redirect_the_request_to_its_url_is_judged() -> None:
    admission = asked("10.0.0.9", HttpsRedirect(), RANGES)
    assert admission.redirect == Reply(308, ((b"Location", b"https://shop.test"),))
    assert admission.answer == Deny(ErrorKind.SOURCE_DENIED)


def test_an_auth_service_is_named_and_not_asked() -> None:
    admission = asked("10.0.0.1", ExternalAuth("http://auth.test/check"))
    assert admission.answer is None
    assert admission.steps[0].startswith("External auth: http://auth.test/check is asked.")


def test_what_is_asked_of_clients_is_told_and_nobody_is_asked() -> None:
    users = BasicAuth("shop/pw:auth-file", "The shop")
    steps = ["Clients sign in with a user of Secret shop/pw; others get 401."]
    assert asked("10.0.0.1", users)[:3] == (None, None, steps)
    either = asked("10.0.0.1", AnyOf((SourceRanges(("10.0.0.0/8",)), users)))
    assert either.answer is None
    assert either.steps[1:] == [*steps, "One of these is enough (satisfy: any)."]
    demand = ClientDemand("shop.test", "shop/clients", "digest")
    assert asked("10.0.0.1", ClientCertificates(demand)).steps == [
        "Client certificates: on, by the authority in Secret shop/clients."
    ]


def test_a_blocked_client_is_told_so() -> None:
    admission = asked("10.0.0.1", BlockedClients(agents=("~^$",)))
    assert admission.answer == Deny(ErrorKind.CLIENT_BLOCKED)
    assert admission.steps == ["The ConfigMap blocks this User-Agent or Referer, so the answer is 403."]


def test_limits_are_named_and_nothing_is_counted() -> None:
    rates = RateLimit("shop/web", (Rate(1, 60, 5), Rate(10, 1, 50)))
    admission = asked("10.0.0.1", FlightLimit("shop/web", 8), rates)
    assert admission[:3] == (
        None,
        None,
        [
            "Limit: a client may have 8 requests in flight. Here the request is taken to pass.",
            "Limit: a client may send 1 in 60 s with a burst of 5 and 10 in 1 s with a burst of 50. Here the request is"
            " taken to pass.",
        ],
    )


def test_a_trusted_proxy_says_who_the_client_is() -> None:
    view = shop(msgspec.structs.replace(build.route(), gates=(RANGES,)))
    view.forwarded = ForwardedReader(TrustedProxies(("192.0.2.0/24",)))
    told = explained(view, "X-Forwarded-For: 10.0.0.9")
    assert (told.status, told.error) == (403, "source_denied")
    assert "192.0.2.7 is a trusted proxy. It says that the client is 10.0.0.9." in told.steps


def test_a_long_list_is_cut() -> None:
    many = SourceRanges(tuple(f"10.0.{number}.0/25" for number in range(30)))
    assert asked("", many).steps[0].endswith("10.0.19.0/25 and 10 more.")


def test_the_explanation_is_that_of_the_answer() -> None:
    view = shop(msgspec.structs.replace(build.route(), gates=(SourceRanges(("203.0.113.0/24",)),)))
    told = explained(view)
    assert (told.status, told.error) == (403, "source_denied")
    assert "Source ranges: only these may pass: 203.0.113.0/24." in told.steps
    assert told.endpoint is None


@pytest.mark.parametrize(
    ("rule", "status", "location"),
    [
        (AppRoot("/app"), 302, "http://shop.test/app"),
        (NameRedirect("www.shop.test"), 308, "http://www.shop.test"),
        (TargetRedirect("https://new.test/", 303), 303, "https://new.test/"),
    ],
)
def test_a_redirect_is_the_answer_and_ends_the_explanation(rule: GateRule, status: int, location: str) -> None:
    view = shop(msgspec.structs.replace(build.route(), gates=(rule, HttpsRedirect(), RANGES)))
    told = explained(view)
    assert (told.status, told.location, told.error, told.service) == (status, location, None, None)
    assert f"The answer is {status} to {location}." in told.steps
    assert not any("Source ranges" in step for step in told.steps)
