"""Text of nginx's configuration is read to its end, or not at all."""

from __future__ import annotations

import pytest

from ingress.settings.snippets.lexing import Directive, SnippetProblem, read_directives


def test_directives_have_words_lines_and_blocks() -> None:
    text = '# a comment\nadd_header X-A "a; b" always; # more\n\nif ($host = a) {\n  return 403;\n}\n# the end'
    assert read_directives(text) == (
        Directive("add_header", ("X-A", "a; b", "always"), 2),
        Directive("if", ("($host", "=", "a)"), 4, (Directive("return", ("403",), 5),)),
    )


def test_a_backslash_is_read_as_nginx_reads_it() -> None:
    (line,) = read_directives(r"""rewrite ^/a\.b$ "say \"hi\" \\ \d" redirect;""")
    assert line.args == (r"^/a\.b$", r'say "hi" \ \d', "redirect")


def test_nothing_is_nothing() -> None:
    assert read_directives(" \n# only a comment") == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("add_header X-A 1", 1),
        ("return 200;\nadd_header X-A 'one;", 2),
        ("if ($host) { return 200;", 1),
        ("return 200; }", 1),
        ("return 200;\n;", 2),
        ("{ return 200; }", 1),
        ("return 200;\nadd_header X-A \u00e4;", 2),
        ("add_header X-A \u00a01;", 1),
        ("a" * 20_000, 1),
        ("return 200 '" + "$host" * 201 + "';", 1),
        ("return 200;\n# \x00", 2),
    ],
)
def test_what_is_not_ended_or_not_plain_is_a_problem_of_a_line(text: str, line: int) -> None:
    with pytest.raises(SnippetProblem) as problem:
        read_directives(text)
    assert problem.value.line == line
    assert problem.value.text.startswith(f"line {line}: ")
