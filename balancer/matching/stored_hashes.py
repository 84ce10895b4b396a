"""Reads the stored forms of passwords: which scheme a text is of, and whether one check of it costs too much.

Knows the schemes that nginx's `auth_basic` accepts in an htpasswd file. Computes no hash; `hashing` does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

PASSWORD_BYTES_MAX: Final = 1024
"""Longer passwords are refused unchecked, because the time of some schemes grows with the length."""

# The costliest hashes that are checked take about a second of one CPU. A tenant's Secret may ask for days.
_BCRYPT_COST_MAX = 14
_SHA_ROUNDS_MAX = 200_000


class Scheme(Enum):
    """How a stored text was made from a password."""

    BCRYPT = "bcrypt"
    APR1 = "apr1"
    MD5_CRYPT = "md5-crypt"
    SHA256_CRYPT = "sha256-crypt"
    SHA512_CRYPT = "sha512-crypt"
    DES_CRYPT = "des-crypt"
    SHA1 = "sha1"
    SALTED_SHA1 = "salted-sha1"
    PLAIN = "plain"


_ITEM = "[./0-9A-Za-z]"
_FORMS: Mapping[Scheme, re.Pattern[str]] = {
    Scheme.BCRYPT: re.compile(rf"\$2[aby]\$(?P<cost>[0-9]{{2}})\${_ITEM}{{53}}"),
    Scheme.APR1: re.compile(rf"\$apr1\${_ITEM}{{0,8}}\${_ITEM}{{22}}"),
    Scheme.MD5_CRYPT: re.compile(rf"\$1\${_ITEM}{{0,8}}\${_ITEM}{{22}}"),
    Scheme.SHA256_CRYPT: re.compile(rf"\$5\$(?:rounds=(?P<rounds>[1-9][0-9]{{3,8}})\$)?{_ITEM}{{0,16}}\${_ITEM}{{43}}"),
    Scheme.SHA512_CRYPT: re.compile(rf"\$6\$(?:rounds=(?P<rounds>[1-9][0-9]{{3,8}})\$)?{_ITEM}{{0,16}}\${_ITEM}{{86}}"),
    Scheme.DES_CRYPT: re.compile(rf"{_ITEM}{{13}}"),
    Scheme.SHA1: re.compile(r"\{SHA\}[0-9A-Za-z+/]{27}="),
    Scheme.SALTED_SHA1: re.compile(r"\{SSHA\}[0-9A-Za-z+/]{32,120}={0,2}"),
    Scheme.PLAIN: re.compile(r"\{PLAIN\}[^\0]{1,1024}"),
}


def scheme_of(stored: str) -> Scheme | None:
    """The scheme of a stored text; None if zonal cannot check it, or if one check would take too long."""
    for scheme, form in _FORMS.items():
        if (found := form.fullmatch(stored)) is not None:
            return scheme if _is_affordable(found.groupdict()) else None
    return None


def _is_affordable(costs: Mapping[str, str | None]) -> bool:
    cost, rounds = int(costs.get("cost") or 4), int(costs.get("rounds") or 5000)
    return 4 <= cost <= _BCRYPT_COST_MAX and rounds <= _SHA_ROUNDS_MAX
