"""Values that people write as text: how each form is read.

Responsible for the grammar of booleans, numbers, sizes and words. It must not know which option uses which form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from balancer.model.endpoints import LoadBalancing

COOKIE_NAME = re.compile(r"[A-Za-z0-9._~-]{1,128}")
"""A name that RFC 6265 allows and that needs no quoting anywhere."""

_Meaning = TypeVar("_Meaning")

_GO_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_GO_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
# Nine digits are 31 years or 1 GB of anything counted here; more is a slip, and floats stay exact.
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")
_SIZE = re.compile(r"([0-9]{1,12})([bkmg]?)", re.IGNORECASE | re.ASCII)
_SIZE_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
# Eight pebibytes: no message is longer, floats are exact so far, and what carries a model has eight bytes for a number.
_SIZE_MOST = 2**53
# Each is said again for every path of an Ingress; a handful of protocols is registered with IANA.
_PROTOCOLS_MOST = 16
_PROTOCOL_CHARACTERS_MOST = 64
_NAME = re.compile(r"[a-z0-9-]{1,63}")
# As many as close anything.
_NAMES_MOST = 100
_DURATION = re.compile(r"([0-9]{1,9})(ms|s|m|h)")
_DURATION_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_RETRY_STATUSES = frozenset(f"http_{status}" for status in (403, 404, 429, 500, 502, 503, 504))
_RETRY_WORDS = _RETRY_STATUSES | {"error", "timeout", "invalid_header", "non_idempotent", "off"}

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z/]+")


class InvalidValue(ValueError):
    """Raised for a value that does not parse. The message says what is accepted."""


class HarmlessValue(InvalidValue):
    """A value that ingress-nginx replaces by the default. No one can rely on it, so nothing is closed."""


def boolean(text: str) -> bool:
    """`true` or `false`, as our own keys spell it."""
    if text not in {"true", "false"}:
        raise InvalidValue('use "true" or "false"')
    return text == "true"


def go_boolean(text: str) -> bool:
    """What Go's strconv.ParseBool takes, as ingress-nginx's keys do."""
    if text in _GO_TRUE or text in _GO_FALSE:
        return text in _GO_TRUE
    raise InvalidValue('use "true" or "false"')


def on_or_off(text: str) -> bool:
    """nginx's switches: `on` or `off`."""
    if text not in {"on", "off"}:
        raise InvalidValue("use on or off")
    return text == "on"


def blank_or_boolean(text: str) -> bool:
    """As `go_boolean`, and false for an empty text, which an annotation of ingress-nginx may be."""
    return bool(text) and go_boolean(text)


def integer(least: int) -> Callable[[str], int]:
    """A parser of whole decimal numbers of at least `least`."""

    def parse(text: str) -> int:
        if not _INTEGER.fullmatch(text) or int(text) < least:
            raise InvalidValue(f"use a whole number of at least {least}")
        return int(text)

    return parse


def seconds(least: int) -> Callable[[str], float]:
    """A parser of whole seconds of at least `least`, as ingress-nginx's timeouts are written."""
    whole = integer(least)

    def parse(text: str) -> float:
        return float(whole(text))

    return parse


def percent(text: str) -> int:
    """A whole number from 0 to 100."""
    if not _INTEGER.fullmatch(text) or not 0 <= int(text) <= 100:
        raise InvalidValue("use a whole number from 0 to 100")
    return int(text)


def size(text: str) -> int:
    """`8k`, `1m`, `2g` or plain bytes, in bytes (ingress-nginx: ^\\d+[bkmg]?$, any case)."""
    match = _SIZE.fullmatch(text)
    if not match:
        raise InvalidValue("use a size such as 512k, 1m or 2g")
    number = int(match[1]) * _SIZE_UNITS[match[2].lower()]
    if number > _SIZE_MOST:
        raise InvalidValue("use a size below 8 million gigabytes, or 0 where that means no limit")
    return number


