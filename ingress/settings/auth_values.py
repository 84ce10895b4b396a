"""Values of options about auth services: how URLs with variables, lists of fields and times of a cache are written.

Source: ingress-nginx v1.15.1, internal/ingress/annotations/authreq/main.go. It must not know which option uses which
form.
"""

from __future__ import annotations

import re

from balancer.http.field_names import FORWARDING, HTTPOXY, OF_ONE_REQUEST
from balancer.matching.gates.external_auth.requests import AUTH_URL
from balancer.matching.gates.external_auth.texts import compile_asked_text
from balancer.matching.variables import VARIABLE, UnknownVariable
from ingress.objects.names import LABEL, SUBDOMAIN
from ingress.settings.values import InvalidValue

PLACED = frozenset({"namespace", "ingress_name", "service_name", "service_port", "location_path"})
"""Variables whose values are those of a path of an Ingress; a translation fills them in."""

HOST_VARIABLES = frozenset({"host", "http_host", "best_http_host", "server_name"})
"""Variables that may stand in the host name of an auth service: each is the host name of the request."""

_TEXT_MOST = 2048
_TEXT = re.compile(r"[!-~]*")
_NEVER_IN_URLS = re.compile(r"[\"<>\\^`#]")
_PAGE = re.compile(r"(?:https?://|/|\$).*", re.IGNORECASE)
_CACHE_KEY = re.compile(r"[A-Za-z0-9_${}-]{1,1024}")
_PARAMETER = re.compile(r"[A-Za-z0-9._~-]{1,64}")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
_FIELD = re.compile(r"[A-Za-z0-9_-]{1,100}")
_FIELDS_MOST = 50
_DURATION = re.compile(r"([0-9]{1,9})(ms|s|m|h|d|w|M|y)")
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "M": 2592000, "y": 31536000}
_SECONDS_MOST = 10 * _UNITS["y"]
_STATUS = re.compile(r"[1-9][0-9]{2}")
_STATUSES_MOST = 50
_STATUSES_WITHOUT_ANY = (200, 301, 302)  # nginx proxy_cache_valid with a time alone
_PORT_MOST = 65535

DEFAULT_CACHE_SECONDS = ((200, 300.0), (202, 300.0), (401, 300.0))
"""`200 202 401 5m`, the default of ingress-nginx."""

# What belongs to one connection or decides framing, and what zonal says itself. Names in lower case.
_NOT_TO_BE_SET = frozenset(name.decode() for name in (*OF_ONE_REQUEST, HTTPOXY))
_SAID_BY_US = frozenset(name.decode() for name in (*FORWARDING, b"forwarded", b"x-request-id"))


def text(value: str) -> str:
    """Text with variables, of printable ASCII without spaces. White space around it does not count."""
    stripped = value.strip()
    if len(stripped) > _TEXT_MOST or not _TEXT.fullmatch(stripped):
        raise InvalidValue(f"use at most {_TEXT_MOST} printable ASCII characters without spaces")
    return stripped


def url(value: str) -> str:
    """The URL of an auth service, with variables; blank text is none. Its variables are known."""
    stripped = text(value)
    if not stripped:
        return ""
    parts = AUTH_URL.fullmatch(stripped)
    if parts is None or _NEVER_IN_URLS.search(stripped) or ".." in parts["host"]:
        raise InvalidValue("use a URL such as http://auth.example.svc.cluster.local/check")
    if parts["port"] and not 1 <= int(parts["port"][1:]) <= _PORT_MOST:
        raise InvalidValue(f"use a port from 1 to {_PORT_MOST}")
    check_variables(stripped)
    known = PLACED | HOST_VARIABLES
    if any((match[1] or match[2]) not in known for match in VARIABLE.finditer(parts["host"])):
        raise InvalidValue("of the variables that clients choose, only $host may stand in the host name")
    return stripped


def page(value: str) -> str:
    """The URL of a sign-in page, with variables; blank text is none."""
    stripped = text(value)
    if stripped and (not _PAGE.fullmatch(stripped) or _NEVER_IN_URLS.search(stripped)):
        raise InvalidValue("use a URL such as https://$host/oauth2/start")
    return stripped


