"""Header fields that every response gets: the data of the ConfigMap that `add-headers` names.

A field that must not or cannot be sent is left out alone and
becomes a finding. It must not know how fields are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from balancer.http.field_names import OF_ONE_CONNECTION
from balancer.model.settings import ProxySettings
from ingress.findings import Findings, Report, Severity, Subject, quote
from ingress.objects.kinds import Kind
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.responses import NO_VARIABLES
from ingress.sources.inventory import Inventory
from ingress.translation.cluster.field_maps import field_map
from ingress.translation.cluster.request_fields import read_request_fields

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}")  # RFC 9110 5.1
_VALUE = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?")  # RFC 9110 5.5, without bytes above ASCII
_VARIABLE = re.compile(r"\$\{?[A-Za-z_]")
_VALUE_CHARACTERS_MOST = 2048
_HSTS = "strict-transport-security"
# What belongs to one hop, to the framing or to one body, never to every response (RFC 9110 7.6.1, 8.3 to 8.8).
_NOT_OURS = frozenset(name.decode() for name in OF_ONE_CONNECTION) | {
    "content-encoding",
    "content-range",
    "content-type",
    "date",
    "location",
    "proxy-authenticate",
}

_EFFECT = "The field is not added to responses."
_NOTHING = "Responses lack every field that the ConfigMap would add, among them any that protect browsers."


def proxy_with_fields(settings: ClusterSettings, inventory: Inventory, findings: Findings) -> ProxySettings:
    """The settings of the data plane with the fields that `settings` refer to."""
    return msgspec.structs.replace(
        settings.proxy,
        response_fields=read_added_fields(settings.responses.fields_from, inventory, findings),
        request_fields=read_request_fields(settings.fields, inventory, findings),
    )


def read_added_fields(
    key: tuple[str, str] | None, inventory: Inventory, findings: Findings
) -> tuple[tuple[str, str], ...]:
    """Names and values, sorted by name; `key` is namespace and name of the ConfigMap, None if there is none.

    A name that comes twice in different case counts once.
    """
    if key is None:
        return ()
    data = field_map(key, option="add-headers", effect=_NOTHING, inventory=inventory, findings=findings)
    report = findings.about(Subject(Kind.CONFIG_MAP.value, *key))
    return tuple(sorted(dict(_fields(data, report)).values()))


def _fields(data: Mapping[str, str], report: Report) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each field that can be added, by its name in lower case."""
    for name, text in sorted(data.items()):
        value = text.strip()
        if problem := _problem(name, value):
            report.add(
                reason="InvalidValue",
                message=f"Field {quote(name)}: {problem}.",
                effect=_EFFECT,
                severity=Severity.UNPROTECTED,
            )
        else:
            yield name.lower(), (name, value)


def field_problem(name: str, value: str) -> str:
    """Why no response may get a field of `name` and `value`, empty if it may."""
    if not _NAME.fullmatch(name):
        return "use a field name of letters, digits and -"
    if name.lower() in _NOT_OURS:
        return "it belongs to one connection or one body, so remove it"
    if len(value) > _VALUE_CHARACTERS_MOST or not _VALUE.fullmatch(value):
        return f"use a value of at most {_VALUE_CHARACTERS_MOST} printable ASCII characters"
    return ""


def _problem(name: str, value: str) -> str:
    """Why a field cannot be added to every response, empty if it can."""
    if name.lower() == _HSTS:
        return "use the keys hsts and hsts-max-age instead, because plain HTTP must not carry this field"
    if problem := field_problem(name, value):
        return problem
    if _VARIABLE.search(value):
        return NO_VARIABLES
    return ""
