"""Reads the lines of snippets that do something with a request: set, if, return and rewrite.

Source: nginx ngx_http_rewrite_module.c. Every text is compiled once here, so that a text that zonal does not know is a
problem of its line and not of a request.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from balancer.matching.gates.script_texts import compile_script_text
from balancer.matching.gates.scripts import REDIRECTS
from balancer.matching.regexes import PatternError, compile_capturing
from balancer.matching.variables import UnknownVariable
from balancer.model.scripts import AnswerWith, Comparing, Criterion, RedirectFound, RewritePath, SetVariable
from ingress.settings.snippets.lexing import Directive, SnippetProblem

_VARIABLE = re.compile(r"\$([a-zA-Z_][a-zA-Z0-9_]{0,63})")
_URL = re.compile(r"https?://|\$scheme")
_NAMED_GROUP = re.compile(r"\(\?P?<[A-Za-z]")
_FLAGS = {"redirect": 302, "permanent": 301}
# nginx ends the connection, or keeps these for itself.
_STATUSES_OF_NGINX = frozenset({304, 408, 444, *range(494, 500)})
# What nginx or the template of ingress-nginx sets, by its beginning.
_NOT_SETTABLE = re.compile(
    r"(?:http|arg|cookie|sent|upstream|ssl|proxy|pass|balancer|geoip2?|request|remote|server|auth|cors|modsecurity)(?:_|\Z)"
    r"|(?:namespace|ingress_name|service_name|service_port|location_path|global_rate_limit_exceeding|opentelemetry\w*"
    r"|the_real_ip|best_http_host|redirect_to_https|connection_upgrade|full_x_forwarded\w*|authHeader\d*|cache_key"
    r"|tmp_cache_key|target|preread\w*|limit_\w*|default_\w*|req_id|escaped_request_uri|formatted_status)\Z"
)


def set_of(line: Directive) -> SetVariable:
    """set $name text. The text is checked by whoever knows all variables."""
    found = _VARIABLE.fullmatch(line.args[0]) if len(line.args) == 2 else None
    if found is None:
        raise SnippetProblem(line.line, "set takes a variable and a value")
    if _NOT_SETTABLE.match(found[1]) or is_known(f"${found[1]}"):
        raise SnippetProblem(line.line, f"${found[1]} belongs to nginx or ingress-nginx", "choose another name")
    return SetVariable(found[1], line.args[1])


def answer_of(line: Directive) -> AnswerWith:
    """return code [text], return code URL or return URL."""
    args = line.args
    if len(args) == 1 and _URL.match(args[0]):
        return AnswerWith(302, args[0])
    if not (1 <= len(args) <= 2 and re.fullmatch(r"[2-5][0-9][0-9]", args[0])):
        raise SnippetProblem(line.line, "return takes a status from 200 to 599, and a text or URL")
    status, text = int(args[0]), args[1] if len(args) == 2 else None
    is_redirect = status in REDIRECTS
    if status in _STATUSES_OF_NGINX or (300 <= status < 400 and not (is_redirect and text)):
        raise SnippetProblem(line.line, f"return {' '.join(args)} is not carried out", "use another status")
    if status in {204, 205} and text:
        raise SnippetProblem(line.line, f"an answer with status {status} has no text", "leave the text out")
    return AnswerWith(status, text)


def rewrite_of(line: Directive) -> RedirectFound | RewritePath:
    """rewrite expression text, with last, redirect or permanent, or a text that is a URL."""
    args = line.args
    if len(args) not in {2, 3}:
        raise SnippetProblem(line.line, "rewrite takes an expression, a text and a flag")
    flag = args[2] if len(args) == 3 else ""
    if flag not in {"", "last", "break", *_FLAGS}:
        raise SnippetProblem(line.line, f"rewrite has no flag {flag}")
    checked_expression(line, args[0])
    if flag not in _FLAGS and not _URL.match(args[1]):
        return _new_path_of(line, flag)
    keeps_query = not args[1].endswith("?")
    return RedirectFound(args[0], args[1].removesuffix("?"), _FLAGS.get(flag, 302), keeps_query)


def _new_path_of(line: Directive, flag: str) -> RewritePath:
    """A path that is matched anew. With a query, $args would no longer be those of the client."""
    expression, text = line.args[:2]
    if flag != "last":
        called = "rewrite … break" if flag else "rewrite without a flag"
        raise SnippetProblem(line.line, f"{called} is not carried out", "use the annotation rewrite-target, or last")
    if "?" in text:
        raise SnippetProblem(line.line, "rewrite … last with a query is not carried out", "leave the query out")
    if not text.startswith("/"):
        raise SnippetProblem(line.line, "rewrite … last takes a path", "begin the path with /")
    return RewritePath(expression, text)


def test_of(line: Directive) -> Criterion:
    """What stands in the parentheses of `if`."""
    words = [word for word in line.args if word]
    if not words or not words[0].startswith("(") or not words[-1].endswith(")"):
        raise SnippetProblem(line.line, "the condition of if stands in parentheses")
    words[0] = words[0][1:]
    words[-1] = words[-1][:-1]
    words = [word for word in words if word] if len(words) > 1 else words
    if len(words) == 2 and words[1] in {"=", "!="}:
        words.append("")  # compared with an empty text in quotes
    if not _VARIABLE.fullmatch(words[0]) or len(words) not in {1, 3}:
        raise SnippetProblem(
            line.line, "if tests a variable, or compares it with =, !=, ~, ~*, !~ or !~*", "write a hook"
        )
    if len(words) == 1:
        return Criterion(words[0])
    try:
        comparison = Comparing(words[1])
    except ValueError:
        raise SnippetProblem(line.line, f"if does not know {words[1]}") from None
    if comparison not in {Comparing.EQUAL, Comparing.UNEQUAL}:
        checked_expression(line, words[2])
    return Criterion(words[0], comparison, words[2])


def groups_of(test: Criterion) -> int:
    """How many groups steps behind a test may name."""
    if test.comparison not in {Comparing.FOUND, Comparing.FOUND_CASELESS}:
        return 0
    return compile_capturing(test.value, ignores_case=test.comparison is Comparing.FOUND_CASELESS).groups


def checked_expression(line: Directive, expression: str) -> None:
    """Raises `SnippetProblem` for an expression that RE2 refuses, or that names a group."""
    if _NAMED_GROUP.search(expression):
        raise SnippetProblem(line.line, "groups with a name are not carried out", "use $1 to $9")
    try:
        compile_capturing(expression)
    except PatternError as problem:
        raise SnippetProblem(
            line.line, f"the expression is not carried out: {problem}", "write it without look-around"
        ) from None


def check_text(line: int, text: str, variables: Collection[str] = (), groups: int = 0) -> None:
    """Raises `SnippetProblem` for a text with a variable that is not known."""
    try:
        compile_script_text(text, variables, groups)
    except UnknownVariable as problem:
        raise SnippetProblem(line, str(problem), "write a hook") from None


def is_known(text: str) -> bool:
    """Whether `text` has only variables of requests."""
    try:
        compile_script_text(text)
    except UnknownVariable:
        return False
    return True


def groups_in(expression: str) -> int:
    """How many groups an expression has."""
    return compile_capturing(expression).groups
