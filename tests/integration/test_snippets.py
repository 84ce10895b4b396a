"""Snippets over real sockets: what ingress-nginx makes of their lines, or nothing at all.

Expectations are those of nginx: ngx_http_rewrite_module (return before access), ngx_http_headers_module (add_header
without `always` only for successes, inheritance as a whole), headers-more (added to those of the level above).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from ingress.findings import Finding, Severity
from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.wire import Response, get

ALLOWED = {
    "allow-snippet-annotations": "true",
    "annotations-risk-level": "Critical",
    "ssl-redirect": "false",
}
HOST = "shop.example.com"


class Case(NamedTuple):
    """A snippet, a request, and what the answer shows. `fields` are names with the values of all their lines."""

    snippet: str
    status: int = 200
    target: str = "/"
    sent: tuple[str, ...] = ()
    fields: Mapping[str, list[str]] = {}
    body: bytes | None = None
    to_endpoint: Mapping[str, list[str]] = {}
    annotations: Mapping[str, str] = {}
    host: str = HOST


CASES = {
    "set": Case('more_set_headers "X-Frame-Options: DENY";', fields={"x-frame-options": ["DENY"]}),
    "set in place of the endpoint's": Case(
        'more_set_headers "Content-Language: de" "X-A: 1";', fields={"content-language": ["de"], "x-a": ["1"]}
    ),
    "set for a status": Case('more_set_headers -s "404 503" "X-A: 1";', fields={"x-a": []}),
    "set for a type": Case('more_set_headers -t application/json "X-A: 1";', fields={"x-a": ["1"]}),
    "set for another type": Case('more_set_headers -t "text/html text/css" "X-A: 1";', fields={"x-a": []}),
    "clear": Case("more_set_headers 'X-A: 1'; more_clear_headers X-A;", fields={"x-a": []}),
    "clear by a beginning": Case("more_set_headers 'X-Aa: 1' 'X-Ab: 2'; more_clear_headers X-A*;", fields={"x-aa": []}),
    "add": Case("add_header X-A 1; add_header X-A 2;", fields={"x-a": ["1", "2"]}),
    "add to an error": Case(
        "add_header X-A 1; add_header X-B 2 always; return 404;", 404, fields={"x-a": [], "x-b": ["2"]}
    ),
    "add a value of the request": Case(
        'add_header X-A "$host$request_uri $http_x_b";',
        target="/p?q=1",
        sent=("X-B: b",),
        fields={"x-a": [f"{HOST}/p?q=1 b"]},
    ),
    "add nothing for an empty value": Case("add_header X-A $http_x_b;", fields={"x-a": []}),
    "line breaks of the path end no field": Case(
        "add_header X-A $uri;", target="/a%0d%0aX-B:%20c", fields={"x-a": ["/a%0D%0AX-B: c"], "x-b": []}
    ),
    "hide": Case("proxy_hide_header Content-Type;".replace("Content-Type", "Server"), fields={"server": []}),
    "expires": Case(
        "expires epoch;", fields={"cache-control": ["no-cache"], "expires": ["Thu, 01 Jan 1970 00:00:01 GMT"]}
    ),
    "expires beside": Case(
        "expires 1h; add_header Cache-Control public;", fields={"cache-control": ["max-age=3600", "public"]}
    ),
    "request field": Case(
        'proxy_set_header X-A "$host"; proxy_set_header X-B "";',
        sent=("X-A: mine", "X-B: mine"),
        to_endpoint={"x-a": [HOST], "x-b": []},
    ),
    "return": Case("return 403;", 403),
    "return a text": Case('return 200 "hello $arg_name";', target="/?name=you", body=b"hello you"),
    "the type of a text": Case('return 200 "{}";', target="/a.json", fields={"content-type": ["application/json"]}),
    "return a path": Case("return 301 /new$request_uri;", 301, "/a?b", fields={"location": [f"http://{HOST}/new/a?b"]}),
    "return a URL": Case("return https://new.test$request_uri;", 302, fields={"location": ["https://new.test/"]}),
    "redirect": Case(
        "rewrite ^/old/(.*)$ /new/$1 permanent;", 301, "/old/a?b=c", fields={"location": [f"http://{HOST}/new/a?b=c"]}
    ),
    "redirect without the query": Case(
        "rewrite (?i)^/OLD$ https://new.test/? redirect;", 302, "/old?b", fields={"location": ["https://new.test/"]}
    ),
    "redirect beside a query": Case(
        "rewrite ^/(.*)$ /new?path=$1 redirect;",
        302,
        "/a%26b?c",
        fields={"location": [f"http://{HOST}/new?path=a%26b&c"]},
    ),
    "no redirect": Case("rewrite ^/old/(.*)$ /new/$1 permanent;", target="/OLD/a"),
    "if": Case('if ($http_user_agent ~* "bot") { return 403; }', 403, sent=("User-Agent: a Bot",)),
    "if not": Case('if ($http_user_agent ~* "bot") { return 403; }', sent=("User-Agent: me",)),
    "if equal": Case("if ($request_method = GET) { return 405; }", 405),
    "if empty": Case('if ($http_x_key = "") { return 401; }', 401),
    "if set": Case("if ($http_x_key) { return 402; }", sent=("X-Key: 0",)),
    "if of several fields": Case('if ($http_x_a != "1, 2") { return 403; }', sent=("X-A: 1", "X_A: 3", "X-A: 2")),
    "many expressions, and a text made for them": Case(
        "".join(f'if ($request_uri ~ "[ab]*a[ab]{{60}}{number}") {{ return 403; }}' for number in range(50)),
        414,
        target="/" + "ab" * 400,
    ),
    "if captures": Case(
        r"if ($host ~ ^(.+)\.example\.com$) { return 301 https://$1.new.test$request_uri; }",
        301,
        fields={"location": ["https://shop.new.test/"]},
    ),
    "set a variable": Case(
        'set $a no; if ($arg_x) { set $a "yes-$arg_x"; } add_header X-A $a;', target="/?x=1", fields={"x-a": ["yes-1"]}
    ),
    "the last if that holds gives the fields": Case(
        "add_header X-A 0; if ($arg_x) { add_header X-B 1; } if ($arg_y) { add_header X-C 2; }",
        target="/?x=1&y=1",
        fields={"x-a": [], "x-b": [], "x-c": ["2"]},
    ),
    "changes of an if come beside": Case(
        "more_set_headers 'X-A: 0'; if ($arg_x) { more_set_headers 'X-B: 1'; }",
        target="/?x=1",
        fields={"x-a": ["0"], "x-b": ["1"]},
    ),
    "deny": Case("deny 127.0.0.0/8;", 403),
    "allow first": Case("allow 127.0.0.1; deny all;"),
    "deny first": Case("deny 127.0.0.1; allow 127.0.0.0/8;", 403),
    "return before access": Case("deny all; return 302 https://new.test/;", 302),
    "fields of a refusal": Case("deny all; more_set_headers 'X-A: 1';", 403, fields={"x-a": ["1"]}),
    "fields with variables of a refusal": Case("deny all; more_set_headers 'X-A: $host';", 403, fields={"x-a": [HOST]}),
    "return before the redirect to https": Case(
        "return 410;", 410, annotations={"nginx.ingress.kubernetes.io/force-ssl-redirect": "true"}
    ),
    "strict transport security": Case(
        "more_set_headers 'Strict-Transport-Security: max-age=1';", fields={"strict-transport-security": ["max-age=1"]}
    ),
}


@asynccontextmanager
async def served(
    data: Mapping[str, str] = ALLOWED, **annotations: str
) -> AsyncIterator[tuple[DataPlane, tuple[Finding, ...]]]:
    """An Ingress with these annotations, whose Service has one endpoint."""
    async with data_plane() as plane, echoing("web", {"zone-a": 1}) as endpoints:
        said = {f"nginx.ingress.kubernetes.io/{name.replace('_', '-')}": text for name, text in annotations.items()}
        web = ingress("web", rule(HOST, path("/", "web")), class_name="nginx", annotations=said)
        cluster = [ingress_class("nginx"), config_map(**data), service("web"), *map(endpoint_slice, endpoints), web]
        yield plane, plane.serve(cluster, TranslationContext(allow_local_endpoints=True))


def lines(answer: Response, name: str) -> list[str]:
    return [value for each, value in answer.fields if each == name]


@pytest.mark.parametrize("name", CASES)
async def test_a_snippet_does_what_nginx_makes_of_it(name: str) -> None:
    case = CASES[name]
    said = {each.partition("/")[2]: text for each, text in case.annotations.items()}
    async with served(ALLOWED, configuration_snippet=case.snippet, **said) as (plane, findings):
        answer = await get(plane.http_port, case.host, case.target, *case.sent)
    assert [finding for finding in findings if finding.severity is not Severity.COSMETIC] == []
    assert answer.status == case.status
    assert {each: lines(answer, each) for each in case.fields} == case.fields
    if case.body is not None:
        assert answer.body == case.body
    if case.to_endpoint:
        got = [(each.lower(), value) for each, value in answer.json()["headers"]]
        assert {each: [value for name, value in got if name == each] for each in case.to_endpoint} == case.to_endpoint


async def test_a_client_writes_no_field_of_a_snippet_in_another_spelling() -> None:
    data = {**ALLOWED, "enable-underscores-in-headers": "true"}
    async with served(data, configuration_snippet='proxy_set_header X-User "us";') as (plane, _):
        answer = await get(plane.http_port, HOST, "/", "X_User: root", "X-USER: root", "x_other: 1")
    got = [(name.lower().replace("_", "-"), value) for name, value in answer.json()["headers"]]
    assert [pair for pair in got if pair[0] in {"x-user", "x-other"}] == [("x-other", "1"), ("x-user", "us")]


@pytest.mark.parametrize(
    ("snippet", "line"),
    [
        ("more_set_headers 'X-A: 1';\nproxy_pass http://other;", "line 2: proxy_pass"),
        ("location /x { deny all; }", "line 1: location"),
        ("add_header X-A 1", "line 1: a directive or a quotation is not ended"),
        ("rewrite ^/a$ /b break;", "line 1: rewrite … break"),
        ("\nrewrite ^/a$ /b?c last;", "line 2: rewrite … last with a query"),
        ("\n\nif ($host = a) {\n  proxy_pass http://x;\n}", "line 4: proxy_pass"),
        ("add_header X-A $upstream_addr;", "line 1: $upstream_addr"),
        ("proxy_set_header Host other;", "line 1: nginx would send Host twice"),
    ],
)
async def test_one_line_that_is_not_carried_out_closes_and_is_named(snippet: str, line: str) -> None:
    async with served(configuration_snippet=snippet) as (plane, findings):
        assert (await get(plane.http_port, HOST)).status == 503
    (finding,) = findings
    assert (finding.reason, finding.severity) == ("ClosedByAnnotation", Severity.CLOSED)
    assert line in finding.message
    assert "To be served, " in finding.message


@pytest.mark.parametrize("missing", ["allow-snippet-annotations", "annotations-risk-level"])
async def test_snippets_close_unless_the_operator_allows_them_twice(missing: str) -> None:
    data = {key: text for key, text in ALLOWED.items() if key != missing}
    async with served(data, configuration_snippet="add_header X-A 1;") as (plane, findings):
        assert (await get(plane.http_port, HOST)).status == 503
    assert "allow-snippet-annotations" in findings[0].message


async def test_a_snippet_of_the_server_holds_for_paths_that_no_ingress_has() -> None:
    snippet = "more_set_headers 'X-A: 1'; if ($arg_x) { return 301 https://new.test/; }"
    async with data_plane() as plane, echoing("web", {"zone-a": 1}) as endpoints:
        said = {"nginx.ingress.kubernetes.io/server-snippet": snippet}
        web = ingress("web", rule(HOST, path("/a", "web")), annotations=said)
        other = ingress("other", rule(HOST, path("/b", "web")))
        cluster = [ingress_class(), config_map(**ALLOWED), service("web"), *map(endpoint_slice, endpoints), web, other]
        plane.serve(cluster, TranslationContext(allow_local_endpoints=True))
        for target, status in (("/a", 200), ("/b", 200), ("/c", 404)):
            answer = await get(plane.http_port, HOST, target)
            assert (answer.status, lines(answer, "x-a")) == (status, ["1"])
            assert (await get(plane.http_port, HOST, f"{target}?x=1")).status == 301


@asynccontextmanager
async def two_places(*, data: Mapping[str, str] = ALLOWED, **snippets: str) -> AsyncIterator[DataPlane]:
    """Host with the path / of `old`, with these snippets, and the path /new of `new`, whose endpoint is another one.

    Who may pass at /new is said by allow, and what its responses have by add_header.
    """
    said = {f"nginx.ingress.kubernetes.io/{name.replace('_', '-')}": text for name, text in snippets.items()}
    fields = {"nginx.ingress.kubernetes.io/configuration-snippet": "add_header X-A new; add_header X-U $uri;"}
    async with data_plane() as plane, echoing("old", {"zone-a": 1}) as ours, echoing("new", {"zone-a": 1}) as other:
        old = ingress("old", rule(HOST, path("/", "old")), class_name="nginx", annotations=said)
        new = ingress("new", rule(HOST, path("/new", "new")), class_name="nginx", annotations=fields)
        cluster = [ingress_class("nginx"), config_map(**data), service("old"), service("new"), old, new]
        slices = [*map(endpoint_slice, ours), *map(endpoint_slice, other)]
        assert plane.serve([*cluster, *slices], TranslationContext(allow_local_endpoints=True)) == ()
        yield plane


async def test_a_path_that_is_rewritten_last_is_served_by_its_new_location() -> None:
    snippet = "rewrite ^/old/(.*)$ /new/$1 last; deny all; add_header X-O old;"
    async with two_places(configuration_snippet=snippet) as plane:
        answer = await get(plane.http_port, HOST, "/old/a%3Fb%20c?d=e")
        other = await get(plane.http_port, HOST, "/else")
        aside = await get(plane.http_port, HOST, "/new/x")
    # nginx sends the new path encoded anew, and the query as it came.
    assert (answer.status, answer.json()["target"]) == (200, "/new/a%3Fb%20c?d=e")
    assert (lines(answer, "x-a"), lines(answer, "x-u"), lines(answer, "x-o")) == (["new"], ["/new/a?b c"], [])
    assert (other.status, aside.status, aside.json()["target"]) == (403, 200, "/new/x")


async def test_a_server_rewrites_before_a_location_is_found_and_only_once() -> None:
    async with two_places(server_snippet="if ($arg_x) { rewrite ^(.*)$ /new$1 last; }") as plane:
        answer = await get(plane.http_port, HOST, "/a?x=1")
        other = await get(plane.http_port, HOST, "/a")
    assert (answer.json()["target"], lines(answer, "x-a")) == ("/new/a?x=1", ["new"])
    assert (other.json()["target"], lines(other, "x-a")) == ("/a", [])


async def test_a_circle_of_rewrites_is_the_error_of_nginx_and_ten_are_none() -> None:
    snippet = "rewrite ^/to/(.*)$ /$1 last; rewrite ^/round$ /round last;"
    async with two_places(configuration_snippet=snippet) as plane:
        assert (await get(plane.http_port, HOST, "/round")).status == 500
        assert (await get(plane.http_port, HOST, "/to" * 10 + "/x")).json()["target"] == "/x"
        assert (await get(plane.http_port, HOST, "/to" * 11 + "/x")).status == 500


async def test_a_rewritten_path_has_the_gates_of_its_new_location() -> None:
    data = {**ALLOWED, "location-snippet": "if ($uri ~ ^/new/secret) { return 403; }"}
    async with two_places(data=data, configuration_snippet="rewrite ^/old/(.*)$ /new/$1 last;") as plane:
        assert (await get(plane.http_port, HOST, "/old/secret")).status == 403
        assert (await get(plane.http_port, HOST, "/old/open")).status == 200


async def test_levels_inherit_as_in_nginx() -> None:
    data = {
        **ALLOWED,
        "http-snippet": "add_header X-H h; more_set_headers 'X-M: h';",
        "server-snippet": "more_set_headers 'X-N: s';",
        "location-snippet": "more_set_headers 'X-O: l';",
    }
    async with served(data) as (plane, findings):
        answer = await get(plane.http_port, HOST)
    assert findings == ()
    assert [lines(answer, name) for name in ("x-h", "x-m", "x-n", "x-o")] == [["h"], ["h"], ["s"], ["l"]]
    async with served(data, configuration_snippet="add_header X-L l; more_set_headers 'X-M: l';") as (plane, findings):
        answer = await get(plane.http_port, HOST)
    # add_header of a level replaces those of the level above, and more_set_headers comes beside them.
    assert [lines(answer, name) for name in ("x-h", "x-l", "x-m", "x-n")] == [[], ["l"], ["l"], ["s"]]


async def test_a_snippet_of_the_configmap_that_is_not_carried_out_is_a_finding_alone() -> None:
    async with served({"ssl-redirect": "false", "server-snippet": "location /x { deny all; }"}) as (plane, findings):
        assert (await get(plane.http_port, HOST)).status == 200
    (finding,) = findings
    assert (finding.kind, finding.severity) == ("ConfigMap", Severity.UNPROTECTED)
    assert "server-snippet, line 1: location is not carried out" in finding.message


@pytest.mark.parametrize(
    ("annotations", "word"),
    [
        ({"configuration_snippet": "deny 1.2.3.4;", "whitelist_source_range": "10.0.0.0/8"}, "source ranges"),
        ({"configuration_snippet": "if ($host = a) { return 403; }", "enable_cors": "true"}, "CORS"),
        ({"configuration_snippet": "return 403;", "permanent_redirect": "https://a.test"}, "permanent-redirect"),
        ({"server_snippet": "return 403;", "app_root": "/app"}, "app-root"),
        ({"configuration_snippet": "return 404;", "custom_http_errors": "404"}, "custom-http-errors"),
        ({"configuration_snippet": "set $a 1; rewrite ^/a /b last;"}, "set is used beside rewrite"),
        ({"server_snippet": "rewrite ^/a /b last;", "auth_url": "http://auth.test/"}, "auth-url or mirror-target"),
    ],
)
async def test_what_nginx_would_mix_in_an_unknown_order_closes(annotations: dict[str, str], word: str) -> None:
    async with served(ALLOWED, **annotations) as (plane, findings):
        assert (await get(plane.http_port, HOST)).status == 503
    assert word in findings[0].message
