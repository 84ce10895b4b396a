"""Rewrites Location, Refresh and Set-Cookie of endpoints' responses. No I/O.

As nginx's proxy_redirect, proxy_cookie_domain and proxy_cookie_path (ngx_http_proxy_module.c). The proxy's own
redirects and cookies are never rewritten, because they are no fields of the response.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from balancer.http.edits import HeadEdit, ResponseEditor
from balancer.http.messages import Fields, RequestHead, ResponseHead
from balancer.http.origin import Origin
from balancer.matching.regexes import INSTRUCTIONS_MAX, STEPS_MOST, PatternError, compile_caseless
from balancer.matching.urls import UrlText, compile_url_text, own_url
from balancer.matching.variables import UnknownVariable
from balancer.model.relocation import RewriteCookies, RewriteLocation

Rewriting = Callable[[bytes, RequestHead, Origin], bytes | None]
"""Rewrites a value for one request; None: the value stays."""

_URL_IN_REFRESH = re.compile(rb"url=", re.IGNORECASE)  # HTML 4.9.2: `5; url=...`
# A cookie with more attributes is passed on as it is. RFC 6265 knows six.
_ATTRIBUTES_MOST = 64
# Longer values are passed on as they are. Browsers take cookies of 4 KiB (RFC 6265 6.1).
_BYTES_MOST = 8192
_REDIRECTING = frozenset((b"location", b"refresh"))


class LocationEditor(ResponseEditor):
    """Rewrites the fields that redirect."""

    __slots__ = ("_bytes_most", "_form", "_rewrite")

    def __init__(self, rule: RewriteLocation) -> None:
        self._rewrite = compile_rewriting(rule.pattern, rule.replacement)
        self._bytes_most = _bytes_most(rule.pattern)
        self._form = rule.form

    def edit(self, request: RequestHead, origin: Origin, response: ResponseHead, given: HeadEdit) -> HeadEdit:
        fields = [each for each in response.fields if each[0] in _REDIRECTING and each[0] not in given.removed]
        if sum(len(value) for _, value in fields) > self._bytes_most:
            return given
        edited = {}
        for name, value in fields:
            if name == b"location" and (location := self._location(value, request, origin)) is not None:
                edited[name] = (b"Location", location)
            elif name == b"refresh" and (refresh := self._refresh(value, request, origin)) is not None:
                edited[name] = (b"Refresh", refresh)
        return HeadEdit(given.removed | edited.keys(), given.added + tuple(edited.values())) if edited else given

    def _location(self, value: bytes, request: RequestHead, origin: Origin) -> bytes | None:
        written = self._rewrite(value, request, origin)
        if written is not None and written.startswith(b"/"):
            return own_url(self._form, request, origin, written)
        return written

    def _refresh(self, value: bytes, request: RequestHead, origin: Origin) -> bytes | None:
        found = _URL_IN_REFRESH.search(value)
        if found is None:
            return None
        written = self._rewrite(value[found.end() :], request, origin)
        return value[: found.end()] + written if written is not None else None


class CookieEditor(ResponseEditor):
    """Rewrites attributes of cookies."""

    __slots__ = ("_bytes_most", "_rewritings")

    def __init__(self, rule: RewriteCookies) -> None:
        rules = [each for each in (rule.domain, rule.path) if each is not None]
        self._bytes_most = _bytes_most(*(pattern for pattern, _ in rules))
        self._rewritings: dict[bytes, Rewriting] = {}
        if rule.domain is not None:
            self._rewritings[b"domain"] = compile_domain_rewriting(*rule.domain)
        if rule.path is not None:
            self._rewritings[b"path"] = compile_rewriting(*rule.path)

    def edit(self, request: RequestHead, origin: Origin, response: ResponseHead, given: HeadEdit) -> HeadEdit:
        cookies = tuple(value for name, value in response.fields if name == b"set-cookie")
        if not cookies or b"set-cookie" in given.removed or sum(map(len, cookies)) > self._bytes_most:
            return given
        edited = tuple(self._cookie(cookie, request, origin) for cookie in cookies)
        if edited == cookies:
            return given
        fields: Fields = tuple((b"Set-Cookie", cookie) for cookie in edited)
        return HeadEdit(given.removed | {b"set-cookie"}, fields + given.added)

    def _cookie(self, cookie: bytes, request: RequestHead, origin: Origin) -> bytes:
        pair, *attributes = (piece.strip(b" ") for piece in cookie.split(b";", _ATTRIBUTES_MOST))
        if b"=" not in pair or len(attributes) == _ATTRIBUTES_MOST:
            return cookie
        written = [self._attribute(each, request, origin) for each in attributes]
        return b"; ".join((pair, *written)) if written != attributes else cookie

    def _attribute(self, attribute: bytes, request: RequestHead, origin: Origin) -> bytes:
        key, equals, value = attribute.partition(b"=")
        key = key.rstrip(b" ")
        rewrite = self._rewritings.get(key.lower())
        written = rewrite(value.lstrip(b" "), request, origin) if equals and rewrite is not None else None
        return key + b"=" + written if written is not None else attribute


def _bytes_most(*patterns: str) -> int:
    """How many bytes of a response are rewritten by `patterns`; fewer if they are expressions that may cost much."""
    texts = [each.removeprefix("~").removeprefix("*") for each in patterns if each.startswith("~")]
    instructions = sum(compile_caseless(text).instructions for text in texts)
    return min(_BYTES_MOST, STEPS_MOST // instructions) if instructions else _BYTES_MOST


def compile_rewriting(pattern: str, replacement: str) -> Rewriting:
    """Replaces the beginning `pattern`, or with `~` or `~*` before it whatever the expression matches.

    Raises `UnknownVariable` and `PatternError` for texts that no request could use.
    """
    to = compile_url_text(replacement)
    if pattern.startswith("~*"):
        return _expression(f"(?i:{pattern[2:]})", to)
    if pattern.startswith("~"):
        return _expression(f"(?-i:{pattern[1:]})", to)
    beginning = _without_groups(compile_url_text(pattern))
    _without_groups(to)

    def rewrite(value: bytes, request: RequestHead, origin: Origin) -> bytes | None:
        begin = beginning.write(request, origin)
        if not begin or not value.startswith(begin):  # an empty variable must not match everything
            return None
        return to.write(request, origin) + value[len(begin) :]

    return rewrite


def compile_domain_rewriting(pattern: str, replacement: str) -> Rewriting:
    """Replaces a domain that is `pattern`, ignoring case and a dot before either, or that an expression matches.

    A dot before the domain of the cookie stays. Raises as `compile_rewriting`.
    """
    to = compile_url_text(replacement.removeprefix("."))
    if pattern.startswith("~"):
        return _expression(f"(?i:{pattern[1:]})", to)
    domain = _without_groups(compile_url_text(pattern.removeprefix(".")))
    _without_groups(to)

    def rewrite(value: bytes, request: RequestHead, origin: Origin) -> bytes | None:
        name = value.removeprefix(b".")
        if not name or name.lower() != domain.write(request, origin).lower():
            return None
        return value[: len(value) - len(name)] + to.write(request, origin)

    return rewrite


def _expression(text: str, to: UrlText) -> Rewriting:
    pattern = compile_caseless(text)
    if pattern.instructions > INSTRUCTIONS_MAX:
        raise PatternError("the pattern is too large")
    if to.groups > pattern.groups:
        raise UnknownVariable(f"${to.groups} is no group of the expression")

    def rewrite(value: bytes, request: RequestHead, origin: Origin) -> bytes | None:
        captures = pattern.captures(value)
        return to.write(request, origin, captures) if captures is not None else None

    return rewrite


def _without_groups(text: UrlText) -> UrlText:
    if text.groups:
        raise UnknownVariable(f"${text.groups} needs an expression with groups")
    return text
