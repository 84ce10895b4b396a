"""What becomes of the options of one source."""

from __future__ import annotations

import pytest

from ingress.settings.configmap import read_configmap
from ingress.settings.table.external_auth import ExternalAuthSettings, GlobalAuthSettings


def test_without_a_key_nothing_is_remembered() -> None:
    settings = ExternalAuthSettings(url="http://auth/")
    assert settings.rule().cache_seconds == ()
    keyed = ExternalAuthSettings(url="http://auth/", cache_key="k")
    assert keyed.rule().cache_seconds == keyed.cache_seconds


def test_the_keys_of_the_cluster() -> None:
    settings, findings = read_configmap(
        {
            "global-auth-url": "http://auth/",
            "global-auth-response-headers": "X-User",
            "global-auth-cache-duration": "nonsense",
            "auth-url-verify": "true",
            "no-auth-locations": "/a, /b",
        }
    )
    assert settings.external_auth == GlobalAuthSettings(url="http://auth/", response_fields=("X-User",), verify=True)
    assert settings.access.open_paths == ("/a", "/b")
    assert [finding.reason for finding in findings] == ["InvalidValue"]
    assert not settings.closed


@pytest.mark.parametrize(
    ("key", "value"),
    [("global-auth-url", "nonsense"), ("global-auth-method", "BREW"), ("global-auth-response-headers", "Host")],
)
def test_a_service_that_cannot_be_asked_closes_every_path(key: str, value: str) -> None:
    settings, (finding,) = read_configmap({key: value})
    assert settings.closed
    assert finding.reason == "ClosedBySetting"
