"""Fields that every endpoint gets, in place of those of the client and of the proxy itself. No I/O.

Source: ingress-nginx v1.15.1, ConfigMap key proxy-set-headers. Values are texts with variables, compiled at the swap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from balancer.http.passing import like_dashes
from balancer.http.streams import Outgoing
from balancer.matching.destinations import DestinationNames
from balancer.matching.gates.external_auth.texts import compile_asked_text
from balancer.matching.gates.verdicts import Asked
from balancer.matching.variables import VARIABLE, UnknownVariable

_UNSAFE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class Forwarding(NamedTuple):
    """A request on its way to an endpoint: as the client sent it, its id, the names of where it goes, and the time."""

    asked: Asked
    request_id: bytes
    names: DestinationNames
    now_epoch_seconds: float


FieldText = Callable[[Forwarding], bytes]
"""Returns the value of a text for a request."""


class RequestFields:
    """The fields of one model."""

    __slots__ = ("_names", "_plain", "_texts")

    def __init__(self, fields: Iterable[tuple[str, str]]) -> None:
        """`fields` are names and texts with variables; an empty text removes the field."""
        named = tuple(fields)
        self._names = frozenset(name.lower().encode() for name, _ in named)
        self._plain = frozenset(map(like_dashes, self._names))
        self._texts = tuple((name.encode(), compile_field_text(text)) for name, text in named if text)

    def put_on(self, outgoing: Outgoing, asked: Asked, names: DestinationNames, now_epoch_seconds: float) -> None:
        """Changes the fields of `outgoing`; `asked` is the client's request. An empty value is not sent (nginx)."""
        request_id = asked.request.repeated.request_id or outgoing.request_id or b""
        forwarding = Forwarding(asked, request_id, names, now_epoch_seconds)
        values = ((name, text(forwarding)) for name, text in self._texts)
        outgoing.replaced |= self._names
        if outgoing.passing.underscores:  # an endpoint may take X_Tenant of a client for X-Tenant
            written = (name for name, _ in asked.request.fields if b"_" in name)
            outgoing.replaced |= {name for name in written if like_dashes(name) in self._plain}
        outgoing.added += tuple((name, _safe(value)) for name, value in values if value)


def compile_field_text(text: str) -> FieldText:
    """A function that evaluates `text` with its variables. Raises `UnknownVariable`.

    Supported are the variables of `compile_asked_text`, and $msec, $req_id, $request_id, $namespace, $ingress_name,
    $service_name and $service_port.
    """
    parts: list[FieldText] = []
    end = 0
    for match in VARIABLE.finditer(text):
        parts += _literal(text[end : match.start()])
        parts.append(_VALUES.get(match[1] or match[2]) or _of_asked(match[0]))
        end = match.end()
    parts += _literal(text[end:])
    return lambda forwarding: b"".join([part(forwarding) for part in parts])


def _literal(text: str) -> list[FieldText]:
    if "$" in text:
        raise UnknownVariable("$ only stands before the name of a variable")
    value = text.encode()
    return [lambda forwarding: value] if value else []


def _of_asked(variable: str) -> FieldText:
    value_of = compile_asked_text(variable)
    return lambda forwarding: value_of(forwarding.asked)


_VALUES: Mapping[str, FieldText] = {
    "msec": lambda forwarding: b"%.3f" % forwarding.now_epoch_seconds,
    "req_id": lambda forwarding: forwarding.request_id,
    "request_id": lambda forwarding: forwarding.request_id,
    "namespace": lambda forwarding: forwarding.names.namespace.encode(),
    "ingress_name": lambda forwarding: forwarding.names.ingress.encode(),
    "service_name": lambda forwarding: forwarding.names.service.encode(),
    "service_port": lambda forwarding: forwarding.names.port.encode(),
}


def _safe(value: bytes) -> bytes:
    """`value` with control bytes percent-encoded: the decoded path of a request may hold line breaks."""
    return _UNSAFE.sub(lambda match: b"%%%02X" % match[0][0], value) if _UNSAFE.search(value) else value
