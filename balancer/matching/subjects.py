"""Writes the names in certificates as nginx does (RFC 4514, as OpenSSL writes it with XN_FLAG_RFC2253). No I/O."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

_NOT_PRINTABLE = re.compile(r"[^ -~]")
# Attributes that OpenSSL names, and cryptography does not.
_NAMES = {
    "1.2.840.113549.1.9.1": "emailAddress",
    "2.5.4.4": "SN",
    "2.5.4.5": "serialNumber",
    "2.5.4.12": "title",
    "2.5.4.42": "GN",
    "2.5.4.43": "initials",
    "2.5.4.46": "dnQualifier",
    "2.5.4.65": "pseudonym",
}


def readable_name(name: x509.Name) -> str:
    """A distinguished name, the most specific attribute first, in printable ASCII.

    Every other byte is written as `\\` and two hexadecimal digits, so nobody can write more than one line.
    """
    overrides = {each.oid: _NAMES[text] for each in name if (text := each.oid.dotted_string) in _NAMES}
    return _NOT_PRINTABLE.sub(_escaped, name.rfc4514_string(overrides))


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"\\{byte:02X}" for byte in found[0].encode("utf-8", "backslashreplace"))
