"""Verdicts: the worst finding about an Ingress, what differs, and what the model closes without a finding."""

from __future__ import annotations

from pathlib import Path

from ingress.migration.texts import as_text
from ingress.migration.verdicts import IngressOutcome, NameStanding
from tests.integration.manifests import endpoint_slice, service
from tests.unit.ingress.migration.dumped import PlacedEndpoint, checked, nginx, of, settings


def test_an_ingress_without_findings_works(tmp_path: Path) -> None:
    found = checked(tmp_path, nginx("web", proxy_read_timeout="30"))
    (review,) = found.ingresses
    assert (review.full_name, review.verdict, review.hosts) == ("shop/web", IngressOutcome.WORKS, ("shop.test",))
    assert [(name.name, name.standing, name.value) for name in review.annotations] == [
        ("proxy-read-timeout", NameStanding.SAME, "30")
    ]
    assert review.remarks == ()


def test_an_ingress_with_a_name_that_differs_works_differently(tmp_path: Path) -> None:
    assert of(checked(tmp_path, nginx("web", affinity="cookie")), "web").verdict is IngressOutcome.DIFFERS


def test_the_worst_finding_decides(tmp_path: Path) -> None:
    review = of(checked(tmp_path, nginx("web", configuration_snippet="deny all;", affinity="cookie")), "web")
    assert review.verdict is IngressOutcome.CLOSED
    assert {name.name: name.standing for name in review.annotations} == {
        "affinity": NameStanding.DIFFERS,
        "configuration-snippet": NameStanding.REFUSED,
    }


def test_a_conflict_that_ingress_nginx_settles_alike_is_the_same(tmp_path: Path) -> None:
    found = checked(tmp_path, nginx("web"), nginx("late"))
    assert {each.name: each.verdict for each in found.ingresses} == {
        "web": IngressOutcome.WORKS,
        "late": IngressOutcome.WORKS,
    }
    assert [each.reason for each in of(found, "late").as_today] == ["Conflict"]


def test_a_service_without_an_endpoint_is_503_today_too(tmp_path: Path) -> None:
    slices = endpoint_slice(PlacedEndpoint("other"))
    found = checked(tmp_path, nginx("web"), service("cart"), service("other"), slices)
    assert of(found, "web").verdict is IngressOutcome.WORKS
    assert [each.kind for each in of(found, "web").as_today] == ["Service"]
    assert "same as today, because ingress-nginx answers 503" in as_text(found)
    assert found.summary == "1 of 1 Ingress works as they are, 0 differ, 0 need you."
    assert [finding for finding in found.others if finding.kind == "Service"] == []


def test_a_canary_and_its_main_ingress_work(tmp_path: Path) -> None:
    found = checked(tmp_path, nginx("web"), nginx("next", service="cart-next", canary="true", canary_weight="10"))
    assert {each.name: each.verdict for each in found.ingresses} == {
        "web": IngressOutcome.WORKS,
        "next": IngressOutcome.WORKS,
    }


def test_a_canary_is_closed_where_the_configmap_closes_everything(tmp_path: Path) -> None:
    canary = nginx("next", service="cart-next", canary="true", canary_weight="10")
    found = checked(tmp_path, nginx("web"), canary, settings(enable_modsecurity="true"))
    assert {each.verdict for each in found.ingresses} == {IngressOutcome.CLOSED}
    assert {remark.reason for each in found.ingresses for remark in each.remarks} == {"ClosedByOthers"}


def test_the_configmap_is_judged_key_by_key(tmp_path: Path) -> None:
    found = checked(tmp_path, nginx("web"), settings(keep_alive="60", worker_processes="4")).config_map
    assert (found.exists, found.verdict, found.file) == (True, IngressOutcome.WORKS, "all.yaml")
    assert [(key.name, key.standing) for key in found.keys] == [
        ("keep-alive", NameStanding.SAME),
        ("worker-processes", NameStanding.IGNORED),
    ]


def test_a_configmap_that_does_not_exist_is_said_and_harms_nobody(tmp_path: Path) -> None:
    found = checked(tmp_path, nginx("web"))
    assert (found.config_map.exists, found.worst) == (False, IngressOutcome.WORKS)


def test_an_object_that_cannot_be_read_is_among_the_others(tmp_path: Path) -> None:
    broken = nginx("broken")
    broken["spec"]["rules"] = "none"
    found = checked(tmp_path, nginx("web"), broken)
    assert [(finding.kind, finding.name, finding.reason) for finding in found.others] == [
        ("Ingress", "broken", "ObjectMalformed")
    ]
    assert found.worst is IngressOutcome.CLOSED
