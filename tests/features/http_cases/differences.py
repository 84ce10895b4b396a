"""Cases that are answered otherwise than the file says, each checked like any other answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tests.features.http_cases.checks import (
    Check,
    body_is,
    forwarded_and,
    message_has,
    message_lacks,
    served_by,
)


class Difference(NamedTuple):
    """An answer that is right though the file does not list it: what it is, and why."""

    check: Check
    why: str


DIFFERENT: Mapping[str, Difference] = {
    "CL-12": Difference(
        forwarded_and(message_has(b"content-length", b"10"), body_is(b"0123456789")),
        "Forwarded as `Content-Length: 10`, which `accept` allows; `status` lists only the refusal's 400, and the 200 "
        "is the endpoint's.",
    ),
    "HOP-13": Difference(
        forwarded_and(message_has(b"via", b"1.1 ingress-under-test"), served_by("svc-a")),
        "Via is passed on and none is added, as ingress-nginx does: an added Via makes common endpoints stop "
        "compressing. Endpoints are addresses of Pods, so a loop would need an endpoint that calls the ingress again.",
    ),
    "RSP-65": Difference(
        forwarded_and(
            message_lacks(b"server"),
            message_has(b"date", b"Thu, 01 Jan 1970 00:00:00 GMT"),
            message_has(b"content-type", b"text/html", b"text/plain"),
        ),
        "The endpoint's Server is removed, as ingress-nginx does by default; `allow-backend-server-header` keeps it.",
    ),
    "UPG-08": Difference(
        forwarded_and(message_lacks(b"upgrade")),
        "Stricter than the file: an Upgrade of more than one token is removed as a whole, so neither h2c nor websocket "
        "reaches the endpoint and the request is an ordinary one.",
    ),
}
