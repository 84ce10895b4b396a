"""Reads a snippet of nginx's configuration: all of its lines are carried out, or none.

Does not know whose snippet it is, nor what becomes of it together with others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from ipaddress import ip_network

from balancer.model.scripts import PlainStep, RedirectFound, RewritePath, SetVariable
from ingress.settings.snippets import field_lines, step_lines
from ingress.settings.snippets.advice import instead_of
from ingress.settings.snippets.levels import AccessEntry, Fields, Level, LevelCondition, LevelStep, SnippetPlace
from ingress.settings.snippets.lexing import Directive, SnippetProblem, read_directives

_DIRECTIVES_MOST = 100
_LINES_NAMED = 10  # in one finding
_EVERYBODY = ("0.0.0.0/0", "::/0")
_STEPS: Mapping[str, Callable[[Directive], PlainStep]] = {
    "set": step_lines.set_of,
    "return": step_lines.answer_of,
    "rewrite": step_lines.rewrite_of,
}
_OF_FIELDS = frozenset(("add_header", "more_set_headers", "more_clear_headers", "proxy_hide_header", "expires"))
_EVERYWHERE = frozenset(("allow", "deny", "proxy_set_header", *_OF_FIELDS))
_CAPTURING = (RedirectFound, RewritePath)
_IN_CONDITIONS = _OF_FIELDS - {"proxy_hide_header"}


@lru_cache(maxsize=4096)  # every translation reads the same snippets
def read_level(text: str, place: SnippetPlace) -> Level | SnippetProblem:
    """What a snippet says at `place`, or the first line that is not carried out."""
    try:
        lines = read_directives(text)
        if len(lines) + sum(len(line.block or ()) for line in lines) > _DIRECTIVES_MOST:
            return SnippetProblem(lines[-1].line, f"a snippet has at most {_DIRECTIVES_MOST} directives")
        misplaced = [problem for line in lines for problem in _misplaced(line, place)]
        if misplaced:
            first = misplaced[0]
            others = sorted({each.line for each in misplaced[:_LINES_NAMED]} - {first.line})
            return SnippetProblem(first.line, first.why, first.instead, tuple(others))
        return _level(lines, place)
    except SnippetProblem as problem:
        return problem


def _misplaced(line: Directive, place: SnippetPlace) -> Iterator[SnippetProblem]:
    """Why a directive and those in its block do not stand at `place`: nginx refuses them there, or zonal does not carry
    them out.
    """
    if not (line.name in _EVERYWHERE or (line.name in {*_STEPS, "if"} and place is not SnippetPlace.HTTP)):
        yield SnippetProblem(line.line, f"{line.name} is not carried out", instead_of(line.name))
        return
    if (line.block is not None) is not (line.name == "if"):
        yield SnippetProblem(line.line, f"{line.name} has {'no block' if line.block is None else 'a block'}")
        return
    for inner in line.block or ():
        fits = inner.name in _STEPS or (place is SnippetPlace.LOCATION and inner.name in _IN_CONDITIONS)
        if not fits or inner.block is not None:
            yield SnippetProblem(inner.line, f"{inner.name} in if is not carried out", instead_of(inner.name))


def _level(lines: tuple[Directive, ...], place: SnippetPlace) -> Level:
    names = frozenset(each.name for each in _assignments(lines))
    sent = [line for line in lines if line.name == "proxy_set_header"]
    requests = tuple(map(field_lines.request_field_of, sent))
    useless: tuple[str, ...] = ()
    if place is not SnippetPlace.LOCATION:
        # Locations of ingress-nginx have such lines of their own, and nginx inherits none then.
        useless = tuple(f"line {line.line}: proxy_set_header has no effect here, in nginx neither" for line in sent)
        requests = ()
    for line, (_, text) in zip(sent, requests, strict=False):
        step_lines.check_text(line.line, text, names)
    access = [line for line in lines if line.name in {"allow", "deny"}]
    return Level(
        fields=_fields(lines, names),
        access=tuple(map(_entry, access)) or None,
        request_fields=requests,
        steps=tuple(_steps(lines, names, place)),
        useless=useless,
    )


def _fields(lines: tuple[Directive, ...], names: Collection[str]) -> Fields:
    expiries = [line for line in lines if line.name == "expires"]
    if len(expiries) > 1:
        raise SnippetProblem(expiries[1].line, "expires may be said once")
    beside = [(line.line, field_lines.beside_of(line)) for line in lines if line.name == "add_header"]
    changes = [
        (line.line, each)
        for line in lines
        if line.name in {"more_set_headers", "more_clear_headers"}
        for each in field_lines.changes_of(line)
    ]
    texts = [*((number, each.text) for number, each in beside), *((number, each.text) for number, each in changes)]
    for number, text in texts:
        step_lines.check_text(number, text, names)
    hidden = tuple(field_lines.hidden_of(line) for line in lines if line.name == "proxy_hide_header")
    return Fields(
        hidden=hidden or None,
        changes=tuple(each for _, each in changes),
        expiry=field_lines.expiry_of(expiries[0]) if expiries else None,
        says_expiry=bool(expiries),
        beside=tuple(each for _, each in beside) or None,
    )


def _steps(lines: tuple[Directive, ...], names: Collection[str], place: SnippetPlace) -> Iterator[LevelStep]:
    for line in lines:
        if line.name in _STEPS:
            yield _step(line, names, 0)
        elif line.name == "if":
            test = step_lines.test_of(line)
            step_lines.check_text(line.line, test.text, names)
            groups = step_lines.groups_of(test)
            if groups == 0 and test.comparison.value in {"=", "!="}:
                step_lines.check_text(line.line, test.value, names)
            inner = line.block or ()
            steps = tuple(_step(each, names, groups) for each in inner if each.name in _STEPS)
            # A rewrite captures anew, so what stands behind it would name other groups.
            if any(isinstance(each, _CAPTURING) for each in steps[:-1]) and groups:
                raise SnippetProblem(line.line, "rewrite stands before other steps", "put it last")
            yield LevelCondition(test, steps, _fields(inner, names) if place is SnippetPlace.LOCATION else Fields())


def _step(line: Directive, names: Collection[str], groups: int) -> PlainStep:
    step = _STEPS[line.name](line)
    if isinstance(step, _CAPTURING):
        groups = step_lines.groups_in(step.expression)
    if step.text is not None:
        step_lines.check_text(line.line, step.text, names, groups)
    return step


def _assignments(lines: tuple[Directive, ...]) -> Iterator[SetVariable]:
    for line in lines:
        for each in (line, *(line.block or ())):
            if each.name == "set":
                yield step_lines.set_of(each)


def _entry(line: Directive) -> AccessEntry:
    text = line.args[0] if len(line.args) == 1 else ""
    if text == "all":
        return AccessEntry(line.name == "allow", _EVERYBODY)
    try:
        return AccessEntry(line.name == "allow", (str(ip_network(text, strict=False)),))
    except ValueError:
        raise SnippetProblem(line.line, f"{line.name} takes an address, a network or all") from None
