"""What claims need: every Secret and ConfigMap that is named, and the users of each Secret once."""

from __future__ import annotations

from balancer.model.logins import Logins
from balancer.model.routes import Owner
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.translation.claims import CertificateClaim, Claims
from ingress.translation.conflicts import SettledHost
from ingress.translation.needs import named_logins, needed_config_maps, needed_secrets

OWNER = Owner("Ingress", "shop", "web")
USERS = Logins("shop/pw:auth-file", (("alice", "x"),))


def test_secrets_are_needed_for_routes_hosts_and_by_default() -> None:
    claims = Claims(OWNER, secrets=(("shop", "pw"), ("other", "ca")))
    host = SettledHost(has_tls=True)
    host.certificate = CertificateClaim(OWNER, "shop.test", "tls")
    context = TranslationContext(default_ssl_certificate="zonal/default")
    expected = {("shop", "pw"), ("other", "ca"), ("shop", "tls"), ("zonal", "default")}
    assert needed_secrets([claims], [host, SettledHost(has_tls=False)], context) == expected


def test_so_many_config_maps_of_tenants_are_followed() -> None:
    claims = Claims(OWNER, config_maps=tuple(("shop", f"fields{number:03}") for number in range(150)))
    assert len(needed_config_maps([claims], ClusterSettings())) == 100


def test_the_users_of_a_secret_are_there_once() -> None:
    other = Logins("other/pw:auth-map", ())
    assert named_logins([Claims(OWNER, logins=(USERS,)), Claims(OWNER, logins=(other, USERS))]) == (other, USERS)
