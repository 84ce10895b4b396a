"""Stand-ins in the model: which backends they lead to, and what is said about Services that do not exist."""

from __future__ import annotations

import pytest

from balancer.model.endpoints import BackendKey
from balancer.model.stand_ins import ErrorPages, StandIns
from ingress.findings import Severity
from ingress.settings.context import TranslationContext
from ingress.translation.assembly import Translation
from tests.unit.ingress.cluster import config_map, ingress, rule, service, translated

CONTEXT = TranslationContext(default_backend_service="zonal/fallback")
ERR, FALLBACK = BackendKey("shop/err:80"), BackendKey("zonal/fallback:80")


def translation(settings: dict[str, str] | None = None, /, **annotations: str) -> Translation:
    """An Ingress with annotations, in a cluster with a Service for errors and a default backend."""
    named = {f"nginx.ingress.kubernetes.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
    services = (service("cart"), service("err"), service("fallback", namespace="zonal"))
    return translated(
        *services, ingress("web", rule(), annotations=named), config_map(**settings or {}), context=CONTEXT
    )


def of(translation: Translation) -> StandIns | None:
    return translation.model.hosts[0].routes[0].stand_ins


def test_without_errors_nothing_stands_in() -> None:
    assert of(translation()) is None


def test_pages_of_an_own_list_come_from_the_default_backend_of_the_ingress() -> None:
    found = of(translation(custom_http_errors="404", default_backend="err"))
    assert found == StandIns(ErrorPages((404,), ERR), ERR, "80")


def test_pages_of_the_list_of_the_cluster_come_from_its_default_backend() -> None:
    found = of(translation({"custom_http_errors": "404,503"}, default_backend="err"))
    assert found == StandIns(ErrorPages((404, 503), FALLBACK), ERR, "80")


def test_a_service_that_does_not_exist_stands_in_for_nothing() -> None:
    made = translation(custom_http_errors="404", default_backend="nowhere")
    assert of(made) == StandIns(ErrorPages((404,), FALLBACK), None, "80")
    (finding,) = {finding for finding in made.findings if finding.reason == "ServiceMissing"}
    assert (finding.name, finding.severity) == ("web", Severity.DEGRADED)
    assert "nowhere" in finding.message


def test_the_endpoints_of_a_stand_in_are_in_the_model_and_followed() -> None:
    made = translation(default_backend="err")
    assert ERR in {backend.key for backend in made.model.backends}
    assert ("shop", "err") in made.services


@pytest.mark.parametrize("annotations", [{"custom_http_errors": "40x"}, {"default_backend": "a/b"}])
def test_an_invalid_list_or_name_closes_the_paths(annotations: dict[str, str]) -> None:
    made = translation(None, **annotations)
    assert made.model.hosts[0].routes[0].closed
    assert {finding.reason for finding in made.findings} == {"ClosedByAnnotation"}
    assert of(made) is None
