"""Which redirect an Ingress gets from its annotations, and what is said about the others."""

from __future__ import annotations

import pytest

from balancer.model.redirects import TargetRedirect, UrlForm
from ingress.findings import Finding, Findings, Severity
from ingress.settings.configmap import CONFIG_MAP
from ingress.settings.table.redirects import RedirectTargets
from ingress.translation.ingress.redirections import checked_targets, target_redirect
from tests.unit.ingress.cluster import ingress, nginx, rule, translated

FORM = UrlForm(relative=True)


def redirect(targets: RedirectTargets) -> tuple[TargetRedirect | None, tuple[Finding, ...]]:
    findings = Findings()
    report = findings.about(CONFIG_MAP)
    return target_redirect(checked_targets(targets, report), FORM, report), findings.frozen()


def test_without_targets_there_is_no_redirect() -> None:
    assert redirect(RedirectTargets(permanent_status=1, temporal_status=1)) == (None, ())


def test_a_permanent_redirect_may_be_a_path() -> None:
    assert redirect(RedirectTargets("/new")) == (TargetRedirect("/new", 301, FORM), ())


def test_a_temporal_redirect_counts_before_a_permanent_one() -> None:
    both = RedirectTargets("https://a.test", 308, "HTTPS://b.test", 307)
    assert redirect(both) == (TargetRedirect("HTTPS://b.test", 307, FORM), ())


@pytest.mark.parametrize(
    ("targets", "status", "said"),
    [
        (RedirectTargets("https://a.test", 200), 301, "permanent-redirect-code is 200"),
        (RedirectTargets("https://a.test", 304), 301, "permanent-redirect-code is 304"),
        (RedirectTargets(temporal="https://a.test", temporal_status=308), 302, "temporal-redirect-code is 308"),
    ],
)
def test_a_status_that_redirects_nobody_is_the_default_and_a_finding(
    targets: RedirectTargets, status: int, said: str
) -> None:
    made, (finding,) = redirect(targets)
    assert made is not None
    assert made.status == status
    assert finding.severity is Severity.DEGRADED
    assert finding.message.startswith(said)


@pytest.mark.parametrize("temporal", ["ftp://a.test", "/new", "a.test"])
def test_a_temporal_redirect_that_is_no_url_drops_all_but_the_app_root(temporal: str) -> None:
    findings = Findings()
    targets = RedirectTargets("https://b.test", temporal=temporal, app_root="/app", www=True)
    checked = checked_targets(targets, findings.about(CONFIG_MAP))
    assert checked == RedirectTargets(app_root="/app")
    (finding,) = findings.frozen()
    assert (finding.severity, "temporal-redirect" in finding.message) == (Severity.MISROUTED, True)


def test_the_service_of_a_redirected_path_may_be_missing() -> None:
    made = translated(ingress("web", rule("shop.test"), annotations=nginx(permanent_redirect="https://a.test")))
    assert made.findings == ()
    (host,) = made.model.hosts
    assert host.routes[0].gates == (TargetRedirect("https://a.test"),)
    assert host.routes[0].main.backend is None
