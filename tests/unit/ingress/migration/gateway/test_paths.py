"""Paths become matches; expressions that mean a prefix become one."""

from __future__ import annotations

import pytest

from ingress.migration.gateway.paths import HostPaths, NoForm, PathText, found_in, method_form, path_form, paths_of_host


def text(path: str, rewrite: str = "", kind: str = "Prefix") -> PathText:
    return PathText(path, kind, rewrite)


def test_plain_paths_keep_their_type() -> None:
    assert path_form(text("/a"), HostPaths.PLAIN).match == {"type": "PathPrefix", "value": "/a"}
    assert path_form(text("/a", kind="Exact"), HostPaths.PLAIN).match == {"type": "Exact", "value": "/a"}
    assert path_form(text("", kind="ImplementationSpecific"), HostPaths.PLAIN).match["value"] == "/"


@pytest.mark.parametrize(
    ("path", "rewrite", "prefix", "replaced"),
    [
        ("/api(/|$)(.*)", "/$2", "/api", "/"),
        ("/api/(.*)", "/v1/$1", "/api", "/v1"),
        ("/api/?(.*)", "/$1", "/api", "/"),
        ("/(.*)", "/$1", "/", "/"),
    ],
)
def test_what_means_everything_below_becomes_a_prefix(path: str, rewrite: str, prefix: str, replaced: str) -> None:
    said = text(path, rewrite)
    assert paths_of_host([said], has_expressions=True) is HostPaths.PREFIXES
    found = path_form(said, HostPaths.PREFIXES)
    assert found.match == {"type": "PathPrefix", "value": prefix}
    assert found.rewrite == {"type": "ReplacePrefixMatch", "replacePrefixMatch": replaced}


def test_a_rewrite_without_captures_replaces_the_whole_path() -> None:
    found = path_form(text("/old", "/new"), HostPaths.PREFIXES)
    assert found.rewrite == {"type": "ReplaceFullPath", "replaceFullPath": "/new"}


def test_other_expressions_stay_expressions_with_all_paths_of_their_host() -> None:
    paths = [text("/item/[0-9]+"), text("/a")]
    assert paths_of_host(paths, has_expressions=True) is HostPaths.EXPRESSIONS
    forms = [path_form(each, HostPaths.EXPRESSIONS).match for each in paths]
    assert [each["value"] for each in forms] == ["(?i)^/item/[0-9]+(?s:.*)", "(?i)^/a(?s:.*)"]
    assert {each["type"] for each in forms} == {"RegularExpression"}


@pytest.mark.parametrize(
    ("expression", "whole"),
    [
        ("^/a$", "^/a$"),
        ("v[0-9]", "(?s:.*)v[0-9](?s:.*)"),
        (r"^cost\$", r"^cost\$(?s:.*)"),
        ("^/a|b", "(?s:.*)(?:^/a|b)(?s:.*)"),
    ],
)
def test_what_is_found_in_a_text_matches_all_of_it(expression: str, whole: str) -> None:
    assert found_in(expression) == whole


def test_two_paths_that_would_be_one_prefix_stay_expressions() -> None:
    assert paths_of_host([text("/a"), text("/a/(.*)")], has_expressions=True) is HostPaths.EXPRESSIONS


@pytest.mark.parametrize("said", [text("/x/(a|b)/(.*)", "/$2/$1"), text("/[", "")])
def test_what_has_no_form_is_told(said: PathText) -> None:
    with pytest.raises(NoForm):
        path_form(said, HostPaths.EXPRESSIONS)


def test_paths_of_calls_are_methods() -> None:
    assert method_form(text("/")) is None
    assert method_form(text("/shop.Cart")) == {"method": {"service": "shop.Cart"}}
    assert method_form(text("/shop.Cart/Add")) == {"method": {"service": "shop.Cart", "method": "Add"}}
    with pytest.raises(NoForm, match="no method of gRPC"):
        method_form(text("/a/b/c"))


@pytest.mark.parametrize(
    ("rewrite", "instead"),
    [
        ("https://new.test/$1", "write a filter RequestRedirect"),
        ("/$rest", "leave the path to an Ingress"),
        ("/$1?old=1", "leave the path to an Ingress"),
        ("new/$1", "leave the path to an Ingress"),
    ],
)
def test_a_rewrite_that_is_no_path_with_numbers_has_no_form(rewrite: str, instead: str) -> None:
    with pytest.raises(NoForm, match=instead):
        path_form(text("/old/(.*)", rewrite), HostPaths.PREFIXES)
