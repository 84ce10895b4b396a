"""Reads and writes the cookie of session affinity, or the header field that stands for it.

The cookie is `KEY|MARK`. The mark names the backend, so the cookie of another backend is recognised. The key leads to
an endpoint. Names, marks and attributes are those of ingress-nginx (annotations `session-cookie-*`). Does not know how
a member is chosen. Time is an argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import md5

from balancer.http.messages import Field, RequestHead, field_value
from balancer.matching.variables import cookies_of
from balancer.model.endpoints import BackendKey, place_of
from balancer.model.policies import Affinity

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TWO_DIGIT_YEARS_END = (
    2037  # clients take a later two-digit year for one of the last century (nginx ngx_http_cookie_time)
)
_LAST_EPOCH_SECONDS = 253_402_300_799  # the end of the year 9999
# Browsers that read None as Strict or refuse the cookie: Chrome 40 to 69, iOS 12, Safari of macOS 10.14.
_WITHOUT_NONE = re.compile(
    rb"Chrome/[456][0-9](?![0-9])|CPU iPhone OS 12(?![0-9])|iPad; CPU OS 12(?![0-9])"
    rb"|Macintosh(?=.*Intel Mac OS X 10_14)(?=.*Safari)(?!.*Chrome)"
)
_USER_AGENT_MAX = 512  # no browser has a longer user agent, and the searched text stays short


class Stickiness:
    """The affinity of a route to one backend, prepared for its requests."""

    __slots__ = ("_after_time", "_field", "_name", "mark", "settings")

    def __init__(self, settings: Affinity, backend: BackendKey) -> None:
        self.settings = settings
        self.mark = mark_of(backend)
        self._name = settings.cookie.encode()
        self._field = self._name.lower()
        parts = [f"; Domain={settings.domain}" if settings.domain else "", f"; Path={settings.path}"]
        self._after_time = "".join(parts).encode()

    def key_in(self, request: RequestHead) -> bytes | None:
        """The key of the request's cookie for this backend; None without a cookie, or with cookies of other backends
        only. The same for a header field.
        """
        for value in self._values(request):
            key, _, mark = value.partition(b"|")
            if key and mark == self.mark:
                return key
        return None

    def _values(self, request: RequestHead) -> Iterable[bytes]:
        if not self.settings.in_header:
            return cookies_of(request, self._name)
        return [value for name, value in request.fields if name == self._field]

    def persistent_key(self, label: str) -> bytes:
        """The key that names the endpoint with this label (`address:port`)."""
        return md5(self.mark + label.encode(), usedforsecurity=False).hexdigest().encode()

    def set_cookie(self, key: bytes, *, request: RequestHead, secure: bool, now_epoch_seconds: float) -> Field:
        """The field that gives the client its key (RFC 6265 4.1). `secure` says that the request came over TLS."""
        settings = self.settings
        if settings.in_header:
            return self._name, b"%b|%b" % (key, self.mark)
        parts = [b"%b=%b|%b" % (self._name, key, self.mark)]
        if settings.expires_seconds is not None:
            parts.append(b"; Expires=" + cookie_date(now_epoch_seconds + settings.expires_seconds))
        if settings.max_age_seconds is not None:
            parts.append(b"; Max-Age=%d" % settings.max_age_seconds)
        parts.append(self._after_time)
        if secure or settings.secure:
            parts.append(b"; Secure")
        parts.append(b"; HttpOnly")
        if settings.same_site and not self._is_spared(request):
            parts.append(b"; SameSite=%b" % settings.same_site.encode())
        return b"Set-Cookie", b"".join(parts)

    def _is_spared(self, request: RequestHead) -> bool:
        if not self.settings.same_site_conditional or self.settings.same_site.lower() != "none":
            return False
        agent = field_value(request.fields, b"user-agent") or b""
        return _WITHOUT_NONE.search(agent[:_USER_AGENT_MAX]) is not None


def mark_of(backend: BackendKey) -> bytes:
    """How a cookie names a backend: md5 of md5 and text of `namespace-service-port`, as ingress-nginx does.

    TLS to endpoints has no part in the mark. The mark is a checksum and no secret: whoever forges one reaches an
    endpoint that any request may reach.
    """
    name = place_of(backend).replace("/", "-", 1).replace(":", "-", 1).encode()
    inner = md5(name, usedforsecurity=False).hexdigest().encode()
    return md5(inner + name, usedforsecurity=False).hexdigest().encode()


def cookie_date(epoch_seconds: float) -> bytes:
    """`Mon, 02-Jan-06 15:04:05 GMT`, the form of nginx's cookies."""
    when = datetime.fromtimestamp(min(max(int(epoch_seconds), 0), _LAST_EPOCH_SECONDS), UTC)
    year = f"{when.year % 100:02}" if when.year <= _TWO_DIGIT_YEARS_END else f"{when.year}"
    day = f"{_DAYS[when.weekday()]}, {when.day:02}-{_MONTHS[when.month - 1]}-{year}"
    return f"{day} {when:%H:%M:%S} GMT".encode()
