"""What becomes of the arguments of ingress-nginx, and which of them zonal is asked with."""

from __future__ import annotations

import pytest

from ingress.findings import Severity
from ingress.migration.arguments import PortLines, argument_findings, argument_reviews, with_arguments
from ingress.migration.controllers import OtherController
from ingress.migration.verdicts import NameStanding
from ingress.settings.context import TranslationContext


def controller(**arguments: str) -> OtherController:
    named = {name.replace("_", "-"): value for name, value in arguments.items()}
    return OtherController("Deployment", "ingress-nginx", "controller", "a.yaml", named)


@pytest.mark.parametrize(
    ("name", "value", "standing"),
    [
        ("default_ssl_certificate", "a/b", NameStanding.SAME),
        ("healthz_port", "10254", NameStanding.SATISFIED),
        ("watch_namespace_selector", "a=b", NameStanding.DIFFERS),
        ("annotations_prefix", "nginx.ingress.kubernetes.io", NameStanding.SAME),
        ("annotations_prefix", "other.example", NameStanding.DIFFERS),
        ("disable_catch_all", "false", NameStanding.SAME),
        ("disable_catch_all", "true", NameStanding.DIFFERS),
        ("no_such_flag", "true", NameStanding.IGNORED),
        ("enable_ssl_passthrough", "false", NameStanding.SATISFIED),
    ],
)
def test_each_argument_has_a_standing(name: str, value: str, standing: NameStanding) -> None:
    (review,) = argument_reviews(controller(**{name: value}), PortLines())
    assert (review.name, review.value, review.standing) == (f"--{name.replace('_', '-')}", value, standing)


def test_ports_of_tcp_are_named() -> None:
    (review,) = argument_reviews(controller(tcp_services_configmap="a/tcp"), PortLines({"5432": "db/postgres:5432"}))
    assert review.standing is NameStanding.DIFFERS
    assert "5432 to db/postgres:5432" in review.how
    (udp,) = argument_reviews(controller(udp_services_configmap="a/udp"), PortLines())
    assert udp.standing is NameStanding.REFUSED
    (review,) = argument_reviews(controller(tcp_services_configmap="a/tcp"), PortLines())
    assert "lacks the ConfigMap" in review.how


def test_zonal_is_asked_with_what_the_controller_runs_with() -> None:
    said = controller(
        ingress_class="inner",
        configmap="$(POD_NAMESPACE)/settings",
        watch_namespace="shop",
        default_ssl_certificate="a/b",
    )
    found = with_arguments(TranslationContext(ingress_class="nginx"), said)
    assert (found.ingress_class, found.configmap) == ("inner", "ingress-nginx/settings")
    assert (found.watch_namespaces, found.default_ssl_certificate) == (("shop",), "a/b")
    assert with_arguments(TranslationContext(), controller()) == TranslationContext()
    kept = with_arguments(TranslationContext(configmap="a/b"), said, given=["configmap"])
    assert (kept.configmap, kept.ingress_class) == ("a/b", "inner")
    bound = with_arguments(TranslationContext(), said, PortLines({"5432": "db/postgres:5432", "x": "a/b:1"}))
    assert bound.tcp_ports == ((5432, "5432"),)


def test_ports_of_udp_close_unless_there_are_none() -> None:
    said = controller(udp_services_configmap="a/udp")
    (review,) = argument_reviews(said, PortLines(udp={}))
    assert review.standing is NameStanding.SATISFIED
    assert with_arguments(TranslationContext(), said, PortLines(udp={})).udp_services_configmap is None
    for ports in (PortLines(), PortLines(udp={"53": "dns/dns:53"})):
        assert with_arguments(TranslationContext(), said, ports).udp_services_configmap == "a/udp"


def test_another_prefix_of_annotations_loses_what_they_protect() -> None:
    (finding,) = argument_findings(controller(annotations_prefix="other.example"))
    assert (finding.kind, finding.severity) == ("Deployment", Severity.UNPROTECTED)
    assert "rename annotations" in finding.message
    for same in ({}, {"annotations_prefix": "nginx.ingress.kubernetes.io"}):
        assert [*argument_findings(controller(**same))] == []
