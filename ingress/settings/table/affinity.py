"""Options about staying with an endpoint: the cookie of a client, or a text to hash.

Responsible for ingress-nginx's `affinity*`, `session-cookie-*` and `upstream-hash-by`. It must not know routes.
"""

from __future__ import annotations

import re

import msgspec

from balancer.matching.variables import UnknownVariable, compile_text
from balancer.model.policies import Affinity
from ingress.findings import Severity
from ingress.settings.table.option import ingress_option, ingress_switch, route_option, route_switch
from ingress.settings.unsupported import Loss
from ingress.settings.values import COOKIE_NAME, InvalidValue, Word, integer, matching

# No name is longer (RFC 1035 2.3.4). The model repeats it for every path of an Ingress.
_DOMAIN = re.compile(r"(?=.{1,254}\Z)\.?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
_COOKIE_PATH = re.compile(r"/[-._~a-zA-Z0-9/:?&=]{0,1023}")
# ingress-nginx: (^0|-?[1-9]\d*$); nine digits are 31 years.
_SECONDS = re.compile(r"0|-?[1-9][0-9]{0,8}")
# The most endpoints that are tried for one value: `balancer.picking.ring.WALK_MAX`.
SUBSET_MOST = 20
_SAME_SITE = frozenset({"none", "lax", "strict"})


class AffinityOptions(msgspec.Struct, frozen=True):
    """What an Ingress says about affinity.

    `by_cookie`: clients stay by `cookie`, whose path is that of the Ingress where `cookie_path` is None. `sticky`: a
    canary shares the affinity of the main backend. `hash_by` is text with variables, empty for none. With `subset` its
    value chooses `subset_size` endpoints.
    """

    by_cookie: bool = False
    cookie: Affinity = Affinity()
    cookie_path: str | None = None
    sticky: bool = True
    hash_by: str = ""
    subset: bool = False
    subset_size: int = 3

    @property
    def endpoints_of_a_hash(self) -> int:
        """The number of endpoints to which each value of `hash_by` leads."""
        return self.subset_size if self.subset else 1


def _seconds(text: str) -> int:
    if not _SECONDS.fullmatch(text.strip()):
        raise InvalidValue("use whole seconds")
    return int(text)


def _same_site(text: str) -> str:
    if text.strip().lower() not in _SAME_SITE:
        raise InvalidValue("use None, Lax or Strict")
    return text.strip()


def _hash_text(text: str) -> str:
    try:
        if text.strip():
            compile_text(text.strip())
    except UnknownVariable as problem:
        raise InvalidValue(str(problem)) from None
    return text.strip()


AFFINITY_OPTIONS = (
    ingress_option(
        name="affinity",
        fills=(AffinityOptions, "by_cookie"),
        grammar=Word({"cookie": True}),
        doc="`cookie`: a client stays with its endpoint, see [canary](canary.md)",
    ),
    ingress_option(
        name="affinity-mode",
        fills=(Affinity, "persistent"),
        grammar=Word({"balanced": False, "persistent": True}),
        doc="`balanced` (a key that a consistent hash leads to an endpoint) or `persistent` (the endpoint itself)",
    ),
    ingress_option(
        name="affinity-canary-behavior",
        fills=(AffinityOptions, "sticky"),
        grammar=Word({"sticky": True, "legacy": False}),
        doc="on a canary: `sticky` (a client that came to the canary stays there) or `legacy` (the rules decide for"
        " each request)",
    ),
    ingress_option(
        name="session-cookie-name",
        fills=(Affinity, "cookie"),
        grammar=matching(COOKIE_NAME, "use letters, digits, -, _, . and ~"),
        doc="name of the cookie; the default is `INGRESSCOOKIE`",
    ),
    ingress_option(
        name="session-cookie-path",
        fills=(AffinityOptions, "cookie_path"),
        grammar=matching(_COOKIE_PATH, "use a path such as /shop"),
        doc="path of the cookie; the default is the path of the Ingress",
    ),
    ingress_option(
        name="session-cookie-domain",
        fills=(Affinity, "domain"),
        grammar=matching(_DOMAIN, "use a name such as shop.example"),
        doc="domain of the cookie",
    ),
    ingress_option(
        name="session-cookie-expires",
        fills=(Affinity, "expires_seconds"),
        grammar=_seconds,
        doc="`Expires` of the cookie, in seconds from the response on",
    ),
    ingress_option(
        name="session-cookie-max-age",
        fills=(Affinity, "max_age_seconds"),
        grammar=_seconds,
        doc="`Max-Age` of the cookie, in seconds",
    ),
    ingress_option(
        name="session-cookie-samesite",
        fills=(Affinity, "same_site"),
        grammar=_same_site,
        doc="`SameSite` of the cookie: `None`, `Lax` or `Strict`",
    ),
    ingress_switch(
        name="session-cookie-conditional-samesite-none",
        fills=(Affinity, "same_site_conditional"),
        doc='`"true"`: browsers that misread `SameSite=None` get the cookie without it',
    ),
    ingress_switch(
        name="session-cookie-secure",
        fills=(Affinity, "secure"),
        doc='`"true"`: the cookie has `Secure` on plain HTTP as well; over https it always has',
        # Closes nothing: the cookie names an endpoint and is no credential.
        if_invalid=Loss(Severity.UNPROTECTED, "browsers may send the cookie over plain HTTP"),
    ),
    ingress_switch(
        name="session-cookie-change-on-failure",
        fills=(Affinity, "change_on_failure"),
        doc='`"true"`: a client whose endpoint fails stays with another endpoint from then on',
    ),
    route_option(
        name="upstream-hash-by",
        fills=(AffinityOptions, "hash_by"),
        grammar=_hash_text,
        doc="text with variables whose value chooses the endpoint, see [canary](canary.md)",
    ),
    route_switch(
        name="upstream-hash-by-subset",
        fills=(AffinityOptions, "subset"),
        doc='`"true"`: the value chooses several endpoints, any of which serves',
    ),
    route_option(
        name="upstream-hash-by-subset-size",
        fills=(AffinityOptions, "subset_size"),
        grammar=integer(1),
        default="3",
        most=SUBSET_MOST,
        doc="number of endpoints for each value",
    ),
)
