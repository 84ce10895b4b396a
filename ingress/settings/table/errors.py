"""Options about errors: which responses an error page replaces, and what serves while a Service has no endpoints.

Source: ingress-nginx v1.15.1, annotations custom-http-errors, disable-proxy-intercept-errors and default-backend. It
must not know Services.
"""

from __future__ import annotations

import re

import msgspec

from ingress.findings import Severity
from ingress.objects.names import LABEL
from ingress.settings.table.option import ingress_option, route_option, route_switch
from ingress.settings.unsupported import Loss, closing
from ingress.settings.values import InvalidValue

_STATUS = re.compile(r"[345][0-9]{2}")


class StatusList(msgspec.Struct, frozen=True):
    """The valid statuses of a list, sorted, and its invalid entries."""

    statuses: tuple[int, ...] = ()
    skipped: tuple[str, ...] = ()


class ErrorSettings(msgspec.Struct, frozen=True):
    """What one source says about errors. `service` is a Service of the same namespace, empty for none."""

    pages: StatusList = StatusList()
    leaves_endpoints: bool = False
    service: str = ""


def statuses(text: str) -> StatusList:
    """A comma list of statuses from 300 to 599."""
    items = dict.fromkeys(item.strip() for item in text.split(",") if item.strip())
    found = sorted(int(item) for item in items if _STATUS.fullmatch(item))
    return StatusList(tuple(found), tuple(item for item in items if not _STATUS.fullmatch(item)))


def service_name(text: str) -> str:
    """The name of a Service; blank text is none."""
    if text.strip() and not LABEL.fullmatch(text.strip()):
        raise InvalidValue("use the name of a Service of the same namespace")
    return text.strip()


ERROR_OPTIONS = (
    route_option(
        name="custom-http-errors",
        fills=(ErrorSettings, "pages"),
        grammar=statuses,
        doc="comma list of statuses. Responses of these statuses, of endpoints and of zonal itself, are replaced by the"
        " answer of the default backend (`--default-backend-service`) to the same request at `/`, with the client's"
        " method, query and body (up to 64 KiB), and with `X-Code`, `X-Format`, `X-Original-URI`, `X-Namespace`,"
        " `X-Ingress-Name`, `X-Service-Name`, `X-Service-Port` and `X-Request-ID`. Without a default backend that has"
        " endpoints, clients get a small page of the same status. What is no status is a finding",
        doc_on_ingress="replaces the list of the ConfigMap. Pages come from the Service that `default-backend` names,"
        " if there is one. What is no status closes the paths",
    ),
    route_switch(
        name="disable-proxy-intercept-errors",
        fills=(ErrorSettings, "leaves_endpoints"),
        doc='`"true"`: `custom-http-errors` replaces only answers of zonal itself, and no responses of endpoints',
        if_invalid=Loss(Severity.DEGRADED, "error pages replace responses of endpoints"),
    ),
    ingress_option(
        name="default-backend",
        fills=(ErrorSettings, "service"),
        grammar=service_name,
        doc="Service of the same namespace, whose first port serves the requests of the Ingress while its own Service"
        " has no endpoints (path and query unchanged, with `X-Code: 503` and its kin), and the pages of"
        " `custom-http-errors`. A Service that does not exist is a finding and has no effect",
        if_invalid=closing(Severity.DEGRADED, "a Service without endpoints answers 503 instead of that backend"),
    ),
)
