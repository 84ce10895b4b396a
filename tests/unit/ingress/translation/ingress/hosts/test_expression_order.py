"""Which expression of a host is tried first, within a namespace and between namespaces."""

from __future__ import annotations

from balancer.model.routes import Owner, PathKind
from ingress.translation.ingress.hosts.expression_order import in_order
from ingress.translation.ingress.hosts.settled import PlaceClaim


def claim(namespace: str, path: str, kind: PathKind = PathKind.PREFIX) -> PlaceClaim:
    return PlaceClaim(Owner("Ingress", namespace, "web"), "a.test", path, kind, ())


def paths(*claims: PlaceClaim, authors: str = "old young third") -> list[str]:
    return [each.path for each in in_order(claims, authors.split())]


def test_within_a_namespace_the_longest_text_comes_first_then_the_last_in_the_order_of_bytes() -> None:
    assert paths(*(claim("old", each) for each in ("/a", "/b", "/[a-z]+", "/"))) == ["/[a-z]+", "/b", "/a", "/"]


def test_a_younger_expression_comes_after_what_an_older_one_has_unless_it_begins_with_more() -> None:
    old = [claim("old", each) for each in ("/", "/api/(.*)", "/public")]
    young = [claim("young", each) for each in ("/api/v2/(.*)", "/public/x", "/publi[a-z]+/.*")]
    assert paths(*old, *young) == ["/api/v2/(.*)", "/api/(.*)", "/public", "/publi[a-z]+/.*", "/public/x", "/"]


def test_an_expression_that_matches_everything_comes_last_and_what_its_namespace_tries_later_behind_it() -> None:
    young = [claim("young", each) for each in ("/[a-z/]*(long text that ranks high)?.*", "/b/(.*)")]
    assert paths(claim("old", "/"), *young) == ["/", "/[a-z/]*(long text that ranks high)?.*", "/b/(.*)"]


def test_what_begins_otherwise_does_not_hold_a_younger_expression_back() -> None:
    old = [claim("old", each) for each in ("/", "/.*[.]html", "/other/very/long")]
    assert paths(*old, claim("young", "/b/(.*)")) == ["/b/(.*)", "/other/very/long", "/.*[.]html", "/"]


def test_a_final_slash_begins_with_no_more() -> None:
    assert paths(claim("old", "/public"), claim("young", "/PUBLIC/(.*)")) == ["/public", "/PUBLIC/(.*)"]


def test_each_namespace_keeps_its_own_order_beside_several_older_ones() -> None:
    assert paths(
        claim("old", "/"),
        claim("old", "/.*long"),
        claim("young", "/y/(.*)"),
        claim("third", "/y/x"),
        claim("third", "/.*z"),
    ) == ["/y/x", "/y/(.*)", "/.*long", "/", "/.*z"]


def test_literal_paths_are_exact_first_and_then_the_longest() -> None:
    old = [claim("old", "/a/"), claim("old", "/a"), claim("old", "/a", PathKind.EXACT), claim("old", "/a/b")]
    assert [(each.path, each.kind) for each in in_order(old, ["young"])] == [
        ("/a/b", PathKind.PREFIX),
        ("/a", PathKind.EXACT),
        ("/a/", PathKind.PREFIX),
        ("/a", PathKind.PREFIX),
    ]
