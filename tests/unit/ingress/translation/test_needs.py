"""What claims need: every Secret, the ConfigMaps that namespaces have a share for, the users of each Secret once."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from balancer.model.logins import Logins
from balancer.model.routes import Owner
from ingress.findings import Finding, Findings
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.fields import FieldSettings
from ingress.translation.claims import CertificateClaim, Claims, HostClaim
from ingress.translation.needs import named_logins, needed_config_maps, needed_secrets

OWNER = Owner("Ingress", "shop", "web")
USERS = Logins("shop/pw:auth-file", (("alice", "x"),))


def test_secrets_are_needed_for_routes_hosts_and_by_default() -> None:
    claims = Claims(OWNER, secrets=(("shop", "pw"), ("other", "ca")))
    host = HostClaim("shop.test", certificate=CertificateClaim(OWNER, "shop.test", "tls"))
    context = TranslationContext(default_ssl_certificate="zonal/default")
    expected = {("shop", "pw"), ("other", "ca"), ("shop", "tls"), ("zonal", "default")}
    findings = Findings()
    hosts = [host, HostClaim("plain.test")]
    assert needed_secrets([claims], hosts, context, before=(), findings=findings) == expected
    by_name = msgspec.structs.replace(context, names_secrets=True)
    assert needed_secrets([claims], hosts, by_name, before=(), findings=findings) == expected
    assert findings.frozen() == ()


def test_secrets_by_name_are_divided_and_a_greedy_namespace_closes_nothing_of_another() -> None:
    greedy = Claims(Owner("Ingress", "aaa", "web"), secrets=tuple(("aaa", f"s{number:04}") for number in range(5000)))
    host = HostClaim("shop.test", certificate=CertificateClaim(OWNER, "shop.test", "tls"))
    findings = Findings()
    context = TranslationContext(names_secrets=True, default_ssl_certificate="zonal/default")
    found = needed_secrets([greedy], [host], context, before=(), findings=findings)
    assert len(found) == 1001
    assert found >= {("shop", "tls"), ("zonal", "default")}
    again = needed_secrets([greedy], [host], context, before=found, findings=Findings())
    assert again == found
    assert {(each.namespace, each.reason) for each in findings.frozen()} == {("aaa", "SecretNotFollowed")}
    whole = needed_secrets([greedy], [host], TranslationContext(), before=(), findings=Findings())
    assert len(whole) == 5001


def needed(
    *claims: Claims, before: Collection[tuple[str, str]] = (), settings: ClusterSettings | None = None
) -> tuple[frozenset[tuple[str, str]], tuple[Finding, ...]]:
    findings = Findings()
    found = needed_config_maps(
        claims, settings or ClusterSettings(), TranslationContext(), before=before, findings=findings
    )
    return found, findings.frozen()


def naming(namespace: str, count: int) -> Claims:
    """An Ingress of a namespace that names so many ConfigMaps."""
    names = tuple((namespace, f"fields{number:03}") for number in range(count))
    return Claims(Owner("Ingress", namespace, "web"), config_maps=names)


def test_so_many_config_maps_of_tenants_are_followed() -> None:
    found, findings = needed(naming("shop", 150))
    assert found == {("shop", f"fields{number:03}") for number in range(100)}
    assert {(each.namespace, each.name, each.reason) for each in findings} == {("shop", "web", "ConfigMapNotFollowed")}
    assert any("shop/fields1" in each.message for each in findings)


def test_a_namespace_that_names_many_closes_nothing_of_another_whatever_its_name_and_age() -> None:
    for order in ((naming("aaa", 1000), naming("shop", 3)), (naming("shop", 3), naming("aaa", 1000))):
        found, findings = needed(*order)
        assert found >= set(naming("shop", 3).config_maps)
        assert len(found) == 100
        assert {finding.namespace for finding in findings} == {"aaa"}


def test_what_is_followed_stays_followed_and_others_get_their_share_beside_it() -> None:
    before, _ = needed(naming("aaa", 100))
    found, findings = needed(naming("shop", 60), naming("aaa", 100), before=before)
    assert found == before | set(naming("shop", 50).config_maps)
    assert {finding.namespace for finding in findings} == {"shop"}


def test_config_maps_of_the_settings_are_of_no_share() -> None:
    settings = ClusterSettings(fields=FieldSettings(request_fields_from=("zonal", "set")))
    found, findings = needed(naming("aaa", 100), settings=settings)
    assert found == {("zonal", "set"), *naming("aaa", 100).config_maps}
    assert findings == ()


def test_the_users_of_a_secret_are_there_once() -> None:
    other = Logins("other/pw:auth-map", ())
    assert named_logins([Claims(OWNER, logins=(USERS,)), Claims(OWNER, logins=(other, USERS))]) == (other, USERS)
