"""An explanation says what an expression captured, what the endpoint gets, and which expressions lose."""

from __future__ import annotations

import msgspec

from balancer.errors import ErrorKind
from balancer.explain.rewriting import rewritten_target
from balancer.matching.routing import compile_routes
from balancer.model.rewriting import Rewriting
from balancer.model.routes import PathKind, Route
from tests import builders as build
from tests.questions import question_of
from tests.unit.balancer.asked import explained, view_of


def regex(path: str, rewriting: Rewriting | None = None) -> Route:
    return msgspec.structs.replace(build.route(path), kind=PathKind.REGEX, expression="^" + path, rewriting=rewriting)


SHOP = regex("/something(/|$)(.*)", Rewriting("/$2", forwarded_prefix="/something"))


def target_of(url: str, route: Route) -> tuple[str | None, ErrorKind | None, list[str]]:
    match = compile_routes(build.model(hosts=[build.host("shop.test", route)])).match(
        b"shop.test", question_of(url).request.path
    )
    assert match is not None
    return tuple(rewritten_target(match, question_of(url)))  # type: ignore[return-value]


def test_captures_target_and_prefix_are_said() -> None:
    target, refused, steps = target_of("http://shop.test/something/new?a=b", SHOP)
    assert (target, refused) == ("/new?a=b", None)
    assert steps == [
        'The path is rewritten to /$2 ($1 is "/", $2 is "new"): the endpoint gets the target /new?a=b.',
        "The endpoint gets X-Forwarded-Prefix: /something.",
    ]


def test_a_route_that_rewrites_nothing_says_nothing() -> None:
    assert target_of("http://shop.test/a", regex("/a")) == (None, None, [])
    twin = regex("/foo", Rewriting("/foo", expression="^/foo/"))
    assert target_of("http://shop.test/foo", twin) == (None, None, ["The path is not rewritten to /foo here."])


def test_a_target_with_dot_segments_is_refused() -> None:
    target, refused, (step,) = target_of("http://shop.test/api../x", regex("/api(.*)", Rewriting("/v1/$1")))
    assert (target, refused) == (None, ErrorKind.BAD_REQUEST)
    assert step.endswith("because that is dot segments in a rewritten path: 400.")


def test_the_whole_explanation_has_target_and_losing_expressions() -> None:
    loser, other = regex("/some.*"), regex("/else")
    model = build.model(hosts=[build.host("shop.test", SHOP, loser, other)])
    told = explained(view_of(model), url="http://shop.test/Something/x")
    assert told.target == "/x"
    assert "Path /Something/x is matched by Regex /something(/|$)(.*) of Ingress shop/web." in told.steps
    assert "Regex /some.* matches as well and loses: the longer expression comes first." in told.steps
    assert "Regex /else does not match." in told.steps
