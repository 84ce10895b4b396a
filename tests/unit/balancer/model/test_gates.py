"""Rules of gates come in the order of their phases."""

from __future__ import annotations

from typing import get_args

from balancer.model.client_tls import ClientCertificates
from balancer.model.cors import CorsPolicyPreflight
from balancer.model.external_auth import BackendAuth, ExternalAuth
from balancer.model.gates import (
    PHASES,
    AnyOf,
    BasicAuth,
    BlockedClients,
    CorsPreflight,
    GateRule,
    PassedTls,
    SourceRanges,
    access_rules,
    any_of,
    in_phases,
    protecting,
    withheld_by,
)
from balancer.model.hooks import HookRule
from balancer.model.limits import FlightLimit, RateLimit
from balancer.model.redirects import (
    AppRoot,
    HttpsRedirect,
    NameRedirect,
    RewrittenRedirect,
    RouteRedirect,
    SlashRedirect,
    TargetRedirect,
)
from balancer.model.scripts import HostScript, Script
from balancer.model.tracing import Tracing


def test_every_kind_of_rule_has_a_phase() -> None:
    assert set(PHASES) == set(get_args(GateRule))
    assert len(PHASES) == len(set(PHASES))


def test_the_order_of_phases_is_that_of_ingress_nginx() -> None:
    first = (AppRoot, NameRedirect, SlashRedirect, TargetRedirect, CorsPreflight, CorsPolicyPreflight, Script)
    redirects = (*first, RouteRedirect, RewrittenRedirect, HttpsRedirect)
    checks = (ClientCertificates, FlightLimit, RateLimit, SourceRanges, AnyOf, BasicAuth, ExternalAuth)
    assert (Tracing, PassedTls, BlockedClients, HostScript, *redirects, *checks, BackendAuth, HookRule) == PHASES


def test_redirects_come_before_checks_and_rules_of_a_kind_keep_their_order() -> None:
    first, second = SourceRanges(("10.0.0.0/8",)), SourceRanges(denied=("10.0.0.1/32",))
    assert in_phases((second, first, HttpsRedirect())) == (HttpsRedirect(), second, first)


def test_every_gate_that_may_keep_a_client_out_protects() -> None:
    ranges, users = SourceRanges(("10.0.0.0/8",)), BasicAuth("shop/pw")
    assert protecting((HttpsRedirect(), ranges, users, SlashRedirect())) == (ranges, users)
    assert protecting((HttpsRedirect(),)) == ()


def test_one_of_several_rules_about_access_is_enough() -> None:
    ranges, users = SourceRanges(("10.0.0.0/8",)), BasicAuth("shop/pw")
    assert any_of((HttpsRedirect(), users, ranges)) == (HttpsRedirect(), AnyOf((ranges, users)))
    assert any_of((users, HttpsRedirect())) == (HttpsRedirect(), users), "a single one is needed as before"
    assert access_rules(any_of((HttpsRedirect(), users, ranges))) == (ranges, users)
    assert access_rules((HttpsRedirect(), users)) == (users,)


def test_a_list_of_denied_addresses_never_replaces_a_password() -> None:
    denied, users, others = SourceRanges(denied=("10.0.0.0/8",)), BasicAuth("shop/pw"), BasicAuth("shop/more")
    assert any_of((HttpsRedirect(), denied, users)) == (HttpsRedirect(), users)
    assert any_of((denied, users, others)) == (AnyOf((users, others)),)
    assert any_of((denied,)) == (denied,)
    both = SourceRanges(("192.0.2.0/24",), ("192.0.2.1/32",))
    assert any_of((both, users)) == (AnyOf((both, users)),)


def test_passwords_are_withheld_from_endpoints() -> None:
    assert withheld_by(BasicAuth("shop/pw")) == ("authorization",)
    assert withheld_by(SourceRanges()) == ()
