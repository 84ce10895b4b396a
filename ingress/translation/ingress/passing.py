"""Reads whether the TLS of an Ingress's hosts passes to endpoints unread (`ssl-passthrough`), and what forbids that.

Nothing of such a connection is judged here, so an annotation that protects keeps connections out. Does not know hosts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from ingress.findings import Report, Severity
from ingress.settings.table.access import BasicAuthOptions
from ingress.settings.table.client_tls import ClientTlsOptions
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.external_auth import ExternalAuthSettings
from ingress.settings.table.hooks import HookChoice
from ingress.settings.table.limits import LimitSettings
from ingress.settings.table.listener_tls import PASSED_LOSS
from ingress.settings.table.option import NGINX_PREFIX
from ingress.settings.table.source_ranges import SourceSettings
from ingress.settings.table.whole import INGRESS_OPTIONS
from ingress.settings.unsupported import closing
from ingress.translation.ingress.refusals import Refusals

_NAME: Final = "ssl-passthrough"
_PROTECTING: Final = (
    SourceSettings,
    LimitSettings,
    BasicAuthOptions,
    ExternalAuthSettings,
    ClientTlsOptions,
    HookChoice,
)
_UNREAD: Final = closing(Severity.UNPROTECTED, "TLS passes unprotected")
_ENDED: Final = "Every path of the Ingress answers 503."
_RESET: Final = "Connections over TLS to hosts of the Ingress are reset."


class TlsPassing(msgspec.Struct, frozen=True):
    """`passes`: TLS of the hosts passes to endpoints. `is_closed`: such connections are reset instead. `is_refused`:
    TLS must pass and may not, so every path is closed.
    """

    passes: bool = False
    is_closed: bool = False
    is_refused: bool = False


def read_passing(annotations: Mapping[str, str], settings: ClusterSettings, report: Report) -> TlsPassing:
    """What becomes of the hosts of an Ingress whose `annotations` ask that TLS passes. Notes why TLS may not."""
    if not settings.passes_tls:
        ended = Refusals(ignored=settings.ignored_annotations, closed_effect=_ENDED, report=report)
        ended.note(
            _NAME,
            PASSED_LOSS,
            f"{NGINX_PREFIX}{_NAME} needs the option --enable-ssl-passthrough, which zonal runs without",
            repair="give the option, or remove the annotation",
        )
        return TlsPassing(is_refused=bool(ended.paths))
    unread = Refusals(ignored=settings.ignored_annotations, closed_effect=_RESET, report=report)
    for name, text in annotations.items():
        option = INGRESS_OPTIONS.get(name)
        if text.strip() and option is not None and option.fills is not None and option.fills[0] in _PROTECTING:
            unread.note(option.name, _UNREAD, f"{name} protects requests, and TLS that passes is not read")
    return TlsPassing(passes=True, is_closed=bool(unread.paths))
