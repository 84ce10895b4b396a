"""Says which fields pass from one side to the other, in every HTTP version. No I/O.

Hop-by-hop fields end at a proxy (RFC 9110 7.6.1). Nothing that a client says about itself is believed: its
X-Forwarded-* and Forwarded fields are replaced or removed, so an endpoint may trust what it reads. Families are removed
by a rule about names, because endpoints know more of them than any list.
"""

from __future__ import annotations

from functools import lru_cache

from balancer.http.looping import LOOP_FIELD
from balancer.http.messages import Fields

NOT_FOR_ENDPOINTS = frozenset(
    (
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"http2-settings",
        b"proxy",  # httpoxy, CVE-2016-5385
        b"forwarded",
        b"x-real-ip",
        b"x-forwarded-proto",
        b"x-forwarded-port",
        b"x-forwarded-scheme",
        b"x-scheme",
        b"x-original-forwarded-for",
        b"x-original-forwarded-host",
        b"x-forwarded-client-cert",
        b"x-original-url",  # some frameworks route by these two instead of by the target
        b"x-rewrite-url",
    )
)
"""Never passed on to an endpoint: hop-by-hop, or said by us instead. Names in lower case."""

NOT_FOR_CLIENTS = frozenset((b"keep-alive", b"proxy-connection"))
"""Never passed on to a client."""

HSTS = b"strict-transport-security"

NOT_IN_INTERIM = NOT_FOR_CLIENTS | {HSTS, b"server"}
"""A response that is not the final one says nothing about the site or its software."""

PROTECTED = frozenset(
    (
        b"host",
        b"content-length",
        b"transfer-encoding",
        b"x-request-id",
        b"authorization",
        b"cookie",
        b"accept",
        LOOP_FIELD,
    )
)
"""End-to-end fields that a Connection field must not be able to remove (CVE-2021-32813, CVE-2024-45410)."""

_RENAMED = {
    b"x-forwarded-for": b"X-Original-Forwarded-For",
    b"x-forwarded-host": b"X-Original-Forwarded-Host",
}
# With `_` for `-` they are the same variable to CGI, WSGI and their kin: no way around what only we may say.
_NOT_WITH_UNDERSCORES = NOT_FOR_ENDPOINTS | _RENAMED.keys() | PROTECTED

_OF_CERTIFICATES = (b"ssl-client-", b"x-ssl-client-")  # what the proxy alone says, whoever is trusted
# What proxies tell endpoints about a client, and about the request as it came to the first of them.
_OF_PROXIES = (
    *(b"x-forwarded-", b"x-original-", b"x-real-", b"x-rewrite-", b"x-envoy-"),
    # Certificates of clients: RFC 9440, WebLogic, IIS, AWS, nginx and HAProxy.
    *(b"client-cert", b"wl-proxy-", b"x-arr-", b"x-amzn-mtls-", b"x-client-cert", b"x-client-dn", b"x-client-verify"),
    b"x-ssl-",
)
_FORWARDED = b"-forwarded-"  # CloudFront-Forwarded-Proto, Fly-Forwarded-Ssl, X-Vercel-Forwarded-For
# True-Client-IP, CF-Connecting-IP, X-Appengine-User-IP, X-Azure-SocketIP
_OF_PROXIES_ENDS = (b"client-ip", b"clientip", b"connecting-ip", b"connecting-ipv6", b"-user-ip", b"-socketip")
_OF_PROXIES_NAMES = frozenset(
    b"cf-visitor fastly-ssl forwarded-for front-end-https x-accel-mapping x-forward-for x-forwarded x-host "
    b"x-http-host-override x-https x-originating-ip x-proxyuser-ip x-remote-addr x-remote-ip x-scheme x-script-name "
    b"x-sendfile-type x-url-scheme".split()
)

# Never trailers (RFC 9110 6.5.1): a reader that merges them into the head would frame, route, trust or judge anew.
_NOT_TRAILERS = NOT_FOR_ENDPOINTS | frozenset(
    b"age authorization cache-control connection cookie date expect expires from host location max-forwards origin "
    b"pragma range referer remote-user retry-after server set-cookie te trailer transfer-encoding upgrade user-agent "
    b"vary via warning www-authenticate x-http-method x-http-method-override x-method-override x-request-id".split()
)
_NOT_TRAILERS_FAMILIES = (b"accept", b"content-", b"if-", b"proxy-", b"sec-", b"x-auth-", b"x-remote-")
_TRAILERS_IN_FAMILIES = frozenset((b"content-digest",))  # RFC 9530 means it to be one
_LIKE_DASHES = bytes.maketrans(b"_.", b"--")  # to CGI, WSGI, PHP and their kin
_PLAIN = b"-_abcdefghijklmnopqrstuvwxyz0123456789"
_RULES_REMEMBERED = 8  # of the settings in use and those before


