"""Fields that every endpoint gets, in place of those of the client and of the proxy itself. No I/O.

Source: ingress-nginx v1.15.1, ConfigMap key proxy-set-headers. Values are texts with variables, compiled at the swap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from balancer.http.streams import Outgoing
from balancer.matching.gates.external_auth.texts import AskedText, compile_asked_text
from balancer.matching.gates.verdicts import Asked

_MSEC = re.compile(r"\$(?:\{msec\}|msec(?![a-zA-Z0-9_]))")
_NOW = b"\x00"  # no value that is sent holds it
_UNSAFE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class RequestFields:
    """The fields of one model."""

    __slots__ = ("_names", "_texts")

    def __init__(self, fields: Iterable[tuple[str, str]]) -> None:
        """`fields` are names and texts with variables; an empty text removes the field."""
        named = tuple(fields)
        self._names = frozenset(name.lower().encode() for name, _ in named)
        self._texts = tuple((name.encode(), compile_field_text(text)) for name, text in named if text)

    def put_on(self, outgoing: Outgoing, asked: Asked, now_epoch_seconds: float) -> None:
        """Changes the fields of `outgoing`; `asked` is the client's request. An empty value is not sent (nginx)."""
        now = b"%.3f" % now_epoch_seconds
        values = ((name, text(asked).replace(_NOW, now)) for name, text in self._texts)
        outgoing.replaced |= self._names
        outgoing.added += tuple((name, _safe(value)) for name, value in values if value)


def compile_field_text(text: str) -> AskedText:
    """What `compile_asked_text` makes of `text`, in whose values `_NOW` stands for the time. Raises `UnknownVariable`.

    So `$msec` is known as well, the Unix time in seconds with milliseconds: X-Request-Start is made of that.
    """
    return compile_asked_text(_MSEC.sub(_NOW.decode(), text))


def _safe(value: bytes) -> bytes:
    """`value` with control bytes percent-encoded: the decoded path of a request may hold line breaks."""
    return _UNSAFE.sub(lambda match: b"%%%02X" % match[0][0], value) if _UNSAFE.search(value) else value
