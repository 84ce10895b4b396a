"""Lines about header fields: names, values, options and times."""

from __future__ import annotations

import pytest

from balancer.model.scripts import Expiry, FieldBeside, FieldChange
from ingress.settings.snippets.field_lines import beside_of, changes_of, expiry_of, hidden_of, request_field_of
from ingress.settings.snippets.lexing import Directive, SnippetProblem, read_directives


def line(text: str) -> Directive:
    (found,) = read_directives(text)
    return found


def test_fields_beside_others() -> None:
    assert beside_of(line("add_header X-A 'a b' always;")) == FieldBeside("X-A", "a b", always=True)
    assert beside_of(line("add_header X-A $host;")) == FieldBeside("X-A", "$host")


def test_changes_for_some_responses() -> None:
    text = "more_set_headers -s '404 500' -t 'text/html text/css' -s 503 'X-A: a: b' X-B 'X-C:';"
    statuses, types = (404, 500, 503), ("text/html", "text/css")
    assert changes_of(line(text)) == tuple(
        FieldChange(name, value, statuses, types) for name, value in (("X-A", "a: b"), ("X-B", ""), ("X-C", ""))
    )
    assert changes_of(line("more_clear_headers X-A* 'X-B:';")) == (FieldChange("X-A*"), FieldChange("X-B"))


def test_fields_of_endpoints_and_for_them() -> None:
    assert hidden_of(line("proxy_hide_header X-Powered-By;")) == "x-powered-by"
    assert request_field_of(line("proxy_set_header X-A $host;")) == ("X-A", "$host")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("expires 1h;", Expiry(3600)),
        ("expires 1h30m;", Expiry(5400)),
        ("expires -1;", Expiry(-1)),
        ("expires 0;", Expiry(0)),
        ("expires 1y;", Expiry(365 * 86400)),
        ("expires off;", None),
        ("expires max;", Expiry(date="Thu, 31 Dec 2037 23:55:55 GMT", control="max-age=315360000")),
    ],
)
def test_times_of_expires(text: str, expected: Expiry | None) -> None:
    assert expiry_of(line(text)) == expected


READERS = {
    "add_header": beside_of,
    "more_set_headers": changes_of,
    "more_clear_headers": changes_of,
    "proxy_hide_header": hidden_of,
    "proxy_set_header": request_field_of,
    "expires": expiry_of,
}


@pytest.mark.parametrize(
    "text",
    [
        "add_header X-A;",
        "add_header X-A 1 sometimes;",
        "add_header 'X A' 1;",
        "add_header ETag 1;",
        "add_header Content-Length 1;",
        "add_header X-A 'a\\nb';",
        "more_set_headers;",
        "more_set_headers -r 'X-A: 1';",
        "more_set_headers -s x 'X-A: 1';",
        "more_set_headers -s;",
        "more_set_headers 'Transfer-Encoding: x';",
        "more_set_headers 'X-*: 1';",
        "more_clear_headers 'X-A: 1';",
        "more_clear_headers *;",
        "more_clear_headers C*;",
        "proxy_hide_header X-A X-B;",
        "proxy_set_header Host x;",
        "proxy_set_header X-Forwarded-Proto https;",
        "proxy_set_header Connection upgrade;",
        "proxy_set_header Expect x;",
        "proxy_set_header ssl-client-cert x;",
        "expires;",
        "expires @1h;",
        "expires modified 1h;",
        "expires $a;",
        "expires 900y;",
    ],
)
def test_what_nginx_or_zonal_does_not_send_is_a_problem(text: str) -> None:
    found = line(text)
    with pytest.raises(SnippetProblem):
        READERS[found.name](found)
