"""What `tls.options` of a listener may say. An option that cannot be carried out refuses the listener."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ingress.settings.table.option import OWN_PREFIX

OLDEST_TLS: Final = f"{OWN_PREFIX}tls-min-version"
"""The first version of TLS that handshakes of the listener may have. One before the operator's has no effect."""

_VERSIONS: Final[Mapping[str, str]] = {"TLSv1_2": "TLSv1_2", "TLSv1_3": "TLSv1_3", "1.2": "TLSv1_2", "1.3": "TLSv1_3"}


def options_problem(options: Mapping[str, str]) -> str | None:
    """Why options cannot be carried out, as a sentence with its repair; None if they can."""
    for name in sorted(options):
        if name != OLDEST_TLS:
            return f"The option {name} of tls is not supported: remove it, or use {OLDEST_TLS}."
        if options[name] not in _VERSIONS:
            return f"The option {name} of tls is {options[name]!r}: use TLSv1_2 or TLSv1_3."
    return None


def oldest_tls(options: Mapping[str, str]) -> str:
    """The version that options without a problem ask for, as `ssl.TLSVersion` names it; empty for none."""
    return _VERSIONS.get(options.get(OLDEST_TLS, ""), "")
