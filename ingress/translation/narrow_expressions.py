"""Says which expressions cost little at every length of a path, by their form alone.

While RE2 searches a path for a narrow expression, each place of the expression that is reached lies behind the one
before: nothing that repeats is followed by something that it could match as well. So a search sees at most as many
different states as the expression has places. Other expressions can be asked for a new state at each byte, and each
costs as much as the expression has instructions. The judgement is safe: it may call a narrow expression wide.
"""

from __future__ import annotations

import re

# One byte of the path: a character, any, one of a class. It may be absent.
_BYTE = (
    r"(?:[A-Za-z0-9/_~%@:,;=&!'<>\"# -]|\.|\\[dDsSwW]|\\[^A-Za-z0-9]|\(\?-i:\\x[0-9A-F]{2}\)"
    r"|\[\^?(?:[^\]\[\\^]|\\[^\[])++\])\?{0,2}(?![*+?{])"
)
_NAME = r"(?:\?:|\?P?<\w+>)?"
# What stays within one element of a path.
_CLASS = r"(?:\[\^/\]|\[(?:[A-Za-z0-9](?:-[A-Za-z0-9])?|_|\\[dw]|-(?=\]))++\]|\\[dw])"
_ELEMENT = rf"(?:{_CLASS}[*+]\??|\({_NAME}{_CLASS}[*+]\??\))(?=/(?![*+?{{])|\$\Z|\Z)"
_CHOICE = rf"\({_NAME}(?:{_BYTE})*+(?:\|(?:{_BYTE}|\$)*+)*+\)\?{{0,2}}(?![*+?{{])"
_REST = rf"(?:\.[*+]\??|\({_NAME}\.[*+]\??\)|\({_NAME}\|?/(?:\.[*+]|\(\.[*+]\))\)\??)"
_NARROW = re.compile(rf"\^(?:{_ELEMENT}|{_BYTE}|{_CHOICE})*+{_REST}?\$?\Z")


def is_narrow(expression: str) -> bool:
    """Whether `expression`, in RE2's syntax, costs little to search for in a path of any length."""
    return _NARROW.match(expression) is not None