def check_variables(value: str) -> None:
    """Raises `InvalidValue` if a text names a variable that zonal does not know."""
    try:
        compile_asked_text(placed(value, dict.fromkeys(PLACED, "")))
    except UnknownVariable as problem:
        raise InvalidValue(str(problem)) from None


def placed(value: str, values: dict[str, str]) -> str:
    """A text with `values` in the place of variables of these names; other variables stay."""
    return VARIABLE.sub(lambda match: values.get(match[1] or match[2], match[0]), value)


def cache_key(value: str) -> str:
    """Text with variables whose value says which requests have the same answer; blank text is none."""
    stripped = value.strip()
    if stripped and not _CACHE_KEY.fullmatch(stripped):
        raise InvalidValue("use letters, digits, -, _ and variables")
    check_variables(stripped)
    return stripped


def parameter(value: str) -> str:
    """The name of a parameter of a URL; blank text is `rd`."""
    if value.strip() and not _PARAMETER.fullmatch(value.strip()):
        raise InvalidValue("use letters, digits, -, _, . and ~")
    return value.strip() or "rd"


def method(value: str) -> str:
    """A method of HTTP in capitals; blank text is none."""
    if value.strip() and value.strip() not in _METHODS:
        raise InvalidValue(f"use one of {', '.join(_METHODS)}")
    return value.strip()


def response_fields(value: str) -> tuple[str, ...]:
    """A comma list of field names that a service may set, each once, in their order."""
    names: dict[str, str] = {}
    for name in (item.strip() for item in value.split(",")):
        if name:
            names.setdefault(name.lower(), name)
    if len(names) > _FIELDS_MOST or not all(_FIELD.fullmatch(name) for name in names.values()):
        raise InvalidValue(f"use a comma list of at most {_FIELDS_MOST} field names")
    if taken := sorted((_NOT_TO_BE_SET | _SAID_BY_US).intersection(names)):
        raise InvalidValue(f"a service cannot set {taken[0]}")
    return tuple(names.values())


def field_problem(name: str, value: str) -> str:
    """Why a field cannot be sent to an auth service, empty if it can."""
    if not _FIELD.fullmatch(name):
        return "use a field name of letters, digits, - and _"
    if name.lower() in _NOT_TO_BE_SET:
        return "it belongs to one connection, so remove it"
    if len(value) > _TEXT_MOST or not re.fullmatch(r"[ -~]*", value):
        return f"use a value of at most {_TEXT_MOST} printable ASCII characters"
    try:
        check_variables(value)
    except InvalidValue as problem:
        return str(problem)
    return ""


def cache_seconds(value: str) -> tuple[tuple[int, float], ...]:
    """`200 202 10m, 401 1m` as pairs of status and seconds (nginx proxy_cache_valid); blank text is the default."""
    pairs = [pair for item in value.split(",") if item.strip() for pair in _validity(item.split())]
    if len(pairs) > _STATUSES_MOST:
        raise InvalidValue(f"use at most {_STATUSES_MOST} statuses")
    return tuple(pairs) or DEFAULT_CACHE_SECONDS


def _validity(words: list[str]) -> list[tuple[int, float]]:
    *statuses, duration = words
    match = _DURATION.fullmatch(duration)
    if match is None or not all(_STATUS.fullmatch(status) for status in statuses):
        raise InvalidValue('use statuses and a time such as "200 202 401 5m"')
    seconds = min(int(match[1]) * _UNITS[match[2]], _SECONDS_MOST)
    return [(status, float(seconds)) for status in map(int, statuses or _STATUSES_WITHOUT_ANY)]


def config_map_reference(value: str) -> str:
    """`name` or `namespace/name` of a ConfigMap; blank text is none."""
    namespace, slash, name = value.strip().rpartition("/")
    if value.strip() and (not SUBDOMAIN.fullmatch(name) or (slash and not LABEL.fullmatch(namespace))):
        raise InvalidValue("use the name of a ConfigMap, such as auth-fields")
    return value.strip()
