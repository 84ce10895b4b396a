"""Where the operator wants it, a path without its final slash is redirected to the one that has it."""

from __future__ import annotations

import pytest

from balancer.model.redirects import SlashRedirect
from balancer.model.routes import PathKind, Route
from ingress.objects.kinds import IngressPath
from tests.unit.ingress.cluster import config_map, ingress, nginx, path, rule, service, translated

WANTED = config_map(redirect_to_trailing_slash="true")


def routes(*paths: IngressPath, wanted: bool = True, **annotations: str) -> tuple[Route, ...]:
    web = ingress("web", rule("shop.test", *paths), annotations=nginx(**annotations))
    (host,) = translated(web, service(), *([WANTED] if wanted else [])).model.hosts
    return host.routes


@pytest.mark.parametrize("kind", ["Exact", "Prefix"])
def test_the_bare_path_is_redirected(kind: str) -> None:
    bare, slashed = routes(path("/a/", kind), path("/", "Prefix"))[1:]
    assert (bare.path, bare.kind, bare.gates) == ("/a", PathKind.EXACT, (SlashRedirect(),))
    assert (slashed.path, slashed.gates) == ("/a/", ())


def test_nothing_is_redirected_by_default() -> None:
    assert [route.path for route in routes(path("/a/"), wanted=False)] == ["/a/"]


@pytest.mark.parametrize("kind", ["Exact", "Prefix"])
def test_a_bare_path_that_is_claimed_is_served(kind: str) -> None:
    assert [route.gates for route in routes(path("/a/"), path("/a", kind))] == [(), ()]


def test_a_host_with_expressions_redirects_nothing() -> None:
    assert [route.path for route in routes(path("/a/"), use_regex="true")] == ["/a/"]