class Passing:
    """Which fields of requests go on to endpoints. One object for equal rules, so it is compared by identity.

    `underscores`: names that hold `_` go on. `kept` are names, in lower case, of what proxies say that clients may say,
    too. `trusts`: the request came from a trusted proxy, which may say all of that.
    """

    __slots__ = ("kept", "trusts", "underscores")

    def __init__(self, underscores: bool, kept: frozenset[bytes], trusts: bool) -> None:
        self.underscores = underscores
        self.kept = kept
        self.trusts = trusts


def passing(underscores: bool = False, kept: tuple[str, ...] = (), *, trusts: bool = False) -> Passing:
    """The rules for these settings. `kept` are names in lower case."""
    return _passing(underscores, kept, trusts)


@lru_cache(maxsize=_RULES_REMEMBERED)
def _passing(underscores: bool, kept: tuple[str, ...], trusts: bool) -> Passing:
    return Passing(underscores, frozenset(name.encode() for name in kept), trusts)


def is_of_proxies(name: bytes) -> bool:
    """Whether a field called `name`, in lower case, says something about a client that only a proxy can know."""
    return (
        name.startswith(_OF_PROXIES)
        or name.endswith(_OF_PROXIES_ENDS)
        or name in _OF_PROXIES_NAMES
        or _FORWARDED in name
        or is_said_by_us(name)
    )


def is_said_by_us(name: bytes) -> bool:
    """Whether no setting lets a field called `name`, in lower case, go on: the proxy says it, or it ends here."""
    return name in NOT_FOR_ENDPOINTS or name in _RENAMED or name.startswith(_OF_CERTIFICATES)


def name_onward(name: bytes, rules: Passing) -> bytes:
    """The name under which an endpoint gets a field of a client called `name`; empty if the field ends here.

    Names that hold `_` go on if the rules say so, but for those that an endpoint could take for a name that only the
    proxy may say. Names that hold anything else but letters, digits and `-` never go on, nor do they with nginx:
    PHP reads `.` as `_`, and lighttpd each of them.
    """
    lower = name.lower()
    if lower in _RENAMED:
        return _RENAMED[lower]
    if is_of_proxies(lower) and (is_said_by_us(lower) or not (rules.trusts or lower in rules.kept)):
        return b""
    if b"_" in lower:
        dashed = lower.replace(b"_", b"-")
        if not rules.underscores or dashed in _NOT_WITH_UNDERSCORES or is_of_proxies(dashed):
            return b""
    return b"" if has_other_signs(lower) else name


def has_other_signs(name: bytes) -> bool:
    """Whether a name in lower case holds anything else but letters, digits, `-` and `_`.

    Some reader takes each other sign for `_` or `-`, so such a name could be any other.
    """
    return bool(name.translate(None, _PLAIN))


def written_alike(fields: Fields, names: frozenset[bytes]) -> frozenset[bytes]:
    """The names of `fields` with `_` that an endpoint may take for one of `names`, as CGI does. All in lower case."""
    odd = {name for name, _ in fields if b"_" in name}
    if not odd:
        return frozenset()
    plain = frozenset(map(like_dashes, names))
    return frozenset(name for name in odd if like_dashes(name) in plain)


def nominated(options: tuple[bytes, ...]) -> frozenset[bytes]:
    """The names of fields that the connection `options`, in lower case, end here (RFC 9110 7.6.1)."""
    return frozenset(options) - PROTECTED


def like_dashes(name: bytes) -> bytes:
    """`name` as endpoints compare it that make variables of names."""
    return name.translate(_LIKE_DASHES)


def passes_as_trailer(name: bytes) -> bool:
    """Whether a trailer called `name`, in lower case, may go on: no reader may take it for a field of the head."""
    plain = like_dashes(name)
    if plain in _NOT_TRAILERS or is_of_proxies(plain):
        return False
    return plain in _TRAILERS_IN_FAMILIES or not plain.startswith(_NOT_TRAILERS_FAMILIES)