def header_buffers(text: str) -> tuple[int, int]:
    """`4 8k`: how many buffers and the bytes of each (nginx large_client_header_buffers)."""
    number, _, each = text.strip().partition(" ")
    try:
        buffers = integer(1)(number), size(each.strip())
    except InvalidValue:
        buffers = 0, 0
    if not all(buffers) or buffers[0] * buffers[1] > _SIZE_MOST:
        raise InvalidValue('use a number and a size such as "4 8k"')
    return buffers


def protocols(text: str) -> tuple[str, ...]:
    """A comma list of protocol names as Upgrade carries them (RFC 9110 7.8), in lower case; h2c is never one."""
    names = tuple(name.strip().lower() for name in text.split(",") if name.strip())
    if any(not _TOKEN.fullmatch(name) or name == "h2c" for name in names):
        raise InvalidValue("a comma list of protocol names is needed, and h2c is never tunnelled")
    if len(names) > _PROTOCOLS_MOST or any(len(name) > _PROTOCOL_CHARACTERS_MOST for name in names):
        raise InvalidValue(f"use at most {_PROTOCOLS_MOST} names of at most {_PROTOCOL_CHARACTERS_MOST} characters")
    return names


def names(text: str) -> frozenset[str]:
    """A comma list of annotations or keys, without prefixes."""
    found = frozenset(name.strip() for name in text.split(",") if name.strip())
    if len(found) > _NAMES_MOST or not all(_NAME.fullmatch(name) for name in found):
        raise InvalidValue(f"use a comma list of at most {_NAMES_MOST} names, without their prefix")
    return found


def duration(text: str) -> float:
    """`30s`, `500ms`, `2m` or `1h`, more than nothing, in seconds."""
    match = _DURATION.fullmatch(text)
    if not match or not int(match[1]):
        raise InvalidValue("use a duration such as 30s, 500ms or 2m")
    return int(match[1]) * _DURATION_UNITS[match[2]]


def duration_or_none(text: str) -> float:
    """As `duration`, or `0s` for no time at all, in seconds."""
    try:
        return 0.0 if text == "0s" else duration(text)
    except InvalidValue as problem:
        raise InvalidValue(f"{problem}, or 0s") from None


def path_prefixes(text: str) -> tuple[str, ...]:
    """A comma list of beginnings of paths, sorted; an empty text is none."""
    prefixes = {prefix.strip() for prefix in text.split(",") if prefix.strip()}
    if any(not prefix.startswith("/") for prefix in prefixes):
        raise InvalidValue("use a comma list of paths that begin with /")
    return tuple(sorted(prefixes))


def load_balancing(text: str) -> LoadBalancing:
    """How one of several endpoints is chosen; ingress-nginx' names are case-sensitive."""
    try:
        return LoadBalancing(text)
    except ValueError:
        raise InvalidValue("use round_robin, ewma or least_request") from None


def proxy_header(text: str) -> bool:
    """Whether a PROXY header is sent: `v2`, the only version."""
    if text != "v2":
        raise InvalidValue('use "v2", or leave it out')
    return True


def retry_words(text: str) -> tuple[str, ...]:
    """The words of proxy-next-upstream, sorted (nginx proxy_next_upstream)."""
    words = frozenset(text.split())
    if not words or not words <= _RETRY_WORDS:
        raise InvalidValue('use words such as "error timeout http_502", or "off"')
    return tuple(sorted(words))


class Word(Generic[_Meaning]):
    """A parser that takes one of some words, in that case, and gives what it means; white space does not count."""

    __slots__ = ("meanings",)

    def __init__(self, meanings: Mapping[str, _Meaning]) -> None:
        self.meanings = meanings

    def __call__(self, text: str) -> _Meaning:
        if text.strip() not in self.meanings:
            raise InvalidValue(f"use {' or '.join(self.meanings)}")
        return self.meanings[text.strip()]


def matching(pattern: re.Pattern[str], hint: str) -> Callable[[str], str]:
    """A parser of texts that match as a whole; white space around them does not count. `hint` says what would."""

    def parse(text: str) -> str:
        if not pattern.fullmatch(text.strip()):
            raise InvalidValue(hint)
        return text.strip()

    return parse
