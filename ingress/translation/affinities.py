"""What an Ingress says about staying with an endpoint: its cookie, or a text to hash.

Responsible for reading ingress-nginx's `affinity*`, `session-cookie-*` and `upstream-hash-by`. It must not know routes
beyond their path, nor backends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote as percent_encoded

from balancer.model import Affinity
from balancer.variables import UnknownVariable, compile_text
from ingress.values import InvalidValue, Row, go_boolean

SECTION = "affinity"
"""The section of a draft that `AFFINITY_ROWS` fill."""

# A name that RFC 6265 allows and that needs no quoting anywhere.
_COOKIE_NAME = re.compile(r"[A-Za-z0-9._~-]{1,128}")
# No name is longer (RFC 1035 2.3.4); it is said again for every path of an Ingress.
_DOMAIN = re.compile(r"(?=.{1,254}\Z)\.?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
_COOKIE_PATH = re.compile(r"/[-._~a-zA-Z0-9/:?&=]{0,1023}")
# ingress-nginx: (^0|-?[1-9]\d*$); nine digits are 31 years.
_SECONDS = re.compile(r"0|-?[1-9][0-9]{0,8}")
_SAME_SITE = frozenset({"none", "lax", "strict"})
# What a path may hold in a Set-Cookie as it is (RFC 3986 3.3 without `;` and `,`).
_PATH_SAFE = "/:@!$&'()*+=~-._%"


def word(*words: str) -> Callable[[str], str]:
    """A parser that takes one of `words`, in that case."""

    def parse(text: str) -> str:
        if text.strip() not in words:
            raise InvalidValue(f"use {' or '.join(words)}")
        return text.strip()

    return parse


def matching(pattern: re.Pattern[str], hint: str) -> Callable[[str], str]:
    """A parser of texts that match as a whole."""

    def parse(text: str) -> str:
        if not pattern.fullmatch(text.strip()):
            raise InvalidValue(hint)
        return text.strip()

    return parse


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
        compile_text(text.strip())
    except UnknownVariable as problem:
        raise InvalidValue(str(problem)) from None
    return text.strip()


AFFINITY_ROWS: Mapping[str, Row] = {
    "affinity": Row(SECTION, "kind", word("cookie")),
    "affinity-mode": Row(SECTION, "mode", word("balanced", "persistent")),
    "affinity-canary-behavior": Row(SECTION, "canary_behavior", word("sticky", "legacy")),
    "session-cookie-name": Row(SECTION, "cookie", matching(_COOKIE_NAME, "use letters, digits, -, _, . and ~")),
    "session-cookie-path": Row(SECTION, "path", matching(_COOKIE_PATH, "use a path such as /shop")),
    "session-cookie-domain": Row(SECTION, "domain", matching(_DOMAIN, "use a name such as shop.example")),
    "session-cookie-expires": Row(SECTION, "expires_seconds", _seconds),
    "session-cookie-max-age": Row(SECTION, "max_age_seconds", _seconds),
    "session-cookie-samesite": Row(SECTION, "same_site", _same_site),
    "session-cookie-conditional-samesite-none": Row(SECTION, "same_site_conditional", go_boolean),
    "session-cookie-secure": Row(SECTION, "secure", go_boolean),
    "session-cookie-change-on-failure": Row(SECTION, "change_on_failure", go_boolean),
    "upstream-hash-by": Row(SECTION, "hash_by", _hash_text),
}
"""ingress-nginx's annotations, without their prefix: how each is read and where it goes."""

_NO_FIELDS_OF_THE_MODEL = frozenset({"kind", "mode", "canary_behavior", "hash_by"})


def affinity_of(said: Mapping[str, Any], path: str) -> Affinity | None:
    """The affinity of a route at `path`; None without the annotation `affinity`.

    The cookie holds for the path of the Ingress unless another is named (ingress-nginx `session-cookie-path`).
    """
    if "kind" not in said:
        return None
    fields = {name: value for name, value in said.items() if name not in _NO_FIELDS_OF_THE_MODEL}
    fields.setdefault("path", percent_encoded(path, safe=_PATH_SAFE))
    return Affinity(persistent=said.get("mode") == "persistent", **fields)


def hash_by(said: Mapping[str, Any]) -> str:
    """The text whose value chooses the endpoint; empty for none."""
    text: str = said.get("hash_by", "")
    return text


def canary_follows(said: Mapping[str, Any]) -> bool:
    """Whether a canary shares the affinity of the main backend (`affinity-canary-behavior`, `sticky` by default)."""
    return bool(said.get("canary_behavior") != "legacy")
