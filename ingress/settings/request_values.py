"""Values that go into requests to endpoints: how the host and path of a check, its fields and a virtual host are read.

Responsible for what a request may carry. It must not know which option uses which form.
"""

from __future__ import annotations

import re

from balancer.http.field_names import HTTPOXY, OF_ONE_REQUEST
from balancer.http.passing import is_said_by_us
from ingress.objects.names import SUBDOMAIN
from ingress.settings.values import InvalidValue

# A request target in origin form (RFC 9112 3.2.1), as it is put on the wire.
# A service of gRPC has the name of a message type (grpc/doc/health-checking.md).
_CHECK_PATH = re.compile(r"/[!-~]{0,1023}|tcp|grpc(:[A-Za-z0-9_.\-/]{1,100})?")
_FIELD = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}):[ \t]*([!-~](?:[\t -~]{0,2046}[!-~])?)")  # RFC 9110 5.1, 5.5
_KEPT = re.compile(r"[!#$%&'*+\-^`|~0-9a-z]{1,100}")
# What belongs to the connection or the framing. Host has an option of its own.
_NOT_TO_BE_SET = frozenset(name.decode() for name in (*OF_ONE_REQUEST, HTTPOXY))
# They go with each check of each endpoint, or are compared with each field of a request.
_FIELDS_MOST = 20


def check_path(text: str) -> str:
    """The path of a health check, `tcp`, `grpc` or `grpc:service`; empty is no check."""
    if text and not _CHECK_PATH.fullmatch(text):
        raise InvalidValue('use a path such as /healthz, "tcp", "grpc" or "grpc:service"')
    return text


def check_host(text: str) -> str:
    """The Host of a health check; empty is the address and port of the endpoint."""
    return virtual_host(text) if text else ""


def check_fields(text: str) -> tuple[tuple[str, str], ...]:
    """The header fields of a health check, `Name: value`, one on each line; empty is none. Each name may come once.

    The text of an error repeats no value, because a value may be a secret.
    """
    fields: dict[str, tuple[str, str]] = {}
    for line in (line.strip() for line in text.splitlines() if line.strip()):
        match = _FIELD.fullmatch(line)
        if match is None:
            raise InvalidValue('use lines such as "X-Probe: zonal", of printable ASCII characters')
        if match[1].lower() in _NOT_TO_BE_SET:
            raise InvalidValue(f"{match[1]} belongs to one connection or has an option of its own, so remove it")
        if match[1].lower() in fields:
            raise InvalidValue(f"{match[1]} comes twice: keep one")
        fields[match[1].lower()] = (match[1], match[2])
    if len(fields) > _FIELDS_MOST:
        raise InvalidValue(f"use at most {_FIELDS_MOST} fields")
    return tuple(fields.values())


def kept_fields(text: str) -> tuple[str, ...]:
    """A comma list of names of request fields, in lower case and sorted; empty is none."""
    names = {name.strip().lower() for name in text.split(",") if name.strip()}
    for name in sorted(names):
        if not _KEPT.fullmatch(name):
            raise InvalidValue("use names of header fields with commas between them, without _ and .")
        if is_said_by_us(name.encode()):
            raise InvalidValue(f"{name} cannot be kept, because only the proxy may say it")
    if len(names) > _FIELDS_MOST:
        raise InvalidValue(f"use at most {_FIELDS_MOST} fields")
    return tuple(sorted(names))


def virtual_host(text: str) -> str:
    """A host name with or without port, to be sent as Host (RFC 9110 7.2)."""
    name, colon, port = text.partition(":")
    if not SUBDOMAIN.fullmatch(name.lower()) or (colon and not (port.isascii() and port.isdigit() and len(port) <= 5)):
        raise InvalidValue("use a DNS name, or one with a port; variables are not carried out")
    return text
