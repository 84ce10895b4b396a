"""Header fields that every endpoint gets: the data of the ConfigMap that `proxy-set-headers` names.

It must not know how fields are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from balancer.http.field_names import FORWARDING, OF_ONE_REQUEST
from balancer.matching.request_fields import compile_field_text
from balancer.matching.variables import UnknownVariable
from ingress.findings import Findings, Report, Severity, Subject, quote
from ingress.objects.kinds import Kind
from ingress.settings.table.fields import FieldSettings
from ingress.sources.inventory import Inventory
from ingress.translation.cluster.field_maps import field_map

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}")  # RFC 9110 5.1
_VALUE = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]{0,2046}[\x21-\x7e])?")  # RFC 9110 5.5, without bytes above ASCII
# What belongs to the connection or the framing, and what decides who answers.
_NOT_OURS = frozenset(name.decode() for name in OF_ONE_REQUEST)

_ORIGINAL_URI = ("x-original-uri", ("X-Original-URI", "$request_uri"))
# Clients cannot set these, because zonal always sends them.
_SAID_BY_US = frozenset(name.decode() for name in FORWARDING)

_NOTHING = "Endpoints do not get the fields, among them any that they may rely on."


def read_request_fields(
    settings: FieldSettings, inventory: Inventory, findings: Findings
) -> tuple[tuple[str, str], ...]:
    """Names and texts with variables, sorted by name.

    A field whose value cannot be carried out is removed from requests, so that no client can set it.
    """
    fields = dict((_ORIGINAL_URI,)) if settings.original_uri else {}
    if settings.request_fields_from is not None:
        fields |= _named_fields(settings.request_fields_from, inventory, findings)
    return tuple(sorted(fields.values()))


def _named_fields(key: tuple[str, str], inventory: Inventory, findings: Findings) -> dict[str, tuple[str, str]]:
    """The fields of the ConfigMap `key`, by their names in lower case."""
    data = field_map(key, option="proxy-set-headers", effect=_NOTHING, inventory=inventory, findings=findings)
    return dict(_fields(data, findings.about(Subject(Kind.CONFIG_MAP.value, *key))))


def _fields(data: Mapping[str, str], report: Report) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each field by its name in lower case. A name that comes twice in different case counts once."""
    for name, text in sorted(data.items()):
        value = text.strip()
        if not _NAME.fullmatch(name) or name.lower() in _NOT_OURS:
            _note(name, "it is no field name, or belongs to the connection: remove it", "It is not sent.", report)
            continue
        problem = _problem(value)
        if problem and name.lower() in _SAID_BY_US:
            _note(name, problem, "Endpoints get the field as zonal sends it by itself.", report)
            continue
        if problem:
            _note(name, problem, "The field is removed from requests, also if a client sends it.", report)
            value = ""
        yield name.lower(), (name, value)


def _problem(value: str) -> str:
    """Why a value cannot be sent, empty if it can."""
    if value and not _VALUE.fullmatch(value):
        return "use at most 2048 printable ASCII characters"
    try:
        compile_field_text(value)
    except UnknownVariable as problem:
        return str(problem)
    return ""


def _note(name: str, problem: str, effect: str, report: Report) -> None:
    message = f"Field {quote(name)}: {problem}."
    report.add(reason="InvalidValue", message=message, effect=effect, severity=Severity.UNPROTECTED)
