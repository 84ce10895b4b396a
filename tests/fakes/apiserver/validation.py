"""What the API refuses to store, as far as our clients can get it wrong.

Responsible for times in the wrong format (400) and for invalid Ingresses, Events, Services, names and statuses of
Gateway API (422), worded as a real API server words them. It must not know the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.fakes.apiserver.gateway_statuses import status_problems
from tests.fakes.apiserver.kinds import Document, Resource
from tests.fakes.apiserver.service_rules import service_problems
from tests.fakes.apiserver.statuses import Problem, bad_request, invalid

_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_WHOLE_SECONDS = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_MICRO_TIME = re.compile(_WHOLE_SECONDS + r"\.\d{6}(Z|[+-]\d\d:\d\d)")
_MICRO_TIMES = {
    "Lease": (("spec", "acquireTime"), ("spec", "renewTime")),
    "Event": (("eventTime",), ("series", "lastObservedTime")),
}
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


def check_times(resource: Resource, document: Document) -> None:
    """Refuse a MicroTime without its six digits of a fraction."""
    for path in _MICRO_TIMES.get(resource.kind, ()):
        value: Any = document
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if value is not None and not (isinstance(value, str) and _MICRO_TIME.fullmatch(value)):
            rest = re.sub("^" + _WHOLE_SECONDS, "", str(value))
            raise bad_request(
                f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: parsing time '
                f'"{value}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "{rest}" as ".000000"'
            )


def check(resource: Resource, document: Document) -> None:
    """Refuse an object with fields that the API does not store."""
    name = document["metadata"]["name"]
    problems = list(_name_problems(name))
    if resource.kind == "Ingress":
        problems += _ingress_problems(document.get("spec") or {})
    elif resource.kind == "Event" and resource.group:
        problems += _event_problems(document)
    elif resource.kind == "Service":
        problems += service_problems(document)
    else:
        problems += status_problems(resource.kind, document.get("status"))
    if problems:
        raise invalid(resource.kind, resource.group, name, problems)


def _name_problems(name: str) -> Iterator[Problem]:
    if not re.fullmatch(_SUBDOMAIN, name) or len(name) > 253:
        yield _invalid_value("metadata.name", name, _SUBDOMAIN_TEXT)


def _ingress_problems(spec: Document) -> Iterator[Problem]:
    rules = spec.get("rules") or []
    if not rules and not spec.get("defaultBackend"):
        yield _invalid_value("spec", "", "either `defaultBackend` or `rules` must be specified")
    for number, rule in enumerate(rules):
        place = f"spec.rules[{number}]"
        host = rule.get("host") or ""
        if host and not re.fullmatch(_SUBDOMAIN, host.removeprefix("*.")):
            yield _invalid_value(f"{place}.host", host, _SUBDOMAIN_TEXT)
        for index, path in enumerate((rule.get("http") or {}).get("paths") or []):
            yield from _path_problems(f"{place}.http.paths[{index}]", path)


def _path_problems(place: str, path: Document) -> Iterator[Problem]:
    path_type, text = path.get("pathType"), path.get("path") or ""
    if path_type is None:
        yield _required(f"{place}.pathType", "pathType must be specified")
        return
    if path_type not in _PATH_TYPES:
        listed = ", ".join(f'"{name}"' for name in _PATH_TYPES)
        yield Problem(
            f"{place}.pathType",
            "FieldValueNotSupported",
            f'Unsupported value: "{path_type}": supported values: {listed}',
        )
    elif path_type != "ImplementationSpecific" and not text.startswith("/"):
        yield _invalid_value(f"{place}.path", text, "must be an absolute path")
    service = (path.get("backend") or {}).get("service")
    if service is None and not (path.get("backend") or {}).get("resource"):
        yield _required(f"{place}.backend", "either `service` or `resource` must be specified")
    elif service is not None and not service.get("port"):
        yield _required(f"{place}.backend.service.port.number", "port name or number is required")


def _event_problems(event: Document) -> Iterator[Problem]:
    for field in ("eventTime", "reportingController", "reportingInstance", "action", "reason"):
        if not event.get(field):
            yield _required(field, "")
    for field, limit in (("reportingInstance", 128), ("action", 128), ("reason", 128), ("note", 1024)):
        if len((event.get(field) or "").encode()) > limit:
            yield _invalid_value(field, "", f"can have at most {limit} characters")
    if event.get("type") not in ("Normal", "Warning"):
        yield _invalid_value("type", event.get("type") or "", "has invalid value")
    of_regarding = (event.get("regarding") or {}).get("namespace") or "default"
    if of_regarding != event["metadata"].get("namespace"):
        yield _invalid_value("involvedObject.namespace", of_regarding, "does not match event.namespace")
    if event.get("series") and event["series"].get("count", 0) < 2:
        yield _invalid_value("series.count", "", "should be at least 2")


def _invalid_value(field: str, value: str, text: str) -> Problem:
    return Problem(field, "FieldValueInvalid", f'Invalid value: "{value}": {text}')


def _required(field: str, text: str) -> Problem:
    return Problem(field, "FieldValueRequired", f"Required value: {text}" if text else "Required value")
