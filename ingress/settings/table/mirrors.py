"""Options about copies of requests to mirrors.

Responsible for the options and for the struct that they fill. It must not know how a request is copied.
"""

from __future__ import annotations

import re

import msgspec

from balancer.matching.gates.external_auth.texts import compile_asked_text
from balancer.matching.mirroring import MIRROR_URL
from balancer.matching.variables import UnknownVariable
from balancer.model.mirroring import Mirroring
from ingress.findings import Severity
from ingress.settings.table.option import ingress_option
from ingress.settings.unsupported import Loss
from ingress.settings.values import InvalidValue

_NO_COPY = Loss(Severity.DEGRADED, "no copy of the requests is sent")
_CHARACTERS_MOST = 2048
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253})(?::[0-9]{1,5})?")
_PORT_MOST = 65535


class MirrorSettings(msgspec.Struct, frozen=True):
    """Where copies of requests go. An empty `target`: there are no copies. An empty `host`: the host of the target."""

    target: str = ""
    host: str = ""
    with_body: bool = True

    def mirroring(self) -> Mirroring | None:
        """The mirroring of the routes of an Ingress; None without a target."""
        parts = MIRROR_URL.fullmatch(self.target)
        if parts is None:
            return None
        return Mirroring(self.target, self.host or parts["host"], with_body=self.with_body)


def mirror_target(text: str) -> str:
    """The URL of a mirror; an empty text is none."""
    url = text.strip()
    if not url:
        return ""
    parts = MIRROR_URL.fullmatch(url)
    if parts is None or len(url) > _CHARACTERS_MOST or int((parts["port"] or ":80")[1:]) > _PORT_MOST:
        raise InvalidValue("use a URL such as https://mirror.example.com$request_uri, with variables in its path only")
    try:
        compile_asked_text(parts["target"] or "/")
    except UnknownVariable as problem:
        raise InvalidValue(str(problem)) from None
    return url


def mirror_host(text: str) -> str:
    """The value of Host; an empty text is none."""
    if text.strip() and not _HOST.fullmatch(text.strip()):
        raise InvalidValue("use a host name")
    return text.strip()


def on_or_off(text: str) -> bool:
    """A flag as nginx writes it."""
    if text.strip() not in {"on", "off"}:
        raise InvalidValue("use on or off")
    return text.strip() == "on"


MIRROR_OPTIONS = (
    ingress_option(
        name="mirror-target",
        fills=(MirrorSettings, "target"),
        grammar=mirror_target,
        doc="URL that gets a copy of each request, with variables behind its host. The answer is not waited for. A"
        " request with a body of more than 1 MiB is not copied, nor one for which there is no room",
        if_invalid=_NO_COPY,
    ),
    ingress_option(
        name="mirror-host",
        fills=(MirrorSettings, "host"),
        grammar=mirror_host,
        doc="Host of the copies; that of `mirror-target` without it",
        if_invalid=Loss(Severity.DEGRADED, "copies have the Host of their target"),
    ),
    ingress_option(
        name="mirror-request-body",
        fills=(MirrorSettings, "with_body"),
        grammar=on_or_off,
        default="on",
        doc="`off`: copies have no body",
        if_invalid=Loss(Severity.DEGRADED, "copies have the body of the request"),
    ),
)
