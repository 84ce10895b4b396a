"""A settled host becomes one value: its own paths in order, or those of the host whose alias it is."""

from __future__ import annotations

from balancer.model.client_tls import ClientCertificates, ClientDemand
from balancer.model.routes import PathKind
from ingress.translation.claims import CertificateClaim
from ingress.translation.ingress.hosts.settled import PlaceClaim, SettledHost
from tests import builders as build

RULE = ClientCertificates(ClientDemand("", "shop/clients", "digest"))


def place(path: str, kind: PathKind = PathKind.PREFIX, *, is_default: bool = False) -> PlaceClaim:
    return PlaceClaim(build.owner(), "a.test", path, kind, (), is_default=is_default)


def settled(*places: PlaceClaim) -> SettledHost:
    host = SettledHost(holder="shop", has_tls=False)
    for each in places:
        host.give(each)
    return host


def test_paths_are_sorted_by_path_and_kind() -> None:
    host = settled(place("/b"), place("/a"), place("/a", PathKind.EXACT), place("/", is_default=True))
    made = host.claim("a.test", host)
    assert [(each.path, each.kind) for each in made.claims] == [
        ("/a", PathKind.EXACT),
        ("/a", PathKind.PREFIX),
        ("/b", PathKind.PREFIX),
    ]
    assert made.default is not None


def test_expressions_keep_the_order_in_which_they_are_tried() -> None:
    host = settled(place("/a"), place("/b"))
    host.expressions = (place("/b"), place("/a"))
    assert [each.path for each in host.claim("a.test", host).claims] == ["/b", "/a"]


def test_a_place_has_one_winner() -> None:
    host = settled(place("/a"))
    assert host.winner(place("/a")) == place("/a")
    assert host.winner(place("/a", PathKind.EXACT)) is None
    assert host.winner(place("/", is_default=True)) is None


def test_an_alias_has_the_paths_and_the_protection_of_its_host_and_its_own_tls() -> None:
    host, alias = settled(place("/a")), SettledHost(holder="shop", has_tls=True, alias_of="a.test")
    host.client_certificates, host.ciphers = RULE, "X"
    alias.certificate = CertificateClaim(build.owner(), "alias.test", "tls")
    made = alias.claim("alias.test", host)
    assert (made.name, made.has_tls, made.certificate) == ("alias.test", True, alias.certificate)
    assert (made.client_certificates, made.ciphers, len(made.claims)) == (RULE, "X", 1)
