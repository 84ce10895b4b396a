"""Cases in which zonal deliberately behaves otherwise, with the reason that docs/migrate.md gives."""

from __future__ import annotations

from collections.abc import Mapping

DIFFERENT: Mapping[str, str] = {
    "accepted/ssl-passthrough": "An Ingress with `ssl-passthrough` is closed (503) until zonal can pass TLS through."
    " Its endpoints expect to verify clients themselves, which they could not if TLS ended at zonal.",
}
"""The reason, by case id."""
