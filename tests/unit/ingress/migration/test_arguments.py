"""What becomes of the arguments of ingress-nginx, and which of them zonal is asked with."""

from __future__ import annotations

import pytest

from ingress.migration.arguments import argument_reviews, with_arguments
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
        ("no_such_flag", "true", NameStanding.IGNORED),
        ("enable_ssl_passthrough", "false", NameStanding.SATISFIED),
    ],
)
def test_each_argument_has_a_standing(name: str, value: str, standing: NameStanding) -> None:
    (review,) = argument_reviews(controller(**{name: value}), None)
    assert (review.name, review.value, review.standing) == (f"--{name.replace('_', '-')}", value, standing)


def test_ports_of_tcp_are_named() -> None:
    (review,) = argument_reviews(controller(tcp_services_configmap="a/tcp"), {"5432": "db/postgres:5432"})
    assert review.standing is NameStanding.DIFFERS
    assert "5432 to db/postgres:5432" in review.how
    (udp,) = argument_reviews(controller(udp_services_configmap="a/udp"), None)
    assert udp.standing is NameStanding.REFUSED
    (review,) = argument_reviews(controller(tcp_services_configmap="a/tcp"), None)
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
    bound = with_arguments(TranslationContext(), said, {"5432": "db/postgres:5432", "x": "a/b:1"})
    assert bound.tcp_ports == ((5432, "5432"),)
