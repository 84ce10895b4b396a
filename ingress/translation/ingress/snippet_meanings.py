"""Decides what the snippets of all levels mean for one path: gates and edits of responses.

Sources: nginx ngx_http_rewrite_module, ngx_http_headers_module and ngx_http_access_module (inheritance from level to
level, the last `if` that holds gives the fields); nginx.tmpl of ingress-nginx v1.15.1 (what else stands at a location).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from balancer.matching.gates.script_texts import has_variables
from balancer.matching.gates.scripts import variables_of
from balancer.model.edits import CorsFields, ResponseRule
from balancer.model.external_auth import ExternalAuth
from balancer.model.gates import AnyOf, GateRule, SourceRanges, access_rules
from balancer.model.hooks import HookRule
from balancer.model.redirects import SlashRedirect, TargetRedirect
from balancer.model.scripts import (
    AnswerWith,
    Conditional,
    HostScript,
    OrderedEdits,
    PlainStep,
    RewritePath,
    Script,
    SetVariable,
    Step,
)
from ingress.settings.snippets.access_lists import ranges_of
from ingress.settings.snippets.levels import AccessEntry, Fields, Level, LevelCondition, LevelStep
from ingress.translation.ingress.hosts.settled import PlaceClaim

_ERROR_LEAST = 400


class CannotPlace(Exception):
    """A snippet does not fit what else is said about a path. The text is a clause."""


class Levels:
    """What holds around the snippet of an Ingress, for all paths of one host. `location` stands behind that snippet.

    `redirects_root`: an app-root redirects the path / of the host. `underscores`: requests have fields whose names have
    `_`. `server_steps` are those of `server`, and `server_variables` the names that those set.
    """

    __slots__ = ("http", "location", "redirects_root", "server", "server_steps", "server_variables", "underscores")

    def __init__(
        self, http: Level, server: Level, location: Level, *, redirects_root: bool = False, underscores: bool = False
    ) -> None:
        self.http = http
        self.server = server
        self.location = location
        self.redirects_root = redirects_root
        self.underscores = underscores
        steps = tuple(_host_steps(server.steps))
        self.server_steps = steps
        self.server_variables = variables_of(steps)


class Meaning(msgspec.Struct, frozen=True):
    """What snippets mean for a path."""

    gates: tuple[GateRule, ...] = ()
    response_rules: tuple[ResponseRule, ...] = ()


def meaning_of(claim: PlaceClaim, levels: Levels) -> Meaning:
    """What the snippets mean for the path of `claim`. Raises `CannotPlace`."""
    form = claim.url_form
    outer = levels.server.fields.within(levels.http.fields)
    gates: list[GateRule] = []
    if levels.server_steps:
        if levels.redirects_root:
            raise CannotPlace("the host has an app-root, and server-snippet answers requests, too")
        _check_statuses(claim, levels.server_steps)
        _check_new_paths(claim, levels.server_steps)
        gates.append(HostScript(levels.server_steps, outer.edits, form, levels.underscores))
    if any(isinstance(rule, SlashRedirect) for rule in claim.gates):
        return Meaning(tuple(gates))
    location = claim.snippet.followed_by(levels.location)
    if any(isinstance(rule, ExternalAuth) for rule in access_rules(claim.gates)):
        # ingress-nginx adds cookies of the auth service at the location, so nginx inherits no add_header.
        outer = msgspec.structs.replace(outer, beside=None)
    fields = location.fields.within(outer)
    _check_fields(claim, location, fields)
    ranges = _ranges(claim, location.access, levels.server.access or levels.http.access)
    gates += ranges
    edits, steps = fields.edits, tuple(_steps(location.steps, fields))
    for name in sorted(levels.server_variables.intersection(variables_of(steps))):
        # Both levels have variables of their own here, and nginx has one of that name for both.
        raise CannotPlace(f"${name} is set by server-snippet and at the location")
    if not steps and not location.request_fields and _is_fixed(edits):
        rules: tuple[ResponseRule, ...] = (edits,) if edits != OrderedEdits() else ()
        return Meaning(tuple(gates), rules)
    _check_steps(claim, steps)
    return Meaning((*gates, Script(steps, location.request_fields, edits, form, levels.underscores)))


def _host_steps(steps: Iterable[LevelStep]) -> Iterator[Step]:
    for step in steps:
        yield Conditional(step.test, step.steps) if isinstance(step, LevelCondition) else step


def _steps(steps: Iterable[LevelStep], fields: Fields) -> Iterator[Step]:
    """The steps of a location. With an `if` that holds, the fields of its block count inside of those around it."""
    known = tuple(steps)
    says_fields = any(isinstance(step, LevelCondition) and step.fields != Fields() for step in known)
    for step in known:
        if isinstance(step, LevelCondition):
            yield Conditional(step.test, step.steps, step.fields.within(fields).edits if says_fields else None)
        else:
            yield step


def _ranges(
    claim: PlaceClaim, own: tuple[AccessEntry, ...] | None, outer: tuple[AccessEntry, ...] | None
) -> Iterator[GateRule]:
    """The ranges of a path. Lines of the location count instead of those around it."""
    listed = any(isinstance(rule, SourceRanges) for rule in access_rules(claim.gates))
    entries = own or (None if listed else outer)
    if entries is None:
        return
    if listed:
        raise CannotPlace("source ranges are said by allow or deny, and by annotations or the ConfigMap")
    if claim.is_enough_any or any(isinstance(rule, AnyOf) for rule in claim.gates):
        raise CannotPlace("allow and deny are said together with satisfy")
    yield ranges_of(entries)


def _is_fixed(edits: OrderedEdits) -> bool:
    """Whether every request gets the same edits, whatever the time."""
    texts = [each.text for each in edits.changes] + [each.text for each in edits.beside]
    return not any(map(has_variables, texts)) and (edits.expiry is None or bool(edits.expiry.date))


def _check_fields(claim: PlaceClaim, location: Level, fields: Fields) -> None:
    if fields.hidden is not None and claim.hides_fields:
        raise CannotPlace("proxy_hide_header is said beside hide-headers of the ConfigMap")
    has_cors = any(isinstance(rule, CorsFields) for rule in claim.response_rules)
    names = [change.name.lower() for change in fields.changes]
    names += [added.name.lower() for added in fields.beside or ()]
    if has_cors and any(name.startswith("access-control-") for name in names):
        raise CannotPlace("fields of CORS are set beside enable-cors")
    taken = {
        name.lower()
        for rule in access_rules(claim.gates)
        if isinstance(rule, ExternalAuth)
        for name in rule.response_fields
    }
    for name, _ in location.request_fields:
        if name.lower() in taken:
            raise CannotPlace(f"{name} is set by auth-response-headers, too")


def _check_steps(claim: PlaceClaim, steps: tuple[Step, ...]) -> None:
    if not steps:
        return
    if any(isinstance(rule, TargetRedirect) for rule in claim.gates):
        raise CannotPlace("permanent-redirect or temporal-redirect redirects, and a snippet answers requests, too")
    has_cors = any(isinstance(rule, CorsFields) for rule in claim.response_rules)
    if has_cors and any(isinstance(step, Conditional) for step in steps):
        raise CannotPlace("if is used beside enable-cors, and nginx would drop the fields of CORS")
    _check_statuses(claim, steps)
    known = _plain(steps)
    leads = any(isinstance(step, RewritePath) for step in known)
    if leads and any(isinstance(step, SetVariable) for step in known):
        raise CannotPlace("set is used beside rewrite … last, and the next location would know the variable")
    if leads:
        _check_hooks(claim)


def _check_new_paths(claim: PlaceClaim, steps: Iterable[Step]) -> None:
    """nginx changes the paths of its own requests at the server, too: those to auth services and mirrors."""
    if not any(isinstance(step, RewritePath) for step in _plain(steps)):
        return
    if claim.mirroring is not None or any(isinstance(rule, ExternalAuth) for rule in access_rules(claim.gates)):
        raise CannotPlace("server-snippet has rewrite … last beside auth-url or mirror-target")
    _check_hooks(claim)


def _check_hooks(claim: PlaceClaim) -> None:
    if any(isinstance(rule, HookRule) for rule in claim.gates):
        raise CannotPlace("rewrite … last is used beside hooks, and another path may have others")


def _check_statuses(claim: PlaceClaim, steps: Iterable[Step]) -> None:
    """nginx answers a status without a text with the error page for that status."""
    for each in _plain(steps):
        is_page = isinstance(each, AnswerWith) and each.text is None and each.status >= _ERROR_LEAST
        if isinstance(each, AnswerWith) and is_page and each.status in claim.stand_in.statuses:
            raise CannotPlace(f"return {each.status} has a page by custom-http-errors")


def _plain(steps: Iterable[Step]) -> list[PlainStep]:
    """The steps, with those of conditions."""
    plain: list[PlainStep] = []
    for step in steps:
        plain += step.steps if isinstance(step, Conditional) else (step,)
    return plain
