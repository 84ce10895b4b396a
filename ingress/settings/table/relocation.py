"""Options about Location, Refresh and Set-Cookie of endpoints: proxy-redirect and proxy-cookie.

Responsible for the options and for the structs that they fill. It must not know how fields are rewritten. Source:
ingress-nginx v1.15.1, annotations/proxy; nginx, ngx_http_proxy_module.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from balancer.matching.regexes import PatternError
from balancer.matching.relocating import compile_domain_rewriting, compile_rewriting
from balancer.matching.variables import UnknownVariable
from balancer.model.edits import ResponseRule
from balancer.model.redirects import UrlForm
from balancer.model.relocation import RewriteCookies, RewriteLocation
from ingress.findings import Severity
from ingress.settings.table.option import route_option
from ingress.settings.unsupported import Loss
from ingress.settings.values import InvalidValue

OFF = "off"
# Neither replaces anything: the default of nginx is about the address of its upstream, which endpoints never learn.
_MAPS_NOTHING = frozenset({OFF, "default"})
# Characters that could end the directive of nginx into which ingress-nginx writes the text.
_UNSAFE = re.compile(r"[^\x21-\x7e]|[\"';]")


class Relocation(msgspec.Struct, frozen=True):
    """How fields of endpoints' responses are rewritten. `off` and None rewrite nothing."""

    redirect_from: str = OFF
    redirect_to: str = OFF
    cookie_domain: tuple[str, str] | None = None
    cookie_path: tuple[str, str] | None = None

    def rules(self, form: UrlForm) -> tuple[ResponseRule, ...]:
        """The edits of responses. Raises `InvalidValue` if `redirect_from` and `redirect_to` do not fit together."""
        rules: list[ResponseRule] = []
        if self.redirect_from not in _MAPS_NOTHING and self.redirect_to != OFF:
            _check(compile_rewriting, self.redirect_from, self.redirect_to)
            rules.append(RewriteLocation(self.redirect_from, self.redirect_to, form))
        if self.cookie_domain is not None or self.cookie_path is not None:
            rules.append(RewriteCookies(self.cookie_domain, self.cookie_path))
        return tuple(rules)


def location_text(text: str) -> str:
    """`off`, `default`, or an argument of proxy_redirect."""
    if not text.strip() or _UNSAFE.search(text.strip()):
        raise InvalidValue("use off, or a URL without spaces and quotes")
    return text.strip()


def _pair(compile_pair: Callable[[str, str], object]) -> Callable[[str], tuple[str, str] | None]:
    """A parser of `off`, or of a pattern and a replacement."""

    def parse(text: str) -> tuple[str, str] | None:
        words = text.split()
        if words == [OFF]:
            return None
        if len(words) != 2 or any(_UNSAFE.search(word) for word in words):
            raise InvalidValue('use off, or two words such as "FROM TO"')
        pattern, replacement = words
        _check(compile_pair, pattern, replacement)
        return pattern, replacement

    return parse


def _check(compile_pair: Callable[[str, str], object], pattern: str, replacement: str) -> None:
    try:
        compile_pair(pattern, replacement)
    except (UnknownVariable, PatternError) as problem:
        raise InvalidValue(str(problem)) from None


_LOCATIONS = Loss(Severity.DEGRADED, "redirects of the backend are passed on unchanged")
_COOKIES = Loss(Severity.DEGRADED, "cookies of the backend are passed on unchanged")

RELOCATION_OPTIONS = (
    route_option(
        name="proxy-redirect-from",
        fills=(Relocation, "redirect_from"),
        grammar=location_text,
        default=OFF,
        doc="beginning of `Location`, and of the URL in `Refresh`, of endpoints' responses that `proxy-redirect-to`"
        " replaces; `~` before it makes it a regular expression (RE2) that replaces the whole value, `~*` one that"
        " ignores case. `off` and `default` replace nothing. Variables are `$scheme`, `$host`, `$http_NAME`,"
        " `$arg_NAME`, `$cookie_NAME`, `$request_uri` and `$remote_addr`",
        if_invalid=_LOCATIONS,
    ),
    route_option(
        name="proxy-redirect-to",
        fills=(Relocation, "redirect_to"),
        grammar=location_text,
        default=OFF,
        doc="the replacement, with variables and `$1` to `$9`; `off` replaces nothing. A path that comes out gets the"
        " scheme and host of the request, unless `relative-redirects` says otherwise",
        if_invalid=_LOCATIONS,
    ),
    route_option(
        name="proxy-cookie-domain",
        fills=(Relocation, "cookie_domain"),
        grammar=_pair(compile_domain_rewriting),
        default=OFF,
        doc="`FROM TO`: `Domain` of endpoints' cookies is replaced if it is `FROM`, in any case and with or without a"
        " dot before it; expressions and variables as for `proxy-redirect-from`",
        if_invalid=_COOKIES,
    ),
    route_option(
        name="proxy-cookie-path",
        fills=(Relocation, "cookie_path"),
        grammar=_pair(compile_rewriting),
        default=OFF,
        doc="`FROM TO`: the beginning `FROM` of `Path` of endpoints' cookies is replaced, likewise",
        if_invalid=_COOKIES,
    ),
)
