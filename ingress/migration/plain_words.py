"""Decides which texts need no quotes in YAML: every parser reads them as the same text.

Others may be read as numbers, dates or truth values by some parser, such as `1e3`, `0o7` or `on`.
"""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9/.-]*")
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})


def is_plain(text: str) -> bool:
    """Whether every parser of YAML reads `text` without quotes as this text."""
    return _PLAIN.fullmatch(text) is not None and text.lower() not in _WORDS
