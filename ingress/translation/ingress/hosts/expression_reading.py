"""Reads the path of a claim as a regular expression, with what its rewriting makes of it.

The result depends on the texts alone, and it is remembered: every translation reads every expression, and a thousand
expressions of a thousand characters take seconds. Does not know hosts or what other claims ask for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from balancer.matching.regexes import PatternError, compile_caseless
from balancer.matching.rewriting import UnknownReference, compile_target
from balancer.model.redirects import RewrittenRedirect
from balancer.model.rewriting import Rewriting
from balancer.runtime.fair_cache import FairCache
from ingress.translation.beginnings import beginning, has_alternatives
from ingress.translation.ingress.path_expressions import OtherMeaning, closing_expression, expression_of
from ingress.translation.narrow_expressions import is_narrow

# nginx ngx_http_rewrite: a target that begins so is a redirect.
_ABSOLUTE = re.compile(r"https?://|\$scheme")
_OWN_AUTHORITY = re.compile(r"(?:https?|\$scheme)://(?:[-._~a-zA-Z0-9]+|\$host)(?::[0-9]+)?(?:/|\Z)")
# What is remembered takes about as many bytes as its texts have characters, four times, and so many more.
_REMEMBERED_BYTES, _BYTES_EACH, _BYTES_EACH_CHARACTER = 64 * 1024 * 1024, 2048, 4


class ExpressionReading(msgspec.Struct, frozen=True):
    """A path as an expression. `problem` says why it cannot be carried out.

    `closing` matches whatever the path may match, and all of that begins with `beginning`. The rest counts only without
    a problem. `instructions` is the size of the program. The rewriting is either a `rewriting` with the expression that
    it searches itself, or a `redirect`.
    """

    beginning: str
    closing: str
    expression: str = ""
    instructions: int = 0
    is_narrow: bool = False
    rewriting: Rewriting | None = None
    redirect: RewrittenRedirect | None = None
    problem: str = ""


class Readings:
    """Readings that are remembered from one translation to the next, in room that namespaces share."""

    __slots__ = ("_remembered",)

    def __init__(self, remembered_bytes: int = _REMEMBERED_BYTES) -> None:
        self._remembered: FairCache[ExpressionReading] = FairCache(remembered_bytes)

    def of(self, namespace: str, path: str, searched: str, rewriting: Rewriting | None) -> ExpressionReading:
        """The reading of `path`, which is searched for as `searched`."""
        return self._known(namespace, (path, searched, rewriting), partial(read_expression, path, searched, rewriting))

    def refused(self, namespace: str, path: str, problem: str) -> ExpressionReading:
        """The reading of a `path` that is refused because of `problem`, before it is read."""
        return self._known(namespace, (path, problem), partial(_refused, path, problem))

    def _known(
        self, namespace: str, texts: tuple[object, ...], read: Callable[[], ExpressionReading]
    ) -> ExpressionReading:
        key = repr(texts)
        found = self._remembered.get(namespace, key)
        if found is None:
            found = read()
            self._remembered.put(namespace, key, found, _BYTES_EACH + _BYTES_EACH_CHARACTER * len(key))
        return found


def read_expression(path: str, searched: str, rewriting: Rewriting | None) -> ExpressionReading:
    """The reading of `path`, which is searched for as `searched`. The expression of `rewriting` is as its author wrote
    it.
    """
    try:
        return _read(path, searched, rewriting)
    except (OtherMeaning, PatternError, UnknownReference, _RefusedTarget) as problem:
        return _refused(path, str(problem))


def _refused(path: str, problem: str) -> ExpressionReading:
    return ExpressionReading(beginning(path), closing_expression(path), problem=problem)


class _RefusedTarget(ValueError):
    """The target of a rewriting is refused; the message says why."""


def _read(path: str, searched: str, rewriting: Rewriting | None) -> ExpressionReading:
    expression = expression_of(searched)
    pattern = compile_caseless(expression)
    own = None if rewriting is None else _rewriting(path, expression, rewriting)
    also = own.expression or expression if own is not None else expression
    redirect = None
    if own is not None and _ABSOLUTE.match(own.target):
        redirect, own = _redirect(own.target, pattern.names, searched=also), None
    elif own is not None:
        compile_target(own.target, pattern.names)
    return ExpressionReading(
        beginning=beginning(path),
        closing=closing_expression(path),
        expression=expression,
        instructions=pattern.instructions,
        is_narrow=is_narrow(expression) and is_narrow(also),
        rewriting=own,
        redirect=redirect,
    )


def _rewriting(path: str, expression: str, rewriting: Rewriting) -> Rewriting:
    """`rewriting` with the expression that it searches itself, in RE2's syntax."""
    if rewriting.expression:
        return msgspec.structs.replace(rewriting, expression=expression_of(rewriting.expression))
    if has_alternatives(path):
        # Only the first alternative is anchored, and nginx rewrites without the anchor.
        return msgspec.structs.replace(rewriting, expression=expression.removeprefix("^"))
    return rewriting


def _redirect(target: str, names: Mapping[str, int], *, searched: str) -> RewrittenRedirect:
    """The redirect to a target with a scheme. Raises `_RefusedTarget` if a client could choose the host."""
    if not _OWN_AUTHORITY.match(target):
        raise _RefusedTarget("a request could choose the host to which the target redirects")
    compile_target(target.removeprefix("$scheme"), names)
    return RewrittenRedirect(target, searched)
