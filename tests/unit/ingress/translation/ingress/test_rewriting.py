"""When a path is an expression, and when its target is rewritten."""

from __future__ import annotations

import pytest

from balancer.model.rewriting import Rewriting
from balancer.model.routes import PathKind
from ingress.settings.table.rewriting import RewriteSettings
from ingress.translation.ingress.rewriting import PathMeaning, meaning_of

PLAIN, EXPRESSION = PathMeaning(), PathMeaning(True)


@pytest.mark.parametrize(
    ("path", "kind", "target", "use_regex", "meaning"),
    [
        ("/a", PathKind.PREFIX, "", False, PLAIN),
        ("/a", PathKind.PREFIX, "", True, EXPRESSION),
        ("/", PathKind.PREFIX, "/", False, PLAIN),
        ("/", PathKind.PREFIX, "/x", False, PathMeaning(True, Rewriting("/x"))),
        ("/a", PathKind.EXACT, "/a", False, PLAIN),
        ("/a", PathKind.EXACT, "/b", False, PathMeaning(True, Rewriting("/b"))),
        ("/a", PathKind.PREFIX, "/a", False, PathMeaning(False, Rewriting("/a", "/a/"))),
        ("/a", PathKind.PREFIX, "/a", True, EXPRESSION),
        ("/a/", PathKind.PREFIX, "/a/", False, PLAIN),
        ("/a(/|$)(.*)", PathKind.PREFIX, "/$2", False, PathMeaning(True, Rewriting("/$2"))),
    ],
)
def test_the_meaning_of_a_path(path: str, kind: PathKind, target: str, use_regex: bool, meaning: PathMeaning) -> None:
    assert meaning_of(path, kind, RewriteSettings(use_regex, target)) == meaning


def test_a_prefix_is_told_only_with_a_rewriting() -> None:
    settings = RewriteSettings(use_regex=True, forwarded_prefix="/a")
    assert meaning_of("/a", PathKind.PREFIX, settings) == EXPRESSION
