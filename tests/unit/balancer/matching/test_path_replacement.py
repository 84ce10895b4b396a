"""Literal paths in place of those of requests: the tables of Gateway API, and that nobody leaves the new prefix."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import Refusal
from balancer.http.origin import Origin
from balancer.http.streams import Outgoing
from balancer.http.target import matchable_path
from balancer.matching.path_replacement import PathReplacer
from balancer.model.entry_points import HTTP
from balancer.model.rewriting import PathReplacement
from tests.questions import question_of


def replaced(target: str, path: str, prefix: str | None) -> str:
    request = question_of(f"http://a.test{target}").request
    return PathReplacer(PathReplacement(path, prefix)).replaced(request).decode()


@pytest.mark.parametrize(
    ("target", "prefix", "path", "result"),
    [
        ("/foo/bar", "/foo", "/xyz", "/xyz/bar"),
        ("/foo/bar", "/foo", "/xyz/", "/xyz/bar"),
        ("/foo/bar", "/foo/", "/xyz", "/xyz/bar"),
        ("/foo/bar", "/foo/", "/xyz/", "/xyz/bar"),
        ("/foo", "/foo", "/xyz", "/xyz"),
        ("/foo/", "/foo", "/xyz", "/xyz/"),
        ("/foo/bar", "/foo", "", "/bar"),
        ("/foo/", "/foo", "", "/"),
        ("/foo", "/foo", "", "/"),
        ("/foo/", "/foo", "/", "/"),
        ("/foo", "/foo", "/", "/"),
        ("/foo/bar", "/", "/xyz", "/xyz/foo/bar"),
        ("/foo/a?b=%20c", "/foo", "/xyz", "/xyz/a?b=%20c"),
        ("/foo?x", "/foo", "/xyz", "/xyz?x"),
        ("/foo/a%20b%2Fc?x=%20", "/foo", "/n", "/n/a%20b%2Fc?x=%20"),
        ("/foo/a?b=1", None, "/whole", "/whole?b=1"),
        ("/foo", None, "/x$1%7E$host", "/x$1%7E$host"),
        ("/foo/", None, "/x/", "/x/"),
        ("/%66oo/a%20b", "/foo", "/xyz", "/xyz/a%20b"),
        ("//foo/a", "/foo", "/xyz", "/xyz/a"),
        ("/b/../foo/a", "/foo", "/xyz", "/xyz/a"),
        ("/foo/../foo/a", "/foo", "/xyz", "/xyz/a"),
    ],
)
def test_what_becomes_of_a_path(target: str, prefix: str | None, path: str, result: str) -> None:
    assert replaced(target, path, prefix) == result


def test_the_target_of_the_whole_server_stays() -> None:
    replacer = PathReplacer(PathReplacement("/x"))
    outgoing = Outgoing(question_of("http://a.test/y").request, Origin(peer="", entry_point=HTTP))
    assert replacer.rewrite(outgoing, ()) is None
    assert (outgoing.request.target, outgoing.request.raw_target) == (b"/x", b"/y")


pieces = st.sampled_from(["/", "foo", "a", ".", "..", "%2e", "%2F", "%20", "//", "/foo"])


@given(st.lists(pieces, max_size=8).map("".join))
def test_an_endpoint_finds_the_rest_of_the_path_behind_the_new_prefix(text: str) -> None:
    """However the client wrote the path, what the endpoint makes of the new one is the new prefix and the rest."""
    target = f"/{text}"
    try:
        path = question_of(f"http://a.test{target}").request.path
    except (Refusal, ValueError):
        return
    if path != b"/foo" and not path.startswith(b"/foo/"):
        return
    assert matchable_path(replaced(target, "/new", "/foo").encode()) == b"/new" + path[len(b"/foo") :]
