"""Cases in which zonal deliberately behaves otherwise, with the reason that docs/migrate.md gives."""

from __future__ import annotations

from collections.abc import Mapping

DIFFERENT: Mapping[str, str] = {
    "accepted/ssl-passthrough": "An Ingress with `ssl-passthrough` is closed (503) until zonal can pass TLS through."
    " Its endpoints expect to verify clients themselves, which they could not if TLS ended at zonal.",
    "access-log/default-backend-off": "Requests that no Ingress serves have lines in the access log, because they show"
    ' mistakes in host names and attacks. `enable-access-log-for-default-backend: "false"` leaves them out.',
}
"""The reason, by case id."""
