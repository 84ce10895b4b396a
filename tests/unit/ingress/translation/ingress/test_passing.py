"""TLS passes where the operator lets it and nothing else of the Ingress protects."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ingress.findings import Findings, Severity, Subject
from ingress.settings.table.cluster import ClusterSettings
from ingress.translation.ingress.passing import TlsPassing, read_passing
from tests.unit.ingress.cluster import nginx

PASSED = nginx(ssl_passthrough="true")


def read(
    annotations: Mapping[str, str], *, passes: bool = True, ignored: str = ""
) -> tuple[TlsPassing, list[tuple[str, Severity]]]:
    findings = Findings()
    settings = ClusterSettings(passes_tls=passes, ignored_annotations=frozenset(filter(None, (ignored,))))
    passing = read_passing(annotations, settings, findings.about(Subject("Ingress", "shop", "web")))
    return passing, [(each.reason, each.severity) for each in findings.frozen()]


def test_without_the_option_the_paths_are_closed_and_the_finding_names_it() -> None:
    assert read(PASSED, passes=False) == (TlsPassing(is_refused=True), [("ClosedByAnnotation", Severity.CLOSED)])


def test_the_operator_may_have_tls_end_here_instead() -> None:
    passing, found = read(PASSED, passes=False, ignored="ssl-passthrough")
    assert (passing, found) == (TlsPassing(), [("IgnoredByOperator", Severity.UNPROTECTED)])


def test_other_annotations_are_void_and_do_no_harm() -> None:
    harmless = nginx(backend_protocol="HTTPS", ssl_redirect="false", rewrite_target="/", limit_rate="5", auth_url=" ")
    assert read({**PASSED, **harmless}) == (TlsPassing(passes=True), [])


@pytest.mark.parametrize(
    "protecting",
    [
        nginx(allowlist_source_range="10.0.0.0/8"),
        nginx(whitelist_source_range="10.0.0.0/8"),
        nginx(denylist_source_range="10.0.0.0/8"),
        nginx(limit_rps="5"),
        nginx(auth_type="basic"),
        nginx(auth_url="http://auth.test/"),
        nginx(auth_tls_secret="shop/ca"),
        {"zonal-ingress.io/hooks": "check"},
    ],
    ids=lambda each: next(iter(each)),
)
def test_what_protects_requests_keeps_unread_connections_out(protecting: dict[str, str]) -> None:
    (name,) = protecting
    passing, found = read({**PASSED, **protecting})
    assert passing == TlsPassing(passes=True, is_closed=True)
    assert found == [("ClosedByAnnotation", Severity.CLOSED)]
    assert read({**PASSED, **protecting}, ignored=name.split("/")[1])[0] == TlsPassing(passes=True)
